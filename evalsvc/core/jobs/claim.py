"""Taking a job: the fairest due one, under a lease, counted before the work starts."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import move

# Whoever was last served longer ago than this waits as if never served.
REMEMBERED = timedelta(hours=1)


def due(queue: str) -> QuerySet[Job]:
    return Job.objects.filter(queue=queue, state=Job.State.QUEUED, run_after__lte=Now())


def turns(queue: str) -> list[str]:
    """Lanes with due jobs: least running first, then the one served longest ago, then the longest waiting.

    Without the second rule a lone worker, which finds nobody running, would go by arrival alone.
    """
    waiting = due(queue).order_by().values_list("lane").annotate(first=Min("run_after"))
    lately = Q(state=Job.State.RUNNING) | Q(started_at__gt=Now() - REMEMBERED)
    running = Count("pk", filter=Q(state=Job.State.RUNNING))
    seen = Job.objects.filter(lately, queue=queue).order_by().values_list("lane")
    served = {lane: (n, at.timestamp()) for lane, n, at in seen.annotate(n=running, at=Max("started_at"))}
    return [lane for lane, first in sorted(waiting, key=lambda w: (*served.get(w[0], (0, 0.0)), w[1], w[0]))]


def claim(queue: str, *, worker: str = "") -> Job | None:
    """Take the fairest due job of the queue; None when nothing is due."""
    for lane in turns(queue):  # a look takes no write lock
        job = _take(due(queue).filter(lane=lane).order_by("run_after", "pk"), worker or me())
        if job:
            return job
    return None


def claim_this(job: Job, *, worker: str = "") -> Job | None:
    """Take one certain job; None when somebody else has it or it isn't due."""
    return _take(due(job.queue).filter(pk=job.pk), worker or me())


def me() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def lease_end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _take(jobs: QuerySet[Job], worker: str) -> Job | None:
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True, of=("self",))
        job = jobs.first()
        if job is None:
            return None
        return move(
            job,
            Job.State.RUNNING,
            what="claimed",
            detail=worker,
            attempt=F("attempt") + 1,
            lease_until=lease_end(),
            started_at=Coalesce(F("started_at"), Now()),
            worker=worker[:120],
        )
