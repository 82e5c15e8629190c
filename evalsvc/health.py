"""Readiness of the installation's parts, and metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from threading import Thread
from typing import ClassVar

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Max
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from annotation.models import Vote
from evalsvc.core.jobs.exceptions import caught
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import current_drain
from evalsvc.core.jobs.queue_status import QueueHealth, queue_health
from evalsvc.core.storage import free_bytes, lost_folders
from evalsvc.core.upkeep.registry import KIND

BROKER_SECONDS, STORAGE_SECONDS = 2, 5
STALLED_SECONDS = 600
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def ready(request: HttpRequest) -> JsonResponse:
    """Respond with 200, or with 503 and the reasons."""
    problems = {name: problem for name, check in CHECKS.items() if (problem := _problem(check))}
    body = {"status": "not ready" if problems else "ready", "problems": problems, "draining": False}
    if "database" not in problems:
        body["draining"] = current_drain() is not None
    return JsonResponse(body, status=503 if problems else 200, headers={"Cache-Control": "no-store"})


def _problem(check: Callable[[], str]) -> str:
    """Run the check; of an error, show the class only.

    Its text may contain addresses.
    """
    results: list[str] = []
    error = caught(lambda: results.append(check()))
    return f"The check failed ({type(error).__name__})." if error else results[0]


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _broker() -> str:
    from evalsvc.celery import app

    with app.connection(connect_timeout=BROKER_SECONDS) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_SECONDS)
    return ""


class StorageProbe(Thread):
    """Look into the storage beside the request, as the answer may take a minute."""

    latest: ClassVar[StorageProbe | None] = None

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.error: Exception | None = None

    def run(self) -> None:
        self.error = caught(lambda: default_storage.listdir(""))


def _storage() -> str:
    probe = StorageProbe.latest
    if probe is None or not probe.is_alive():  # one at a time, or every request would leave one
        probe = StorageProbe.latest = StorageProbe()
        probe.start()
    probe.join(STORAGE_SECONDS)
    if probe.is_alive():
        return f"No response within {STORAGE_SECONDS} s."
    if probe.error:
        raise probe.error
    lost = lost_folders()
    return f"None of the files in {', '.join(lost)} is found. Check that the storage is mounted." * bool(lost)


def _workers() -> str:
    idle = [health.queue for health in queue_health() if not health.active_workers]
    return f"No active worker for {', '.join(idle)}." if idle else ""


def _free_space() -> str:
    free, least = free_bytes(), settings.FREE_BYTES_LEAST
    return f"{free:,} bytes are free for data or files; at least {least:,} are required." * (free < least)


def _progress() -> str:
    if current_drain():
        return ""
    stalled = [health.queue for health in queue_health() if is_stalled(health)]
    return f"No job of {', '.join(stalled)} ended for {STALLED_SECONDS} s, though jobs wait." * bool(stalled)


def is_stalled(health: QueueHealth) -> bool:
    """True if jobs wait for long, none runs and none ended lately."""
    progress = health.running or health.done or health.failed or health.refused
    return health.oldest_seconds > STALLED_SECONDS and not progress


CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "broker": _broker,
    "storage": _storage,
    "workers": _workers,
    "free space": _free_space,
    "progress": _progress,
}


def metrics(request: HttpRequest) -> HttpResponse:
    """Respond with the metrics, where the setting METRICS is on."""
    if not settings.METRICS:
        raise Http404
    return HttpResponse("".join(_lines()), content_type=METRICS_TYPE)


# Name, help and value of each metric of a queue.
QUEUE_METRICS: list[tuple[str, str, Callable[[QueueHealth], float | None]]] = [
    ("jobs_waiting", "Jobs that are due.", lambda health: health.waiting),
    ("jobs_running", "Jobs that a worker runs.", lambda health: health.running),
    ("oldest_job_seconds", "Waiting time of the oldest due job.", lambda health: health.oldest_seconds),
    ("workers_active", "Workers that were active in the last minute.", lambda health: health.active_workers),
    ("jobs_done_last_hour", "Jobs done in the last hour.", lambda health: health.done),
    (
        "jobs_failed_last_hour",
        "Jobs that failed in the last hour, refused files aside.",
        lambda health: health.failed,
    ),
    (
        "jobs_refused_last_hour",
        "Imports refused for their file in the last hour.",
        lambda health: health.refused,
    ),
    ("job_seconds_mean", "Mean duration of the last 50 jobs.", lambda health: health.mean_seconds),
    ("job_seconds_p95", "95th percentile of their duration.", lambda health: health.p95_seconds),
]


def _lines() -> Iterator[str]:
    """Yield the metrics in the text format of Prometheus."""
    queues = queue_health()
    for name, text, value_of in QUEUE_METRICS:
        yield _head(name, text)
        for health in queues:
            value = value_of(health)
            if value is not None:
                yield f'evalsvc_{name}{{queue="{health.queue}"}} {value}\n'
    for name, text, value in _single_values():
        yield f"{_head(name, text)}evalsvc_{name} {value}\n"


def _head(name: str, text: str) -> str:
    return f"# HELP evalsvc_{name} {text}\n# TYPE evalsvc_{name} gauge\n"


def _single_values() -> Iterator[tuple[str, str, float]]:
    yield "draining", "1 while no job is started.", int(current_drain() is not None)
    overdue = Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=Now())
    yield "leases_overdue", "Running jobs whose lease ended; the reconciler releases them.", overdue.count()
    active = Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING))
    attempts = active.aggregate(most=Max("attempt"))["most"] or 0
    yield "attempts_max", "Attempts of the waiting or running job with most of them.", attempts
    yield "last_vote_number", "Number of the newest vote.", Vote.objects.aggregate(n=Max("pk"))["n"] or 0
    yield (
        "free_bytes",
        "Free bytes of the data folder or of the stored files, whichever are fewer.",
        free_bytes(),
    )
    upkeep = Job.objects.filter(kind=KIND, state=Job.State.FAILED, ended_at__gt=Now() - timedelta(days=1))
    yield "upkeep_failures_last_day", "Upkeep jobs that found something in the last day.", upkeep.count()
