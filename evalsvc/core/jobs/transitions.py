"""Changes of a job's state: one table, one fenced update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import IllegalTransition, LeaseLost
from evalsvc.core.jobs.models import Job, JobEvent

Store = Callable[[], None]

S = Job.State
TRANSITIONS: dict[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED}),
    S.RUNNING: frozenset({S.DONE, S.FAILED, S.CANCELLED, S.QUEUED}),
    S.DONE: frozenset(),
    S.FAILED: frozenset(),
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


def record_event(pk: int, event: str, *, detail: str = "") -> Job:
    """Write the event and run the kind's hook in the caller's transaction."""
    job = Job.objects.get(pk=pk)
    JobEvent.objects.create(job=job, attempt=job.attempt, what=event, detail=detail)
    kinds.state_changed(job)
    return job
