"""Health of the queues, active workers, forecasts of jobs."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, quantiles
from typing import Any

from django.conf import settings
from django.db.models import Case, Count, Min, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import REFUSED, caught
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.processes import process_name
from evalsvc.core.jobs.queue import current_drain, due

log = logging.getLogger(__name__)
State = Job.State
RECENT, FEWEST = 50, 3
AN_HOUR = timedelta(hours=1)
# The broker may wake the same one of several idle workers again and again: the others are still active.
ACTIVE_WITHIN, RECORDED_EVERY, STORED_FOR = timedelta(minutes=1), timedelta(seconds=15), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class JobForecast:
    """Position (1 is next, 0 runs) and seconds to the end."""

    position: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """Jobs and workers of one queue, and results of the last hour.

    A refused file is no failed job: its sender corrects it.
    """

    queue: str
    waiting: int
    running: int
    workers: int
    active_workers: int
    last_seen_at: datetime | None
    oldest_seconds: float
    done: int
    failed: int
    refused: int
    mean_seconds: float | None
    p95_seconds: float | None
    last_ended_at: datetime | None


def forecast(job: Job) -> JobForecast | None:
    """Estimate position and time of a job; None once it has ended."""
    if job.state in Job.ENDED:
        return None
    recent = durations(job.queue)
    mean = fmean(recent) if len(recent) >= FEWEST else None
    if job.state == State.RUNNING:
        return JobForecast(0, _remaining(job, mean))
    # Jobs before this one while lanes take turns.
    # Compared inside the database: SQLite writes its own times in another width than ours.
    since = Job.objects.filter(pk=job.pk).values("run_after")[:1]
    before = Q(run_after__lt=since) | Q(run_after=since, pk__lt=job.pk)
    later = int(job.kind in kinds.that_come_later())
    waiting = due(job.queue).filter(later__lte=later)
    own = waiting.filter(before | Q(later__lt=later), lane=job.lane).count()
    others = Counter(waiting.exclude(lane=job.lane).values_list("later", "lane"))
    ahead = own + sum(min(n, own + 1) if first == later else n for (first, _), n in others.items())
    running = Job.objects.filter(queue=job.queue, state=State.RUNNING).count()
    if mean is None or not active_workers(job.queue) or current_drain():
        return JobForecast(ahead + 1, None)
    # Running jobs are half done on average; as many run in parallel later as do now.
    return JobForecast(ahead + 1, mean * (ahead + running / 2) / max(running, 1) + mean)


def _remaining(job: Job, mean: float | None) -> float | None:
    """Estimate by the mean, or past it by the steps done.

    The age counts from the last attempt, as earlier ones came to nothing.
    """
    claims = job.events.filter(what="claimed").order_by("-pk").values_list("at", flat=True)
    now = timezone.now()
    age = max((now - (claims.first() or job.started_at or now)).total_seconds(), 0.0)
    if mean is not None and age < mean:
        return mean - age
    return age * (job.total - job.done) / job.done if 0 < job.done <= job.total else None


def obstacle(job: Job | None) -> str:
    """Return why a queued job does not start, empty if its turn comes."""
    if job is None or job.state != State.QUEUED:
        return ""
    if drain := current_drain():
        return f"no job is started now: {drain.reason}"
    return "" if active_workers(job.queue) else "no active workers; queued until one starts"


def durations(queue: str) -> list[float]:
    """Return seconds of the last jobs done at the first attempt."""
    return [_seconds(job) for job in _recently_done(queue) if job.started_at]


def _seconds(job: Job) -> float:
    assert job.started_at
    assert job.ended_at
    return (job.ended_at - job.started_at).total_seconds()


def recently_ended() -> list[Job]:
    """Return the last jobs of every queue, in one query by the index.

    They are the last done at the first attempt, and the last of each state. A set of slices in one query is
    beyond querysets on SQLite.
    """
    parts = []
    for queue in settings.JOB_QUEUES:
        for state in Job.ENDED:
            ended = Job.objects.filter(queue=queue, state=state, ended_at__isnull=False).order_by("-ended_at")
            parts.append(ended[:1])
        parts.append(_recently_done(queue))
    statements = [part.query.sql_with_params() for part in parts]
    union = " UNION ALL ".join(f"SELECT * FROM ({text}) AS part" for text, _ in statements)  # noqa: S608
    jobs = Job.objects.raw(union, [value for _, values in statements for value in values])
    return list({job.pk: job for job in jobs}.values())


def _recently_done(queue: str) -> QuerySet[Job]:
    done = Job.objects.filter(queue=queue, state=State.DONE, attempt=1, ended_at__isnull=False)
    return done.order_by("-ended_at")[:RECENT]


def queue_health() -> list[QueueHealth]:
    """Return the health of every queue, in five queries for any number of them."""
    jobs = Job.objects.order_by()
    waiting = jobs.filter(state=State.QUEUED, run_after__lte=Now()).values_list("queue")
    running = jobs.filter(state=State.RUNNING).annotate(leased=Q(lease_until__gt=Now()))
    ended = jobs.filter(queue__in=settings.JOB_QUEUES, state__in=Job.ENDED, ended_at__gte=Now() - AN_HOUR)
    refused = Case(When(error_code=REFUSED, then=Value("refused")), default="state")
    seen = Worker.objects.annotate(active=Q(heard_at__gte=Now() - ACTIVE_WITHIN))
    rows = (
        _by_queue(waiting.annotate(Count("pk"), Min("run_after"))),
        _by_queue(running.values_list("queue", "worker", "leased")),
        _by_queue(seen.values_list("queue", "name", "active", "heard_at")),
        _by_queue(ended.annotate(result=refused).values_list("queue", "result").annotate(Count("pk"))),
        _by_queue((job.queue, job) for job in recently_ended()),
    )
    return [_health(queue, *(each[queue] for each in rows)) for queue in settings.JOB_QUEUES]


def _by_queue(rows: Iterable[tuple[Any, ...]]) -> defaultdict[str, list[Any]]:
    grouped: defaultdict[str, list[Any]] = defaultdict(list)
    for queue, *values in rows:
        grouped[queue].append(values)
    return grouped


def _health(
    queue: str, waiting: list[Any], running: list[Any], seen: list[Any], ended: list[Any], recent: list[Any]
) -> QueueHealth:
    n_waiting, oldest = waiting[0] if waiting else (0, None)
    results = dict(ended)
    jobs = [job for (job,) in recent]
    times = [_seconds(job) for job in jobs if job.state == State.DONE and job.attempt == 1 and job.started_at]
    return QueueHealth(
        queue=queue,
        waiting=n_waiting,
        running=len(running),
        workers=len({name for name, _ in running}),
        active_workers=len({name for name, active, *_ in (*running, *seen) if active}),
        last_seen_at=max((at for *_, at in seen), default=None),
        oldest_seconds=max((timezone.now() - oldest).total_seconds(), 0.0) if oldest else 0.0,
        done=results.get(State.DONE, 0),
        failed=results.get(State.FAILED, 0),
        refused=results.get("refused", 0),
        mean_seconds=fmean(times) if times else None,
        p95_seconds=quantiles(times, n=20)[-1] if len(times) > 1 else None,
        last_ended_at=max((job.ended_at for job in jobs), default=None),
    )


def record_seen(queue: str, *, worker: str = "") -> None:
    """Record that a worker asked for work, at most every 15 seconds."""
    error = caught(lambda: _record(queue, (worker or process_name())[:120]))
    if error:
        log.warning("The presence of a worker was not recorded: %s", error)


def _record(queue: str, name: str) -> None:
    if Worker.objects.filter(queue=queue, name=name, heard_at__gte=Now() - RECORDED_EVERY).exists():
        return  # reading takes no write lock
    Worker.objects.filter(heard_at__lt=Now() - STORED_FOR).delete()
    Worker.objects.update_or_create(queue=queue, name=name, defaults={"heard_at": Now()})


def active_workers(queue: str) -> int:
    """Count worker processes seen in the last minute or at work."""
    seen = Worker.objects.filter(queue=queue, heard_at__gte=Now() - ACTIVE_WITHIN)
    working = Job.objects.filter(queue=queue, state=Job.State.RUNNING, lease_until__gt=Now())
    return len({*seen.values_list("name", flat=True), *working.values_list("worker", flat=True)})
