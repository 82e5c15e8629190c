"""Queue jobs, claim the fairest one under a lease, request cancellations."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, Count, F, Max, Min, Q, QuerySet, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now
from django.utils.module_loading import import_string

from evalsvc.core import log_context
from evalsvc.core.database import insert_many
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import kinds, transitions
from evalsvc.core.jobs.exceptions import LeaseLost
from evalsvc.core.jobs.models import Drain, Job, JobEvent
from evalsvc.core.jobs.processes import process_name
from evalsvc.core.jobs.transitions import change_state, record_event

log = logging.getLogger(__name__)
# A lane last served longer ago than this waits as if never served.
REMEMBERED = timedelta(hours=1)
# A job of a kind that lets others come first takes its turn with them once it has waited so long.
LONG_WAIT = timedelta(minutes=10)
# A broker that hangs costs seconds a message; beat looks for jobs more often than that.
SILENT_SECONDS = 10
_silent_until = 0.0


def enqueue(kind: str, subject: int, *, lane: str = "") -> Job:
    """Insert the job, and wake a worker after the caller's commit."""
    queue = kinds.get(kind).queue
    with transaction.atomic(savepoint=False):
        row = Job.objects.create(
            kind=kind, queue=queue, subject=subject, lane=lane, request_id=log_context.request_id()
        )
        job = record_event(row, "queued")
        transaction.on_commit(lambda: wake_worker(queue))
    return job


def enqueue_many(kind: str, lanes: Mapping[int, str]) -> list[Job]:
    """Insert a job for each subject in few statements; the caller mirrors them, its commit wakes a worker."""
    queue, request = kinds.get(kind).queue, log_context.request_id()
    rows = [
        Job(kind=kind, queue=queue, subject=subject, lane=lane, request_id=request)
        for subject, lane in lanes.items()
    ]
    with transaction.atomic(savepoint=False):
        jobs = insert_many(rows)
        insert_many([JobEvent(job=job, attempt=job.attempt, what="queued") for job in jobs])
        transaction.on_commit(lambda: wake_worker(queue))
    return jobs


def wake_worker(queue: str) -> None:
    """Send a message to a worker; a failure is only logged.

    Celery and Redis are imported here: most commands, and web processes at first, send nothing.
    """
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    from kombu.exceptions import KombuError
    from redis.exceptions import RedisError
    from redis.exceptions import TimeoutError as RedisTimeout

    signature = import_string(settings.JOB_APP).signature("workers.run_next", args=(queue,))
    try:
        signature.apply_async(queue=queue, retry=False, ignore_result=True)
    except (KombuError, RedisError, OSError) as error:
        log.error("Could not notify queue %s; its jobs wait for the next tick: %s", queue, error)
        if isinstance(error.__cause__, RedisTimeout | TimeoutError):
            _silent_until = time.monotonic() + SILENT_SECONDS


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


def restart(job: Job, *, by: str) -> Job:
    """Queue a failed job again; the commit wakes a worker."""
    with transaction.atomic():
        row = Job.objects.select_for_update().get(pk=job.pk)
        if row.state != Job.State.FAILED:
            raise Conflict("not_failed", f"Job {row.pk} is {row.state}. Only a failed job can be restarted.")
        transaction.on_commit(lambda: wake_worker(row.queue))
        return transitions.restart(row, detail=by)


def due(queue: str) -> QuerySet[Any]:
    """Return the jobs that may begin. `later` (0 or 1) lets those of some kinds come after the others."""
    waited = When(run_after__lt=Now() - LONG_WAIT, then=0)
    later = Case(waited, When(kind__in=kinds.that_come_later(), then=1), default=0)
    jobs = Job.objects.filter(queue=queue, state=Job.State.QUEUED, run_after__lte=Now())
    return jobs.annotate(later=later)


def lanes_in_turn(queue: str) -> list[tuple[int, str]]:
    """Order lanes, each with `later`, by running jobs, last service and longest wait.

    Without the second rule a single worker, which finds nothing running, would go by arrival alone.
    """
    waiting = due(queue).order_by().values_list("later", "lane")
    waiting = waiting.annotate(first=Min("run_after"), number=Min("pk"))  # times may be equal
    lately = Q(state=Job.State.RUNNING) | Q(claimed_at__gt=Now() - REMEMBERED)
    running = Count("pk", filter=Q(state=Job.State.RUNNING))
    recent = Job.objects.filter(lately, queue=queue).order_by().values_list("lane")
    served = {
        lane: (n, at.timestamp() if at else 0.0)
        for lane, n, at in recent.annotate(n=running, at=Max("claimed_at"))
    }
    order = sorted((later, *served.get(lane, (0, 0.0)), *first, lane) for later, lane, *first in waiting)
    return [(later, lane) for later, *_, lane in order]


def is_turn_of_others(job: Job) -> bool:
    """Return True if a job of another lane, or one that comes before such kinds, could run now."""
    others = ~Q(lane=job.lane)
    if job.kind in kinds.that_come_later():
        others |= Q(later=0)
    return due(job.queue).filter(others).exists()


def current_drain() -> Drain | None:
    """Return the drain, if workers are to claim nothing."""
    return Drain.objects.first()


def start_drain(reason: str) -> None:
    """Let workers end what they run and claim nothing more."""
    Drain.objects.update_or_create(pk=1, defaults={"reason": reason})


def end_drain() -> None:
    """Let workers claim jobs again, and wake one for each queue."""
    Drain.objects.all().delete()
    for queue in settings.JOB_QUEUES:
        wake_worker(queue)


def claim(queue: str, *, worker: str = "") -> Job | None:
    """Claim the fairest due job of the queue, unless a drain is on."""
    if current_drain():
        return None
    for later, lane in lanes_in_turn(queue):  # reading takes no write lock
        job = _claim_first(due(queue).filter(later=later, lane=lane).order_by("run_after", "pk"), worker)
        if job:
            return job
    return None


def claim_job(job: Job) -> Job | None:
    """Claim this job if it is due and free."""
    return _claim_first(due(job.queue).filter(pk=job.pk))


def lease_end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _claim_first(jobs: QuerySet[Job], worker: str = "") -> Job | None:
    worker = worker or process_name()
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True, of=("self",))
        job = jobs.first()
        if job is None:
            return None
        return change_state(
            job,
            Job.State.RUNNING,
            event="claimed",
            detail=worker,
            attempt=F("attempt") + 1,
            lease_until=lease_end(),
            started_at=Coalesce(F("started_at"), Now()),  # of the first attempt; events have the others
            claimed_at=Now(),
            worker=worker[:120],
        )
