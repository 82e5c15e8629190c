"""Ends of an attempt, all fenced: done, failed, cancelled, retried."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, Q
from django.db.models.functions import Greatest, Now

from evalsvc.core.jobs.exceptions import LeaseLost
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store, change_state

RETRIES = 20
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 2, 300


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
    """End the job for good."""
    return change_state(
        job,
        Job.State.FAILED,
        event="failed",
        detail=f"{code}: {reason}",
        lease_until=None,
        ended_at=Now(),
        error_code=code,
        error=reason,
    )


def cancel(job: Job) -> Job:
    return change_state(job, Job.State.CANCELLED, event="cancelled", lease_until=None, ended_at=Now())


def retry(job: Job, *, reason: str) -> Job:
    """Queue the job again after a growing wait, for about an hour."""
    if Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
        return cancel(job)
    retries = job.events.filter(what="retried").count()
    if retries >= RETRIES:
        return fail(
            job, code="unavailable", reason=f"Gave up after {retries + 1} attempts. Last error: {reason}"
        )
    run_after = Now() + timedelta(seconds=wait_seconds(retries))
    return change_state(
        job, Job.State.QUEUED, event="retried", detail=reason, lease_until=None, run_after=run_after
    )


def wait_seconds(retries: int) -> int:
    """Return the seconds until the next attempt: 2, 4, 8 … 300."""
    return min(FIRST_WAIT_SECONDS * 2**retries, LONGEST_WAIT_SECONDS)
