"""States of a submission: transitions, mirroring of its job, cancelling, withdrawing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Now

from evalsvc.core.accounts.models import Team, User
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.jobs import queue as queueing
from evalsvc.core.jobs.exceptions import IllegalTransition
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.disclosure.history import informing
from evalsvc.evaluation.final_runs import require_not_final
from evalsvc.evaluation.models import (
    Benchmark,
    BoardTests,
    ContributedMeasure,
    NearDuplicate,
    Setting,
    StoredBoard,
    Submission,
    System,
)
from evalsvc.evaluation.roles import ORGANISER, Person, require_own, role_in, shown_to_teams

S = Submission.State
MOVES: dict[str, frozenset[str]] = {
    S.RECEIVED: frozenset({S.QUEUED, S.SCORED, S.INVALID, S.FAILED, S.CANCELLED}),
    S.QUEUED: frozenset({S.RUNNING, S.SCORED, S.CANCELLED}),  # scored: its re-scoring was cancelled
    S.RUNNING: frozenset({S.QUEUED, S.SCORED, S.INVALID, S.FAILED, S.CANCELLED}),
    S.SCORED: frozenset({S.QUEUED}),
    S.FAILED: frozenset({S.QUEUED, S.RECEIVED}),  # received: its check is repeated
    S.INVALID: frozenset(),
    S.CANCELLED: frozenset(),
}
ENDED = frozenset({S.SCORED, S.INVALID, S.FAILED, S.CANCELLED})
ACTIVE = Q(withdrawn_at=None, state__in=(S.RECEIVED, S.QUEUED, S.RUNNING, S.SCORED))
STATE_OF_JOB: dict[str, str] = {
    Job.State.QUEUED: S.QUEUED,
    Job.State.RUNNING: S.RUNNING,
    Job.State.DONE: S.SCORED,
    Job.State.CANCELLED: S.CANCELLED,
}
# A model that can't be run is the sender's fault, like a file with errors.
MODEL_FAULTS = frozenset({"bad_model", "model_failed", "model_too_big", "model_too_slow"})
# What needs more than a job may take has cost as much as a scored run: it counts, and is not retried.
LIMITS = frozenset({"memory_limit", "time_limit"})
RETRIES = 3
AT_ONCE = 500  # runs of a statement
# A dense file stays `received` until a job has checked its numbers and queued the scoring.
STATE_OF_CHECK: dict[str, str] = {
    Job.State.QUEUED: S.RECEIVED,
    Job.State.RUNNING: S.RECEIVED,
    Job.State.CANCELLED: S.CANCELLED,
}


def move(submission: Submission, to: str, *, code: str = "", reason: str = "", **fields: Any) -> None:
    """Make a transition of the table and store the fields; raise for any other transition."""
    if to not in MOVES[submission.state]:
        raise IllegalTransition(f"A submission cannot go from {submission.state} to {to}.")
    times: dict[str, Any] = {"ended_at": Now() if to in ENDED else None}
    if to == S.SCORED:
        times["scored_at"] = Coalesce("scored_at", Now())
    if to == S.RUNNING:
        times["started_at"] = Coalesce("started_at", Now())
    if to == S.QUEUED and submission.started_at and not _has_taken_its_place(submission):
        times["started_at"] = None
    changed = Submission.objects.filter(pk=submission.pk, state=submission.state).update(
        state=to, reason_code=code, reason=reason, **times, **fields
    )
    if not changed:
        raise Conflict("moved_on", f"Submission {submission.pk} is no longer {submission.state}.")
    submission.state, submission.reason_code, submission.reason = to, code, reason
    if to == S.SCORED:
        mark_boards(submission)
    if to in ENDED:
        complete_measures(submission.benchmark_id)


def _has_taken_its_place(submission: Submission) -> bool:
    """True if a run that waits again would count against quotas if it were cancelled now.

    A job has run its model or scored it, or met a limit; an attempt that the service lost does not count.
    """
    jobs = Job.objects.filter(kind__in=("predict", "score"), subject=submission.pk, state=Job.State.DONE)
    return submission.scored_at is not None or submission.reason_code in LIMITS or jobs.exists()


def note_scores(submission: Submission) -> None:
    """Note that a run which waits again has scores, which its team can read.

    Else later files were not compared with it, and the team could cancel it by its figures.
    """
    Submission.objects.filter(pk=submission.pk, scored_at=None).update(scored_at=Now())
    submission.refresh_from_db(fields=["scored_at"])
    mark_boards(submission)


def complete_measures(benchmark: int) -> None:
    """Show admitted measures once no scored run is waiting to be scored under them.

    The newest complete version of a name replaces those before it.
    """
    incomplete = ContributedMeasure.objects.filter(
        benchmark=benchmark, state=ContributedMeasure.State.ADMITTED, complete=False
    )
    if not incomplete.exists():
        return
    waiting = Submission.objects.filter(benchmark=benchmark, withdrawn_at=None, scored_at__isnull=False)
    if waiting.exclude(state__in=ENDED).exists():
        return
    incomplete.update(complete=True)
    show_measures(benchmark)


def show_measures(benchmark: int) -> None:
    """Show the newest complete version of each contributed measure, and those that rank a setting.

    Retired ones are named beside their scores alone.
    """
    complete = list(ContributedMeasure.objects.filter(benchmark=benchmark, complete=True).order_by("version"))
    newest = {measure.name: measure.pk for measure in complete}
    ranking = set(Setting.objects.filter(benchmark=benchmark).values_list("main", flat=True))
    retired = ContributedMeasure.State.RETIRED
    shown = [
        {
            "key": each.key,
            "title": each.title,
            "base": each.composition["base"],
            "formula": each.formula,
        }
        | ({"retired": True} if each.state == retired else {})
        for each in sorted(complete, key=lambda each: each.pk)
        if each.pk in newest.values() or each.key in ranking or each.state == retired
    ]
    Benchmark.objects.filter(pk=benchmark).update(contributed=shown)
    for stored in (StoredBoard, BoardTests):
        stored.objects.filter(setting__benchmark=benchmark, outdated=False).update(outdated=True)


def mark_boards(submission: Submission, *, all_settings: bool = False) -> None:
    """Mark the stored boards that a run has changed, or those of all settings of its benchmark.

    Their tests once more when the change is committed: a job may have taken the mark off and ended since.
    """
    stored = StoredBoard.objects.filter(outdated=False)
    own = Q(pk__in=submission.evaluations.values("setting"))
    chosen = Q(row_rule__startswith="best:")  # by the run under another one
    changed = Q() if all_settings else own | chosen
    settings = Setting.objects.filter(changed, benchmark=submission.benchmark_id).values("pk")
    stored.filter(setting__in=settings).update(outdated=True)
    tests = BoardTests.objects.filter(outdated=False, setting__in=settings)
    tests.update(outdated=True)
    transaction.on_commit(lambda: tests.update(outdated=True), robust=True)


def follow(job: Job) -> None:
    """Mirror the state of the job, in the transaction that changed it."""
    submission = Submission.objects.select_for_update(no_key=True).filter(pk=job.subject).first()
    if submission is None or submission.job_id not in (None, job.pk):
        return
    mirrored = STATE_OF_CHECK if job.kind == "check" else STATE_OF_JOB
    at_fault = job.error_code in KINDS or job.error_code in MODEL_FAULTS
    to = mirrored.get(job.state) or (S.INVALID if at_fault else S.FAILED)
    failed = submission.scored_at is not None and to in ENDED and to != S.SCORED
    if failed:  # a failed re-scoring leaves the run on its boards
        to = S.SCORED
    if submission.state != to:
        move(submission, to, code=job.error_code, reason=job.error, job=job)
        if failed:
            _compare_others(submission)
    elif submission.job_id is None:
        Submission.objects.filter(pk=submission.pk).update(job=job)


def queue(submission: Submission, *, kind: str = "score") -> None:
    """Queue scoring, the check of dense scores, or a model's run."""
    if submission.job_id is not None:  # `follow` mirrors a job only if there is no other
        Submission.objects.filter(pk=submission.pk).update(job=None)
    job = queueing.enqueue(kind, submission.pk, lane=f"team {submission.system.team_id}")
    mirrored = STATE_OF_CHECK if kind == "check" else STATE_OF_JOB
    submission.job, submission.state = job, mirrored[Job.State.QUEUED]  # as `follow` stored it


