"""The list of a person's submissions, one submission, its state while it waits, its curve to take away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from evalsvc.core.jobs import worker_presence
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation import leaderboard, roles, submission_states
from evalsvc.evaluation.benchmarks import file_contract, phases, scoring_identity
from evalsvc.evaluation.models import Evaluation, Setting, Submission
from evalsvc.evaluation.pages import charts, run_list, score_view
from evalsvc.evaluation.submissions import gold_exposure
from evalsvc.evaluation.submissions.timeline import timeline

State = Submission.State


@dataclass(frozen=True)
class Trouble:
    """What went wrong, whose fault it is, what it cost, and what to do."""

    kind: str
    title: str
    detail: str


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    teams = list(roles.teams_of(request.user))
    seen = roles.visible_submissions(request.user)
    listed, older = run_list.page_of(seen, request)
    told = {
        "teams": teams,
        "runs": listed,
        "older": older,
        "by_team": True,
        "lead": _lead(request, len(teams)),
        "empty": "No run here. A run is one file of predictions, submitted from a board’s page or by API.",
    }
    return render(request, "evaluation/submissions.html", told)


def _lead(request: HttpRequest, teams: int) -> str:
    seen = roles.visible_submissions(request.user)
    if not teams and not seen.exists():
        return "You are in no team yet. Runs are submitted by a team and shown under its name."
    way = seen.filter(state__in=run_list.UNDER_WAY).count()
    if way:
        return f"{counted(way, 'run')} {'is' if way == 1 else 'are'} on the way."
    if not teams:
        return "The runs of every team on the boards that you organise."
    return "Every run is either scored or ended with a reason. A refused file costs nothing."


@login_required
@require_safe
def page(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    return render(request, "evaluation/submission.html", _told(request, submission))


@login_required
@require_safe
def state(request: HttpRequest, pk: int) -> HttpResponse:
    """The state alone while it waits; the whole page's body once it has ended."""
    submission = roles.submission_for(request.user, pk)
    if submission.state in run_list.UNDER_WAY and not submission.withdrawn_at:
        return render(request, "evaluation/state.html", _waiting(submission))
    told = _told(request, submission)
    response = render(request, "evaluation/submission_body.html", told)
    response["HX-Retarget"], response["HX-Reswap"] = "#submission", "outerHTML"
    return response


def _waiting(submission: Submission) -> dict[str, Any]:
    job = submission.job
    return {
        "submission": submission,
        "under_way": submission.state in run_list.UNDER_WAY,
        "steps": timeline(submission),
        "trouble": _trouble(submission),
        "progress": charts.progress(job.done, job.total) if job else charts.progress(0, 0),
        "waiting": _where(submission),
    }


def _where(submission: Submission) -> str:
    """Where the work is, in words."""
    job = submission.job
    if job and submission.state == State.QUEUED and not worker_presence.active_workers(job.queue):
        return "no worker was heard of in the last minute; it is kept, and waits until one comes"
    if submission.state != State.RUNNING or job is None:
        return "a free worker takes it next; this page shows it by itself"
    if not job.total:
        return job.step or "the worker has begun"
    return f"{job.step or 'scoring'}, {job.done:,} of {job.total:,}"


def _trouble(submission: Submission) -> Trouble | None:
    if submission.withdrawn_at:
        return Trouble("warn", "Withdrawn.", "No board counts this run. Its number may be submitted anew.")
    if submission.state == State.INVALID:
        told = f"{submission.reason} Nothing was scored. Mend the file and submit the run again."
        return Trouble("bad", "The file doesn’t fit.", told)
    if submission.state == State.FAILED:
        return Trouble("warn", "Not scored.", _failed(submission))
    if submission.state == State.CANCELLED:
        return Trouble("warn", "Cancelled.", "Nothing was scored. The run may be submitted again.")
    return _left_out(submission) if submission.state == State.SCORED else None


def _left_out(submission: Submission) -> Trouble | None:
    """Settings without a score: their gold came after the file, or scoring by it did not end well."""
    titles = ", ".join(f"“{setting.title}”" for setting in scoring_identity.not_covered(submission))
    if not titles:
        return None
    if submission.reason:
        return Trouble(
            "warn", f"Not scored anew under {titles}.", f"{submission.reason} Earlier scores stand."
        )
    told = (
        "Its gold has changed since this file was sent. Predict on its inputs and submit that as another run."
    )
    return Trouble("warn", f"Not scored under {titles}.", told)


