"""Active workers: each records, queue by queue, that it asked for work."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models.functions import Now

from evalsvc.core.jobs.claim import worker_name
from evalsvc.core.jobs.exceptions import caught
from evalsvc.core.jobs.models import Job, Worker

log = logging.getLogger(__name__)
# The broker may wake the same one of several idle workers again and again: the others are still active.
ACTIVE_WITHIN, RECORDED_EVERY, KEPT = timedelta(minutes=1), timedelta(seconds=15), timedelta(days=1)


def record_seen(queue: str, *, worker: str = "") -> None:
    """Record that a worker asked for work, at most every 15 seconds."""
    error = caught(lambda: _record(queue, (worker or worker_name())[:120]))
    if error:
        log.warning("The presence of a worker was not recorded: %s", error)


def _record(queue: str, name: str) -> None:
    if Worker.objects.filter(queue=queue, name=name, heard_at__gte=Now() - RECORDED_EVERY).exists():
        return  # reading takes no write lock
    Worker.objects.filter(heard_at__lt=Now() - KEPT).delete()
    Worker.objects.update_or_create(queue=queue, name=name, defaults={"heard_at": Now()})


def active_workers(queue: str) -> int:
    """Count worker processes seen in the last minute or at work."""
    seen = Worker.objects.filter(queue=queue, heard_at__gte=Now() - ACTIVE_WITHIN)
    working = Job.objects.filter(queue=queue, state=Job.State.RUNNING, lease_until__gt=Now())
    return len({*seen.values_list("name", flat=True), *working.values_list("worker", flat=True)})


def last_seen(queue: str) -> datetime | None:
    """Return the time a worker last asked for work, kept one day."""
    times = Worker.objects.filter(queue=queue).order_by("-heard_at")
    return times.values_list("heard_at", flat=True).first()
