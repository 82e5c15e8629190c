"""How a job changes state: one table of legal moves, one fenced update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import IllegalMove, LeaseLost
from evalsvc.core.jobs.models import Job, JobEvent

Store = Callable[[], None]

S = Job.State
MOVES: dict[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED}),
    S.RUNNING: frozenset({S.DONE, S.FAILED, S.CANCELLED, S.QUEUED}),
    S.DONE: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}


def move(
    job: Job,
    to: str,
    *,
    what: str,
    detail: str = "",
    only: Q | None = None,
    store: Store | None = None,
    **fields: Any,
) -> Job:
    """Move the job in one transaction, with what it found, and hand back the row as it now is.

    The update comes first: it locks the row and asks whether this attempt still owns it. Only then is
    anything stored.
    """
    if to not in MOVES[job.state]:
        raise IllegalMove(f"A job can't go from {job.state} to {to}.")
    with transaction.atomic():
        owned = Job.objects.filter(only or Q(), pk=job.pk, state=job.state, attempt=job.attempt)
        if not owned.update(state=to, **fields):
            raise LeaseLost(f"Job {job.pk} is no longer {job.state} in attempt {job.attempt}.")
        if store:
            store()
        return tell(job.pk, what=what, detail=detail)


def tell(pk: int, *, what: str, detail: str = "") -> Job:
    """Write the event, let the room follow; in the caller's transaction."""
    job = Job.objects.get(pk=pk)
    JobEvent.objects.create(job=job, attempt=job.attempt, what=what, detail=detail)
    kinds.follow(job)
    return job
