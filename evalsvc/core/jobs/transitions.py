"""Changes of a job's state, fenced, and each end of an attempt."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest, Now

from evalsvc.core import log_context
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import IllegalTransition, LeaseLost
from evalsvc.core.jobs.models import Job, JobEvent

Store = Callable[[], None]
CRASHES_ALLOWED = 3
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 2, 300
S = Job.State
log = logging.getLogger(__name__)
TRANSITIONS: dict[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED}),
    S.RUNNING: frozenset({S.DONE, S.FAILED, S.CANCELLED, S.QUEUED}),
    S.DONE: frozenset(),
    S.FAILED: frozenset({S.QUEUED}),
    S.CANCELLED: frozenset(),
}


def change_state(
    job: Job,
    to: str,
    *,
    event: str,
    detail: str = "",
    only: Q | None = None,
    store: Store | None = None,
    **fields: Any,
) -> Job:
    """Change the state and store the result in one transaction.

    The update comes first: it locks the row and checks that this attempt still owns it. Only then is
    anything stored.
    """
    if to not in TRANSITIONS[job.state]:
        raise IllegalTransition(f"A job cannot go from {job.state} to {to}.")
    with transaction.atomic():
        owned = Job.objects.filter(only or Q(), pk=job.pk, state=job.state, attempt=job.attempt)
        if not owned.update(state=to, **fields):
            raise LeaseLost(f"Job {job.pk} is no longer {job.state} in attempt {job.attempt}.")
        if store:
            store()
        return record_event(job.pk, event, detail=detail)


def record_event(job_or_key: Job | int, event: str, *, detail: str = "") -> Job:
    """Write the event and run the kind's hook in the caller's transaction.

    A job as it was just stored is not read again.
    """
    job = job_or_key if isinstance(job_or_key, Job) else Job.objects.get(pk=job_or_key)
    JobEvent.objects.create(job=job, attempt=job.attempt, what=event, detail=detail)
    kinds.state_changed(job)
    return job


def log_ids(job: Job) -> dict[str, str]:
    """Return what each line of the log about this attempt has beside its text."""
    return {
        "job": str(job.pk),
        "attempt": str(job.attempt),
        "request": log_context.request_id() or job.request_id,
    }


def complete(job: Job, store: Store) -> Job:
    """Store the result and end the job, both or neither.

    Raise LeaseLost when another attempt owns it. After a request to cancel, nothing is stored.
    """
    steps = Greatest(F("total"), 1)  # short work may never have reported its number of steps
    try:
        return change_state(
            job,
            Job.State.DONE,
            event="done",
            only=Q(cancel_asked=False),
            store=store,
            lease_until=None,
            ended_at=Now(),
            step="",
            done=steps,
            total=steps,
        )
    except LeaseLost:
        if not Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
            raise
    return cancel(job)  # raises in its turn when the lease is lost besides


def fail(job: Job, *, code: str, reason: str) -> Job:
    """End the job for good. Its reason may quote a file, so the log has the code alone."""
    failed = change_state(
        job,
        Job.State.FAILED,
        event="failed",
        detail=f"{code}: {reason}",
        lease_until=None,
        ended_at=Now(),
        error_code=code,
        error=reason,
    )
    with log_context.bound(**log_ids(failed)):
        log.warning("Job %s: failed, %s", job.pk, code)
    return failed


def cancel(job: Job) -> Job:
    cancelled = change_state(job, Job.State.CANCELLED, event="cancelled", lease_until=None, ended_at=Now())
    with log_context.bound(**log_ids(cancelled)):
        log.info("Job %s: cancelled", job.pk)
    return cancelled


def retry(job: Job, *, reason: str, most: int | None = None, code: str = "unavailable") -> Job:
    """Queue the job again after a growing wait.

    Only `most` ends this, by the number of retries for the same reason.
    """
    if Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
        return cancel(job)
    retried = events_since_restart(job).filter(what="retried")
    if most is not None and (n := retried.filter(detail=reason).count()) >= most:
        return fail(job, code=code, reason=f"Gave up after {n + 1} attempts. Last error: {reason}")
    run_after = Now() + timedelta(seconds=wait_seconds(retried.count()))
    return change_state(
        job, Job.State.QUEUED, event="retried", detail=reason, lease_until=None, run_after=run_after
    )


def wait_seconds(retries: int) -> int:
    """Return the seconds until the next attempt: 2, 4, 8 … 300."""
    return min(FIRST_WAIT_SECONDS * 2**retries, LONGEST_WAIT_SECONDS)


def restart(job: Job, *, detail: str = "") -> Job:
    """Queue a failed job again, as if it had just been sent."""
    return change_state(
        job,
        Job.State.QUEUED,
        event="restarted",
        detail=detail,
        run_after=Now(),
        ended_at=None,
        error_code="",
        error="",
        done=0,
        total=0,
        step="",
    )


def events_since_restart(job: Job) -> QuerySet[JobEvent]:
    """Return what counts for the limits of retries and crashes."""
    last = job.events.filter(what="restarted").order_by("-pk").values_list("pk", flat=True).first()
    return job.events.filter(pk__gt=last or 0)


def report_alive(job: Job) -> None:
    """Withdraw the loss of this attempt: its process lives.

    It could not renew its lease, as without the database. The result of the attempt stays discarded.
    """
    with transaction.atomic():
        row = Job.objects.select_for_update().get(pk=job.pk)
        row.events.filter(what="lost", attempt=job.attempt).update(what="lapsed")
        if row.state == S.FAILED and row.error_code == "worker_lost" and row.attempt == job.attempt:
            restart(row, detail="its worker is alive")