def _compare_others(submission: Submission) -> None:
    """Queue the runs that waited to be compared with one that is not scored now.

    A run that is being stored begins to wait before or after that, not in between: both lock the team.
    """
    Team.objects.select_for_update(no_key=True).get(pk=submission.system.team_id)
    for row in NearDuplicate.objects.filter(earlier=submission).select_related("submission"):
        other = row.submission
        if other.state == S.SCORED and not row.scored_as_well(submission):
            score_again(other)


def score_again(submission: Submission) -> None:
    """Queue a scored or failed submission again, as after a new setting."""
    with transaction.atomic():
        rows = Submission.objects.select_related("system").select_for_update(of=("self",), no_key=True)
        row = rows.get(pk=submission.pk)
        if S.QUEUED not in MOVES[row.state] or row.state not in ENDED:
            raise Conflict("not_ended", f"Submission {row.pk} is {row.state} and cannot be scored again now.")
        queue(row, kind=_kind_again(row))


def _kind_again(submission: Submission) -> str:
    return "predict" if submission.model_id == submission.file_id else "score"


@transaction.atomic
def score_all_again(submissions: Sequence[Submission]) -> int:
    """Queue those that are still scored, in few statements: others wait on SQLite. Return their number."""
    queued = 0
    for start in range(0, len(submissions), AT_ONCE):
        keys = [each.pk for each in submissions[start : start + AT_ONCE]]
        rows = Submission.objects.filter(pk__in=keys, state=S.SCORED).select_related("system")
        locked = {row.pk: row for row in rows.order_by("pk").select_for_update(of=("self",), no_key=True)}
        lanes: dict[str, dict[int, str]] = defaultdict(dict)
        for row in (locked[key] for key in keys if key in locked):
            lanes[_kind_again(row)][row.pk] = f"team {row.system.team_id}"
        for kind, of_kind in lanes.items():
            jobs = [job.pk for job in queueing.enqueue_many(kind, of_kind)]
            job = Job.objects.filter(pk__in=jobs, kind=kind, subject=OuterRef("pk")).values("pk")
            moved = {"state": S.QUEUED, "reason_code": "", "reason": "", "ended_at": None}
            Submission.objects.filter(pk__in=of_kind).update(job=Subquery(job), **moved)
        queued += len(locked)
    return queued


