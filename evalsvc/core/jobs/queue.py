"""Queue jobs and request their cancellation."""

from __future__ import annotations

import logging

from celery import current_app as app
from django.db import transaction
from django.db.models.functions import Now
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import LeaseLost
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import change_state, record_event

log = logging.getLogger(__name__)


def enqueue(kind: str, subject: int, *, lane: str = "") -> Job:
    """Insert the job, and wake a worker after the caller's commit."""
    queue = kinds.get(kind).queue
    with transaction.atomic():
        row = Job.objects.create(kind=kind, queue=queue, subject=subject, lane=lane)
        job = record_event(row.pk, "queued")
        transaction.on_commit(lambda: wake_worker(queue))
    return job


def wake_worker(queue: str) -> None:
    """Send a message to a worker; a failure is only logged."""
    signature = app.signature("workers.run_next", args=(queue,))
    try:
        signature.apply_async(queue=queue, retry=False, ignore_result=True)
    except (KombuError, RedisError, OSError) as error:
        log.error("Could not notify queue %s; its jobs wait for the next tick: %s", queue, error)


def request_cancel(job: Job) -> None:
    """Cancel a queued job at once, a running one when it reports."""
    with transaction.atomic():
        row = Job.objects.select_for_update().get(pk=job.pk)
        if row.state == Job.State.QUEUED:
            try:
                change_state(row, Job.State.CANCELLED, event="cancelled", ended_at=Now())
            except LeaseLost:  # claimed between the look and the update, where rows can't be locked
                row.refresh_from_db()
        if row.state == Job.State.RUNNING and not row.cancel_asked:
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel_asked=True)
            record_event(job.pk, "cancel asked")
