"""How the queues are doing, and what one waiting job may expect: counted, and reckoned from the last jobs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, quantiles

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from evalsvc.core.jobs import worker_presence
from evalsvc.core.jobs.claim import due
from evalsvc.core.jobs.models import Job

State = Job.State
RECENT, FEWEST = 50, 3
AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Outlook:
    """`position` 1 is next, 0 runs; `seconds` until the end, None where nobody can know."""

    position: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Health:
    """One queue: what waits and runs, and how the last hour went."""

    queue: str
    waiting: int
    running: int
    workers: int
    heard_of: int
    heard_at: datetime | None
    oldest_seconds: float
    done: int
    failed: int
    mean_seconds: float | None
    p95_seconds: float | None
    last_ended_at: datetime | None


def of_job(job: Job) -> Outlook | None:
    """What a job that has not ended may expect."""
    if job.state in Job.ENDED:
        return None
    each = durations(job.queue)
    mean = fmean(each) if len(each) >= FEWEST else None
    if job.state == State.RUNNING:
        return Outlook(0, _remaining(job, mean))
    ahead = _ahead(job)
    running = Job.objects.filter(queue=job.queue, state=State.RUNNING).count()
    if mean is None or not worker_presence.heard_of(job.queue):
        return Outlook(ahead + 1, None)
    # Half of what runs is done, on average; as many go on side by side as run now.
    return Outlook(ahead + 1, mean * (ahead + running / 2) / max(running, 1) + mean)


def _remaining(job: Job, mean: float | None) -> float | None:
    """By what others took; for what runs longer than they did, by how far it has come; else nobody knows."""
    age = _age(job)
    if mean is not None and age < mean:
        return mean - age
    return age * (job.total - job.done) / job.done if 0 < job.done <= job.total else None


def _age(job: Job) -> float:
    """Seconds since its last attempt began: earlier ones came to nothing."""
    began = job.events.filter(what="claimed").order_by("-pk").values_list("at", flat=True).first()
    now = timezone.now()
    return max((now - (began or job.started_at or now)).total_seconds(), 0.0)


def _ahead(job: Job) -> int:
    """Jobs taken before this one while lanes take turns: its own lane's, a turn of each other for each."""
    # compared inside the database: SQLite writes its own times in another width than ours
    since = Job.objects.filter(pk=job.pk).values("run_after")[:1]
    before = Q(run_after__lt=since) | Q(run_after=since, pk__lt=job.pk)
    own = due(job.queue).filter(before, lane=job.lane).count()
    others = Counter(due(job.queue).exclude(lane=job.lane).values_list("lane", flat=True))
    return own + sum(min(n, own + 1) for n in others.values())


def durations(queue: str) -> list[float]:
    """Seconds that the last jobs took that were done at the first attempt."""
    ended = Job.objects.filter(queue=queue, state=State.DONE, attempt=1).order_by("-ended_at")
    times = ended.values_list("started_at", "ended_at")[:RECENT]
    return [(end - start).total_seconds() for start, end in times if start and end]


def last_ended(queue: str) -> datetime | None:
    """When a job of the queue ended last; state by state, as the index has them."""
    jobs = Job.objects.filter(queue=queue, ended_at__isnull=False).order_by("-ended_at")
    ends = [jobs.filter(state=state).values_list("ended_at", flat=True).first() for state in Job.ENDED]
    return max((end for end in ends if end), default=None)


def health() -> list[Health]:
    return [_health(queue) for queue in settings.JOB_QUEUES]


def _health(queue: str) -> Health:
    now, jobs = timezone.now(), Job.objects.filter(queue=queue)
    waiting = due(queue).order_by("run_after")
    oldest = waiting.values_list("run_after", flat=True).first()
    ended = Counter(
        jobs.filter(state__in=Job.ENDED, ended_at__gte=now - AN_HOUR).values_list("state", flat=True)
    )
    running = list(jobs.filter(state=State.RUNNING).values_list("worker", flat=True))
    each = durations(queue)
    return Health(
        queue=queue,
        waiting=waiting.count(),
        running=len(running),
        workers=len(set(running)),
        heard_of=worker_presence.heard_of(queue),
        heard_at=worker_presence.last_heard(queue),
        oldest_seconds=max((now - oldest).total_seconds(), 0.0) if oldest else 0.0,
        done=ended[State.DONE],
        failed=ended[State.FAILED],
        mean_seconds=fmean(each) if each else None,
        p95_seconds=quantiles(each, n=20)[-1] if len(each) > 1 else None,
        last_ended_at=last_ended(queue),
    )
