"""Pages of submissions: list, submission, its state, downloads of its curve."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import F
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from evalsvc.core.accounts import users
from evalsvc.core.formats.old_labels import mapped_in_words
from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.web import views
from evalsvc.core.web.downloads import STORED_NOWHERE, csv_file, svg_file
from evalsvc.core.web.figures import Figure
from evalsvc.core.web.formatting import counted, day, listed
from evalsvc.evaluation import final_runs, roles, shown_scores, submission_states
from evalsvc.evaluation.benchmarks import file_contract, final_entries, row_rules, scoring_identity
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.history import WAITING
from evalsvc.evaluation.disclosure.outcomes import outcomes_of
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.pages import charts, class_view, run_list, score_view, word_view
from evalsvc.evaluation.pages.confusion import confusion_for
from evalsvc.evaluation.submissions import gold_exposure
from evalsvc.evaluation.submissions.file_store import open_file
from evalsvc.evaluation.submissions.timeline import timeline

State = Submission.State
LEADS = {
    State.RECEIVED: "Received and checked. Waiting for a worker.",
    State.QUEUED: "Received and checked. Waiting for a worker.",
    State.RUNNING: "A worker is scoring it.",
    State.INVALID: "Rejected. It is not on any board.",
    State.FAILED: "Not scored. It is not on any board.",
    State.CANCELLED: "Cancelled before it was scored. It is not on any board.",
}


@dataclass(frozen=True)
class Notice:
    """Note about a problem: its kind, title, and what to do."""

    kind: str
    title: str
    detail: str


@views.page()
def index(request: HttpRequest) -> HttpResponse:
    teams = list(roles.teams_of(request.user))
    seen = roles.visible_submissions(request.user)
    in_progress = seen.filter(state__in=run_list.IN_PROGRESS).count()
    lead = "No runs in progress." if teams else "Runs of all teams in benchmarks you organise."
    if in_progress:
        lead = f"{counted(in_progress, 'run')} in progress."
    elif not teams and not seen.exists():
        lead = "You are not in a team yet. Runs are submitted by a team and shown under its name."
    listed, older = run_list.page_of(seen, request)
    context = {
        "teams": teams,
        "runs": listed,
        "older": older,
        "by_team": True,
        "lead": lead,
        "empty": "No runs. Submit a prediction file on a benchmark’s page or by API.",
    }
    return render(request, "evaluation/submissions.html", context)


@views.page()
def page(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    return render(request, "evaluation/submission.html", _context(request, submission))


@views.page()
def state(request: HttpRequest, pk: int) -> HttpResponse:
    """State alone while it is in progress.

    The whole body once it has ended.
    """
    submission = roles.submission_for(request.user, pk)
    if submission.state in run_list.IN_PROGRESS and not submission.withdrawn_at:
        context = _waiting(submission) | {"shown_on": _setting_to_show(submission, request)}
        return render(request, "evaluation/state.html", context)
    context = _context(request, submission)
    response = render(request, "evaluation/submission_body.html", context)
    response["HX-Retarget"], response["HX-Reswap"] = "#submission", "outerHTML"
    return response


def _waiting(submission: Submission) -> dict[str, Any]:
    job = submission.job
    return {
        "submission": submission,
        "in_progress": submission.state in run_list.IN_PROGRESS,
        "steps": timeline(submission),
        "notice": _notice(submission),
        "progress": charts.progress(*((job.done, job.total) if job else (0, 0))),
        "waiting": _progress_text(submission),
    }


def _progress_text(submission: Submission) -> str:
    """Progress of the job in words."""
    job = submission.job
    if obstacle := queue_status.obstacle(job):
        return obstacle
    if submission.state != State.RUNNING or job is None:
        return "queued; this page updates itself"
    if not job.total:
        return job.step or "starting"
    return f"{job.step or 'scoring'}, {job.done:,} of {job.total:,}"


def _notice(submission: Submission) -> Notice | None:
    reason = submission.reason
    if submission.withdrawn_at:
        return Notice("warn", "Withdrawn.", "This run is not on any board. You can submit it again.")
    if submission.state == State.INVALID:
        detail = f"{reason} Nothing was scored. Correct the file and submit the run again."
        return Notice("bad", "File rejected.", detail)
    if submission.state == State.FAILED:
        if submission.reason_code == "worker_lost":
            detail = (
                "Its worker process ended three times. The run does not count towards your quota. Retry it."
            )
            return Notice("warn", "Not scored.", detail)
        detail = "The run does not count towards your quota. You can retry it, or submit it again."
        if submission.reason_code in submission_states.LIMITS:
            detail = "The run counts towards your quota."
        return Notice("warn", "Not scored.", f"{reason or 'No reason was recorded.'} {detail}")
    if submission.state == State.CANCELLED:
        return Notice("warn", "Cancelled.", "Nothing was scored. You can submit the run again.")
    return _left_out(submission) or _near(submission) if submission.state == State.SCORED else None


def _near(submission: Submission) -> Notice | None:
    """Name the earlier run whose figures teams see for a near-duplicate."""
    rows = submission.near.filter(gold_sha256=F("setting__test_set__sha256"))
    rows = rows.select_related("setting__benchmark", "setting__test_set", "setting__only", "earlier__system")
    present = [near for near in rows if near.only_sha256 == near.setting.only_sha256]
    hidden = [near for near in present if is_hidden(near.setting) and not roles.is_sealed(near.setting)]
    if not hidden:
        return None
    titles = listed([f"“{near.setting.title}”" for near in hidden])
    earlier, claims = hidden[0].earlier, counted(hidden[0].claims, "changed prediction")
    if earlier is None:
        detail = (
            "Figures of as many runs of the team are shown as its quota allows, or a member sent runs for "
            "another team. Organisers see them all."
        )
        return Notice("warn", f"Under {titles}, teams see no figure of this run.", detail)
    if hidden[0].scored_as_well(earlier):
        title, named = "teams see the figures of an earlier run", f"run {earlier.run} of {earlier.system}"
    elif earlier.state in WAITING:
        detail = f"It waits for run {earlier.run} of {earlier.system}, which is being scored again: "
        return Notice(
            "info", f"Under {titles}, teams see no figure yet.", f"{detail}the two are compared first."
        )
    else:  # of another benchmark, perhaps, that this reader may not see
        title, named = "teams see no figure of this run", "an earlier run that another setting scored"
    detail = f"It hardly differs from {named}: {claims}. It counts towards quotas."
    return Notice("warn", f"Under {titles}, {title}.", detail)


def _left_out(submission: Submission) -> Notice | None:
    """Name settings without a score: gold changed or scoring failed."""
    titles = ", ".join(f"“{setting.title}”" for setting in scoring_identity.not_covered(submission))
    if not titles:
        return None
    if submission.reason:
        title = f"Not scored again under {titles}."
        return Notice("warn", title, f"{submission.reason} Earlier scores stay valid.")
    detail = "The gold changed after the upload. Submit predictions for the current inputs as another run."
    return Notice("warn", f"Not scored under {titles}.", detail)


def _context(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    final = final_runs.final_under(submission, request.user)
    context = _waiting(submission) | {"lead": _lead_of(submission, []), "final": final}
    context["may_cancel"] = final is None and submission_states.may_cancel(submission, request.user)
    context["can_be_retried"] = final is None and submission_states.can_be_retried(submission)
    context["shown_on"] = _setting_to_show(submission, request)
    context["mapped"] = mapped_in_words(submission.old_labels, negative=submission.benchmark.negative)
    if submission.state != State.SCORED:
        return context
    of_versions = shown_scores.shown(submission, person=request.user)
    evaluations = shown_scores.under_version(of_versions)
    outcomes = outcomes_of(evaluations[0], request.user) if evaluations else None
    ranked = [e for e in evaluations if e.setting.unit == Setting.Unit.BAG] or evaluations
    figures = [_curve(each, submission) for each in ranked]
    key, order = request.GET.get("of", ""), request.GET.get("order", "")
    # the oldest run of the team with the same answers, if it is another
    runs = submission.benchmark.submissions.filter(system__team=submission.system.team_id)
    oldest = run_list.oldest_equals(runs, within=run_list.TEAM).get(submission.pk)
    settings = Setting.objects.filter(evaluations__submissions=submission).select_related("benchmark")
    scored = list(settings.distinct())
    hidden = [setting for setting in scored if roles.hidden_from(setting, request.user)]
    by_choice = any(setting.row_rule in row_rules.BY_CHOICE for setting in scored)
    finals = final_entries.final_phases([submission.benchmark_id]).get(submission.pk, []) if by_choice else []
    choosable = [each for each in final_entries.choosable(submission) if each not in finals]
    return context | {
        "address": request.path.removesuffix("state/"),
        "lead": _lead_of(submission, evaluations)
        + "".join(f" {roles.sealed_until(setting)}" for setting in hidden),
        "is_final": final_entries.in_words(submission, finals) if finals else "",
        "choosable": choosable if by_choice else [],
        "evaluations": [score_view.sheet(evaluation) for evaluation in evaluations],
        "curves": [figure for figure in figures if figure],
        "equal": Submission.objects.select_related("system").filter(pk=oldest).first() if oldest else None,
        "errors": class_view.error_charts(evaluations[0], submission.benchmark, outcomes)
        if evaluations
        else [],
        "word_tables": word_view.word_tables(evaluations, submission.benchmark),
        "class_tables": class_view.class_tables(evaluations, submission.benchmark, key=key, order=order),
        "confusion": confusion_for(evaluations[0], outcomes) if evaluations else None,
        "errors_address": "" if oldest else _errors_address(submission, evaluations),
        "versions": _versions(of_versions),
        "provenance": score_view.provenance(submission, evaluations),
    }


def _errors_address(submission: Submission, evaluations: list[Disclosed]) -> str:
    """Return the address of the run in the error browser, which has those on the board."""
    if not evaluations or submission.withdrawn_at:
        return ""
    system = submission.system
    values = {
        "setting": evaluations[0].setting.key,
        "a": f"{system.team.slug}/{system.name}/{submission.run}",
    }
    return f"{reverse('board-errors', args=[submission.benchmark.slug])}?{urlencode(values)}"


def _versions(evaluations: list[Disclosed]) -> list[tuple[str, list[int], str, str, str]]:
    """Return the main score of each setting with several versions, under each of them."""
    scored = [(each, sorted(shown_scores.versions_of(each))) for each in evaluations]
    settings = Counter(each.setting_id for each, versions in scored if versions)
    return [
        (each.setting.title, versions, score_view.main_score(each), day(each.created_at), each.scorer)
        for each, versions in scored
        if versions and settings[each.setting_id] > 1
    ]


def _curve(evaluation: Disclosed, submission: Submission) -> Figure | None:
    svg, csv = (reverse(f"submission-curve-{format}", args=[submission.pk]) for format in ("svg", "csv"))
    query = f"?setting={evaluation.setting.key}"
    return score_view.curve_figure(evaluation, svg_url=svg + query, csv_url=csv + query)


def _setting_to_show(submission: Submission, request: HttpRequest) -> Setting | None:
    """Return the requested setting, else the first the run was sent to."""
    settings = submission.benchmark.settings
    requested = settings.filter(key=request.GET.get("setting", "")).first()
    return requested or settings.filter(versions__in=submission.held_to).first()


def _lead_of(submission: Submission, evaluations: list[Disclosed]) -> str:
    if submission.state != State.SCORED:
        return LEADS[State(submission.state)]
    scored = "Scored and withdrawn" if submission.withdrawn_at else "Scored"
    if not evaluations:
        return f"{scored}."
    score = f"{score_view.main_score(evaluations[0])} on “{evaluations[0].setting.title}”"
    return f"{scored}: {score}. {_on_boards(submission)}"


def _on_boards(submission: Submission) -> str:
    if submission.withdrawn_at:
        return "It is not on any board."
    of_phase = submission.system.runs.filter(phase__in=file_contract.sent_to(submission.phase))
    runs = run_list.counts_by_system(of_phase).get(submission.system_id, 0)
    both = submission.phase == file_contract.BOTH
    phase = " in both phases" if both else f" in the {submission.phase} phase" if submission.phase else ""
    of_system = f"One of {counted(runs, 'run')} of the system" if runs > 1 else "The system’s only run"
    system = f"{of_system}{phase}."
    settings = file_contract.settings_of(submission.benchmark)
    if submission.saw_gold or gold_exposure.saw_gold(settings, submission.system.team):
        return f"{system} A team member labelled or adjudicated this gold; the board says so."
    return system


@login_required
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    submission_states.cancel(submission, by=users.person(request))
    return redirect("submission", submission.pk)


@login_required
@require_POST
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    submission_states.retry(submission, by=users.person(request))
    return redirect("submission", submission.pk)


@views.page("POST", names=("phase",))
def choose_final(request: HttpRequest, pk: int) -> HttpResponse:
    submission, phase = roles.submission_for(request.user, pk), request.POST.get("phase", "")
    final_entries.choose(submission, by=users.person(request), phase=phase)
    return redirect("submission", submission.pk)


@login_required
@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    submission = roles.submission_for(request.user, pk)
    submission_states.withdraw(submission, by=users.person(request))
    return redirect("submission", submission.pk)


@views.page()
def file(request: HttpRequest, pk: int) -> FileResponse:
    """Download the file of a submission as it was scored, unpacked."""
    submission = roles.submission_for(request.user, pk)
    try:
        content = open_file(submission.file)
    except RetryLater as error:
        raise Http404(str(error)) from error
    name = PurePath(submission.filename.removesuffix(".gz") or "predictions.jsonl").name
    if submission.model_id:
        name = f"predictions-{submission.pk}.jsonl"
    response = FileResponse(
        content, as_attachment=True, filename=name, content_type="application/octet-stream"
    )
    response.headers["Cache-Control"] = STORED_NOWHERE["Cache-Control"]
    return response


# ---- downloads of the curve ------------------------------------------------------------------------
def _with_curve(request: HttpRequest, pk: int) -> tuple[Submission, Disclosed]:
    submission = roles.submission_for(request.user, pk)
    key = request.GET.get("setting", "")
    for evaluation in shown_scores.newest(submission, person=request.user):
        if score_view.points_of(evaluation) and key in ("", evaluation.setting.key):
            return submission, evaluation
    raise Http404


@views.page()
def curve_svg(request: HttpRequest, pk: int) -> HttpResponse:
    submission, evaluation = _with_curve(request, pk)
    drawn = score_view.draw(evaluation)
    return svg_file(drawn, f"submission-{submission.pk}-{evaluation.setting.key}.svg")


@views.page()
def curve_csv(request: HttpRequest, pk: int) -> HttpResponse:
    submission, evaluation = _with_curve(request, pk)
    name = f"submission-{submission.pk}-{evaluation.setting.key}.csv"
    return csv_file(name, ["recall", "precision"], score_view.points_of(evaluation))
