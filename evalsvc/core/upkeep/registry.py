"""Registry of checks and sweeps, filled when apps start; the hourly job."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from evalsvc.core.jobs.exceptions import caught
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.queue import due, enqueue
from evalsvc.core.jobs.queue_status import active_workers
from evalsvc.core.storage import free_bytes

log = logging.getLogger(__name__)
KIND = "upkeep"
# The hourly job reads a sixteenth of the files and test sets, by their first digit.
SHARES = "0123456789abcdef"
LOOK_EVERY_SECONDS = 60
# Leases are released within seconds while any worker runs.
LATE = timedelta(minutes=2)
# As compose and `make up` start the web; each thread keeps a connection, a job one more for its lease.
WEB_PROCESSES, CONNECTIONS_OF_A_WORKER = 2, 2


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, and its cure."""

    code: str
    detail: str
    cure: str


# A check reads everything, or with a hexadecimal digit that share of it.
Check = Callable[[str], Iterator[Finding]]
Sweep = Callable[[], int]
_checks: dict[str, Check] = {}
_sweeps: dict[str, Sweep] = {}
_counts: dict[str, Sweep] = {}
_next_look = 0.0


def register_check(name: str, check: Check) -> None:
    _checks[name] = check


def register_sweep(name: str, sweep: Sweep, count: Sweep | None = None) -> None:
    """Register a removal that several processes may run at once, and what counts before."""
    _sweeps[name] = sweep
    if count:
        _counts[name] = count


def removable() -> Iterator[tuple[str, int]]:
    """Yield what the sweeps with a count would remove."""
    for name, count in _counts.items():
        yield name, count()


def findings(share: str = "") -> Iterator[Finding]:
    """Yield the findings of all checks; a fault that stops some of them is one, too."""
    stopped: dict[str, list[str]] = {}
    for name, check in _checks.items():
        results: list[Finding] = []
        error = caught(partial(_collect, check, share, results))
        yield from results
        if error:
            stopped.setdefault(" ".join(str(error).split()), []).append(name)
    for fault, names in stopped.items():
        cure = "Check that database and storage are available and have room, then run manage.py doctor again."
        yield Finding("check_failed", f"The check of {', '.join(names)} failed: {fault}", cure)


def _collect(check: Check, share: str, results: list[Finding]) -> None:
    results.extend(check(share))


def sweep() -> dict[str, int]:
    """Run every sweep; return how many things each removed."""
    removed: dict[str, int] = {}

    def run(name: str, task: Sweep) -> None:
        removed[name] = task()

    for name, task in _sweeps.items():
        error = caught(partial(run, name, task))
        if error:
            log.error("The sweep of %s failed", name, exc_info=error)
    return removed


def refresh_statistics() -> None:
    """Let SQLite count its indexes for its query plans; PostgreSQL does so by itself.

    A sample of them (`analysis_limit`) misjudges a large project among small ones. Each index has its own
    transaction, as writers wait meanwhile: up to 4 s with 5,000,000 votes.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")
            for (name,) in cursor.fetchall():
                cursor.execute(f"ANALYZE {connection.ops.quote_name(name)}")


def share_of(subject: int) -> str:
    """Return the share that an upkeep job checks, one after the other."""
    return SHARES[subject % len(SHARES)]


def queue_when_due() -> None:
    """Queue the upkeep job if none ran for UPKEEP_SECONDS (0: never)."""
    global _next_look
    if not settings.UPKEEP_SECONDS or time.monotonic() < _next_look:
        return
    _next_look = time.monotonic() + LOOK_EVERY_SECONDS
    since = Now() - timedelta(seconds=settings.UPKEEP_SECONDS)
    jobs = Job.objects.filter(kind=KIND)
    if not (jobs.exclude(state__in=Job.ENDED).exists() or jobs.filter(created_at__gt=since).exists()):
        last = jobs.order_by("-pk").values_list("subject", flat=True).first()
        enqueue(KIND, 0 if last is None else (last + 1) % len(SHARES), lane=KIND)


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


def check_connections(share: str) -> Iterator[Finding]:
    """Report a PostgreSQL that has fewer connections than the processes may take."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int,"
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"
        )
        limit, used = cursor.fetchone()
    workers = Worker.objects.filter(heard_at__gte=Now() - LATE).values("name").distinct().count()
    needed = WEB_PROCESSES * settings.WEB_THREADS + CONNECTIONS_OF_A_WORKER * workers
    if max(needed, used) > limit:
        detail = (
            f"PostgreSQL has {limit} connections; {used} are in use, and {workers} worker processes and a "
            f"web server of {WEB_PROCESSES} × {settings.WEB_THREADS} threads may need {needed}."
        )
        cure = "Raise max_connections, put a pooler in front, or lower --concurrency or WEB_THREADS."
        yield Finding("few_connections", detail, cure)


def check_free_space(share: str) -> Iterator[Finding]:
    """Report a disk with little room, as /readyz does."""
    free, least = free_bytes(), settings.FREE_BYTES_LEAST
    if free < least:
        cure = "Use a larger disk, or make room: manage.py doctor --show counts what --sweep would remove."
        yield Finding("low_space", f"{free:,} bytes are free for data or files, of at least {least:,}.", cure)
