"""What may become of a submission: the table of moves, mirroring its job, cancelling, withdrawing."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Coalesce, Now

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.problems import CODES
from evalsvc.core.jobs import queue as queueing
from evalsvc.core.jobs.exceptions import IllegalMove
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.roles import require_own

S = Submission.State
MOVES: dict[str, frozenset[str]] = {
    S.RECEIVED: frozenset({S.QUEUED, S.SCORED, S.INVALID, S.FAILED, S.CANCELLED}),
    S.QUEUED: frozenset({S.RUNNING, S.SCORED, S.CANCELLED}),  # scored: its re-scoring was cancelled
    S.RUNNING: frozenset({S.QUEUED, S.SCORED, S.INVALID, S.FAILED, S.CANCELLED}),
    S.SCORED: frozenset({S.QUEUED}),
    S.FAILED: frozenset({S.QUEUED}),
    S.INVALID: frozenset(),
    S.CANCELLED: frozenset(),
}
ENDED = frozenset({S.SCORED, S.INVALID, S.FAILED, S.CANCELLED})
MIRRORED: dict[str, str] = {
    Job.State.QUEUED: S.QUEUED,
    Job.State.RUNNING: S.RUNNING,
    Job.State.DONE: S.SCORED,
    Job.State.CANCELLED: S.CANCELLED,
}
# A model that can't be run is at fault itself, like a file with errors.
MODEL_FAULTS = frozenset({"bad_model", "model_failed", "model_too_big", "model_too_slow"})
# A dense file stays `received` until a job has looked at its numbers and asked for the scoring.
MIRRORED_CHECK: dict[str, str] = {
    Job.State.QUEUED: S.RECEIVED,
    Job.State.RUNNING: S.RECEIVED,
    Job.State.CANCELLED: S.CANCELLED,
}


def move(submission: Submission, to: str, *, code: str = "", reason: str = "") -> None:
    """Take a step of the table; one that it does not hold raises."""
    if to not in MOVES[submission.state]:
        raise IllegalMove(f"A submission can't go from {submission.state} to {to}.")
    times: dict[str, Any] = {"ended_at": Now() if to in ENDED else None}
    if to == S.SCORED:
        times["scored_at"] = Coalesce("scored_at", Now())
    changed = Submission.objects.filter(pk=submission.pk, state=submission.state).update(
        state=to, reason_code=code, reason=reason, **times
    )
    if not changed:
        raise Conflict("moved_on", f"Submission {submission.pk} is no longer {submission.state}.")
    submission.state, submission.reason_code, submission.reason = to, code, reason


def follow(job: Job) -> None:
    """Mirror the job's state; called in the transaction that changed it."""
    submission = Submission.objects.select_for_update().filter(pk=job.subject).first()
    if submission is None or submission.job_id not in (None, job.pk):
        return
    mirrored = MIRRORED_CHECK if job.kind == "check" else MIRRORED
    at_fault = job.error_code in CODES or job.error_code in MODEL_FAULTS
    to = mirrored.get(job.state) or (S.INVALID if at_fault else S.FAILED)
    if submission.scored_at and to in ENDED:  # however a re-scoring ends: what stands on boards stays there
        to = S.SCORED
    if submission.state != to:
        move(submission, to, code=job.error_code, reason=job.error)


def queue(submission: Submission, *, kind: str = "score") -> None:
    """Ask for the scoring, or a dense file's check, or a model's run, in the caller's transaction."""
    Submission.objects.filter(pk=submission.pk).update(job=None)
    job = queueing.enqueue(kind, submission.pk, lane=f"team {submission.system.team_id}")
    Submission.objects.filter(pk=submission.pk).update(job=job)
    submission.job = job
    submission.refresh_from_db(fields=["state"])


def score_again(submission: Submission) -> None:
    """Queue a scored or failed submission once more, after a setting was added or the fault mended."""
    with transaction.atomic():
        row = Submission.objects.select_for_update().get(pk=submission.pk)
        if S.QUEUED not in MOVES[row.state] or row.state not in ENDED:
            raise Conflict("not_ended", f"Submission {row.pk} is {row.state}: it can't be scored again now.")
        queue(row, kind="predict" if row.model_id == row.file_id else "score")


def cancel(submission: Submission, *, by: User) -> None:
    """Stop it: at once while it waits, at the next report of progress while it runs."""
    require_own(by, submission)
    if submission.job is None or S.CANCELLED not in MOVES[submission.state]:
        raise Conflict("ended", f"This submission is {submission.state}: there is nothing to cancel.")
    queueing.ask_cancel(submission.job)


def withdraw(submission: Submission, *, by: User) -> None:
    """Hide it from boards for good; its record stays, and its run may be submitted anew."""
    require_own(by, submission)
    with transaction.atomic():
        # the job first: whoever ends it locks job and submission in this order too
        if submission.job:
            queueing.ask_cancel(submission.job)
        if not Submission.objects.filter(pk=submission.pk, withdrawn_at=None).update(withdrawn_at=Now()):
            raise Conflict("withdrawn", "This submission is withdrawn already.")
