"""Jobs that make no progress."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import due
from evalsvc.core.jobs.queue_status import active_workers
from evalsvc.core.upkeep.registry import Finding

# Leases are released within seconds while any worker runs.
LATE = timedelta(minutes=2)


def check_jobs(share: str) -> Iterator[Finding]:
    """Report jobs that nobody runs although they are due."""
    overdue = Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=Now() - LATE)
    for job in overdue.order_by("pk")[:20]:
        detail = f"Job {job.pk} ({job}) has no worker: its lease ended at {job.lease_until:%H:%M:%S} UTC."
        yield Finding("lease_overdue", detail, "Start a worker, or restart beat; either queues it again.")
    for queue in settings.JOB_QUEUES:
        waiting = due(queue).filter(run_after__lt=Now() - LATE).count()
        if waiting and not active_workers(queue):
            cure = f"Start a worker with -Q {queue}, and check that the broker runs."
            yield Finding("no_worker", f"{waiting:,} jobs wait in the queue {queue} without a worker.", cure)