def same_phase(benchmark: Benchmark, phase: str) -> Q:
    """Filter runs to those of a phase; of all where one setting scores the runs of all."""
    others = {*Setting.Phase.values} - {phase}
    if phase not in Setting.Phase.values or benchmark.settings.filter(phase="").exists():
        return Q()
    return ~Q(phase__in=others)


def can_be_retried(submission: Submission) -> bool:
    """True if its last job failed for no fault of the file, and its team has not retried it often."""
    job = submission.job
    if job is None or job.state != Job.State.FAILED or job.error_code in LIMITS:
        return False
    if submission.state not in (S.FAILED, S.SCORED) or submission.withdrawn_at is not None:
        return False
    return job.events.filter(what="restarted").count() < RETRIES


def retry(submission: Submission, *, by: User) -> None:
    """Restart the failed job of a submission."""
    require_own(by, submission)
    if submission.job is None or not can_be_retried(submission):
        hint = f"A run can be retried {RETRIES} times, but not after it met a limit of the service."
        raise Conflict(
            "not_failed", f"This submission is {submission.state} and cannot be retried.", hint=hint
        )
    require_not_final(submission, by)  # of runs that failed, a team would retry the good ones alone
    with transaction.atomic():
        system = System.objects.select_for_update().get(pk=submission.system_id)  # as a new file does
        runs = system.runs.filter(ACTIVE, same_phase(submission.benchmark, submission.phase))
        if runs.filter(run=submission.run).exclude(pk=submission.pk).exists():
            raise Conflict("run_taken", f"Run {submission.run} of {system} has another active file.")
        queueing.restart(submission.job, by=by.shown_name)


def cancel(submission: Submission, *, by: User) -> None:
    """Cancel a waiting submission now, a running one at its next report."""
    require_own(by, submission)
    require_not_final(submission, by)  # nor one that waits: its file tells the team how it would score
    if submission.job is None or S.CANCELLED not in MOVES[submission.state]:
        raise Conflict("ended", f"This submission is {submission.state} and cannot be cancelled.")
    if not may_cancel(submission, by):
        hint = "Withdraw it, or leave it: it is being scored again."
        raise Conflict("has_scores", "This submission has scores and cannot be cancelled.", hint=hint)
    queueing.request_cancel(submission.job)


def may_cancel(submission: Submission, person: Person) -> bool:
    """True for organisers, or before a run has scores: a team would keep its worse ones off a new version."""
    return submission.scored_at is None or role_in(submission.benchmark, person) == ORGANISER


@atomic_again
def withdraw(submission: Submission, *, by: User) -> None:
    """Remove a submission from boards for good.

    Its run may be submitted again. Final once its setting has ended.
    """
    require_own(by, submission)
    require_not_final(submission, by)
    # workers lock the job before the submission too
    if submission.job:
        queueing.request_cancel(submission.job)
    known = _known_under(submission)
    standing = Submission.objects.filter(pk=submission.pk, withdrawn_at=None)
    if not standing.update(withdrawn_at=Now(), known_under=known):
        raise Conflict("withdrawn", "This submission is already withdrawn.")
    # it counts under other settings on the same gold, too
    mark_boards(submission, all_settings=bool(known))
    _compare_others(submission)


def _known_under(submission: Submission) -> list[int]:
    """Return the settings under which its team knows figures of a run.

    Under a setting that has not scored it, those of a file of its name: by this one it may be chosen there.
    """
    settings = Setting.objects.filter(benchmark=submission.benchmark_id).order_by("pk")
    of_name = {"submission__system": submission.system_id, "submission__run": submission.run}
    links = informing(settings).filter(**of_name)
    own = {*submission.evaluations.values_list("setting", flat=True)}
    known = []
    for setting in settings:
        only = {"submission": submission} if setting.pk in own else {}
        if links.filter(shown_to_teams(setting), evaluation__setting=setting, **only).exists():
            known.append(setting.pk)
    return known