def _failed(submission: Submission) -> str:
    if submission.reason_code == "worker_lost":
        return "Three workers were lost on it: not your fault, and it cost nothing. Submit the run again."
    return (
        f"{submission.reason or 'No reason was recorded.'} The run may be submitted again; it cost nothing."
    )


def _told(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    told = _waiting(submission) | {"lead": _first_sentence(submission, [])}
    if submission.state != State.SCORED:
        return told
    evaluations = leaderboard.newest(submission, person=request.user)
    ranked = [e for e in evaluations if e.setting.unit == Setting.Unit.BAG] or evaluations
    drawn = [chart for evaluation in ranked if (chart := score_view.curve_chart(evaluation))]
    key, order = request.GET.get("of", ""), request.GET.get("order", "")
    return told | {
        "lead": _first_sentence(submission, evaluations) + _sealed(submission, request),
        "evaluations": [score_view.sheet(evaluation) for evaluation in evaluations],
        "curves": drawn,
        "lost": score_view.lost(evaluations[0], submission.benchmark) if evaluations else None,
        "classes": score_view.class_table(evaluations, submission.benchmark, key=key, order=order),
        "made_from": score_view.made_from(submission, evaluations),
    }


def _first_sentence(submission: Submission, evaluations: list[Evaluation]) -> str:
    """Did it count, and how good."""
    told = {
        State.RECEIVED: "Received and checked. It waits for a worker.",
        State.QUEUED: "Received and checked. It waits for a worker.",
        State.RUNNING: "A worker is scoring it.",
        State.INVALID: "Refused: it is on no board.",
        State.FAILED: "Not scored: it is on no board.",
        State.CANCELLED: "Cancelled before it was scored: it is on no board.",
    }
    if submission.state != State.SCORED:
        return told[State(submission.state)]
    scored = "Scored, and withdrawn" if submission.withdrawn_at else "Scored"
    figures = (
        f"{score_view.main_score(evaluations[0])} on “{evaluations[0].setting.title}”" if evaluations else ""
    )
    return f"{scored}: {figures}. {_standing(submission)}" if figures else f"{scored}."


def _sealed(submission: Submission, request: HttpRequest) -> str:
    """Until when the scores that are there are not shown to this person."""
    scored = (
        Setting.objects.filter(evaluations__submissions=submission).select_related("benchmark").distinct()
    )
    hidden = [setting for setting in scored if phases.hidden_from(setting, request.user)]
    return "".join(f" {phases.sealed_until(setting)}" for setting in hidden)


def _standing(submission: Submission) -> str:
    if submission.withdrawn_at:
        return "No board counts it."
    standing = submission.system.runs.filter(state=State.SCORED, withdrawn_at=None).count()
    seen = (
        " Someone of the team labelled or decided this gold; the board says so."
        if submission.saw_gold
        or gold_exposure.saw_gold(file_contract.settings_of(submission.benchmark), submission.system.team)
        else ""
    )
    return (
        f"One of {counted(standing, 'run')} of the system." if standing > 1 else "The system’s only run."
    ) + seen


@login_required
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    submission_states.cancel(submission, by=roles.person(request))
    return redirect("submission", submission.pk)


@login_required
@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    submission_states.withdraw(submission, by=roles.person(request))
    return redirect("submission", submission.pk)


# ---- the curve to take away ----------------------------------------------------------------------
def _with_curve(request: HttpRequest, pk: int) -> tuple[Submission, Evaluation]:
    submission = roles.submission_for(request.user, pk)
    asked = request.GET.get("setting", "")
    for evaluation in leaderboard.newest(submission, person=request.user):
        if score_view.points_of(evaluation) and asked in ("", evaluation.setting.key):
            return submission, evaluation
    raise Http404


@login_required
@require_safe
def curve_svg(request: HttpRequest, pk: int) -> HttpResponse:
    submission, evaluation = _with_curve(request, pk)
    drawn = score_view.draw(evaluation)
    return svg_file(drawn, f"submission-{submission.pk}-{evaluation.setting.key}.svg")


@login_required
@require_safe
def curve_csv(request: HttpRequest, pk: int) -> HttpResponse:
    submission, evaluation = _with_curve(request, pk)
    name = f"submission-{submission.pk}-{evaluation.setting.key}.csv"
    return csv_file(name, ["recall", "precision"], score_view.points_of(evaluation))
