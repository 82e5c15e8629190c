"""Release jobs whose lease ran out; safe to run concurrently."""

from __future__ import annotations

import logging
from functools import partial

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.core.jobs import completion
from evalsvc.core.jobs.exceptions import LeaseLost, caught
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import wake_worker
from evalsvc.core.jobs.transitions import change_state

log = logging.getLogger(__name__)
CRASHES_ALLOWED = 3
EXPIRED = Q(state=Job.State.RUNNING, lease_until__lt=Now())


def reconcile() -> int:
    """Release every job whose lease ran out; return their number."""
    released = 0
    for pk in Job.objects.filter(EXPIRED).values_list("pk", flat=True)[:200]:
        error = caught(partial(release, pk))
        if error and not isinstance(error, LeaseLost):
            log.error("Job %s could not be released", pk, exc_info=error)
        released += error is None
    return released


def release(pk: int) -> Job:
    """Queue a lost job again, unless cancelled or crashed too often."""
    with transaction.atomic():
        jobs = Job.objects.filter(EXPIRED, pk=pk)
        if connection.features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True)  # a locked row is just being ended
        job = jobs.first()
        if job is None:
            raise LeaseLost(f"Job {pk} was already released or ended.")
        if job.cancel_asked:
            return completion.cancel(job)
        crashes = job.events.filter(what="lost").count() + 1
        if crashes >= CRASHES_ALLOWED:
            reached = f", the last time after {job.done:,} of {job.total:,} steps" if job.total else ""
            reason = (
                f"The worker stopped {crashes} times during this job{reached}: it ran out of memory, or its "
                "machine failed. Start the job again; if it fails again, tell an administrator."
            )
            return completion.fail(job, code="worker_lost", reason=reason)
        transaction.on_commit(lambda: wake_worker(job.queue))
        return change_state(
            job, Job.State.QUEUED, event="lost", detail=job.worker, only=EXPIRED, lease_until=None
        )
