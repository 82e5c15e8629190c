"""How an attempt ends: done, failed, cancelled, or put off. Every end is fenced by the attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Greatest, Now

from evalsvc.core.jobs.exceptions import LeaseLost
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store, move

RETRIES = 20
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 2, 300


def complete(job: Job, store: Store) -> Job:
    """Store what was found and end the job, both or neither; raises LeaseLost when it isn't ours any more.

    Whoever asked for an end before this one is heard: then nothing is stored.
    """
    every_step = Greatest(F("total"), 1)  # short work may never have told how many there are
    told: dict[str, Any] = {"lease_until": None, "ended_at": Now(), "step": ""}
    told |= {"done": every_step, "total": every_step}
    try:
        return move(job, Job.State.DONE, what="done", only=Q(cancel_asked=False), store=store, **told)
    except LeaseLost:
        if not Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
            raise
    return cancel(job)  # raises in its turn when the lease is lost besides


def fail(job: Job, *, code: str, reason: str) -> Job:
    """End the job for good."""
    return move(
        job,
        Job.State.FAILED,
        what="failed",
        detail=f"{code}: {reason}",
        lease_until=None,
        ended_at=Now(),
        error_code=code,
        error=reason,
    )


def cancel(job: Job) -> Job:
    return move(job, Job.State.CANCELLED, what="cancelled", lease_until=None, ended_at=Now())


def retry(job: Job, *, reason: str) -> Job:
    """Put the job off with back-off; give up when its surroundings stay broken for about an hour."""
    if Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
        return cancel(job)
    put_off = job.events.filter(what="retried").count()
    if put_off >= RETRIES:
        return fail(job, code="unavailable", reason=f"Tried {put_off + 1} times. The last time: {reason}")
    run_after = Now() + timedelta(seconds=wait_seconds(put_off))
    return move(job, Job.State.QUEUED, what="retried", detail=reason, lease_until=None, run_after=run_after)


def wait_seconds(put_off: int) -> int:
    """How long to wait before the next try: 2, 4, 8 … 300 seconds."""
    return min(FIRST_WAIT_SECONDS * 2**put_off, LONGEST_WAIT_SECONDS)
