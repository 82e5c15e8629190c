"""Which workers were heard of lately: each writes down, queue by queue, that it looked for work."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models.functions import Now

from evalsvc.core.jobs.claim import me
from evalsvc.core.jobs.exceptions import caught
from evalsvc.core.jobs.models import Job, Worker

log = logging.getLogger(__name__)
# Of several idle workers the broker may ask the same one again and again: who is silent need not be gone.
HEARD_WITHIN, TOLD_EVERY, KEPT = timedelta(minutes=1), timedelta(seconds=15), timedelta(days=1)


def looks_for_work(queue: str, *, worker: str = "") -> None:
    """Write it down, four times a minute at most; what hinders that must not hinder the work."""
    error = caught(lambda: _tell(queue, (worker or me())[:120]))
    if error:
        log.warning("It was not written down that a worker is here: %s", error)


def _tell(queue: str, name: str) -> None:
    if Worker.objects.filter(queue=queue, name=name, heard_at__gte=Now() - TOLD_EVERY).exists():
        return  # a look takes no write lock
    Worker.objects.filter(heard_at__lt=Now() - KEPT).delete()
    Worker.objects.update_or_create(queue=queue, name=name, defaults={"heard_at": Now()})


def heard_of(queue: str) -> int:
    """How many worker processes looked for work in the last minute, or are in the middle of some."""
    looked = Worker.objects.filter(queue=queue, heard_at__gte=Now() - HEARD_WITHIN)
    working = Job.objects.filter(queue=queue, state=Job.State.RUNNING, lease_until__gt=Now())
    names = {*looked.values_list("name", flat=True), *working.values_list("worker", flat=True)}
    return len(names)


def last_heard(queue: str) -> datetime | None:
    """When a worker last looked for work there; None when none did in the last day."""
    times = Worker.objects.filter(queue=queue).order_by("-heard_at")
    return times.values_list("heard_at", flat=True).first()
