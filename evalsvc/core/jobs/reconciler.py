"""Finding jobs whose worker is gone. Safe to run often and by many at once."""

from __future__ import annotations

import logging

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.core.jobs import completion
from evalsvc.core.jobs.exceptions import LeaseLost, caught
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import hint
from evalsvc.core.jobs.transitions import move

log = logging.getLogger(__name__)
CRASHES_ALLOWED = 3
EXPIRED = Q(state=Job.State.RUNNING, lease_until__lt=Now())


def reconcile() -> int:
    """Give back every job whose lease ran out; how many that were."""
    return sum(_reconciled(pk) for pk in Job.objects.filter(EXPIRED).values_list("pk", flat=True)[:200])


def _reconciled(pk: int) -> bool:
    error = caught(lambda: give_back(pk))
    if error and not isinstance(error, LeaseLost):
        log.error("Job %s could not be given back", pk, exc_info=error)
    return error is None


def give_back(pk: int) -> Job | None:
    """Queue a lost job again, or end it when it was cancelled or took its worker down too often."""
    with transaction.atomic():
        jobs = Job.objects.filter(EXPIRED, pk=pk)
        if connection.features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True)  # a locked row is just being ended
        job = jobs.first()
        if job is None:
            raise LeaseLost(f"Job {pk} is already in other hands.")
        return _give_back(job)


def _give_back(job: Job) -> Job:
    crashes = job.events.filter(what="lost").count() + 1
    if job.cancel_asked:
        return completion.cancel(job)
    if crashes >= CRASHES_ALLOWED:
        return completion.fail(job, code="worker_lost", reason=_lost_for_good(job, crashes))
    transaction.on_commit(lambda: hint(job.queue))
    return move(job, Job.State.QUEUED, what="lost", detail=job.worker, only=EXPIRED, lease_until=None)


def _lost_for_good(job: Job, crashes: int) -> str:
    reached = f" after {job.done:,} of {job.total:,} steps" if job.total else ""
    return (
        f"The worker stopped {crashes} times while doing this, the last time{reached}: it ran out of "
        "memory, or its machine went down. Start it again; if it ends like this once more, tell whoever runs "
        "the service."
    )
