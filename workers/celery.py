"""The app of `celery -A workers`: its task, clock and start-up steps."""

import gc
import logging
import time
from importlib import import_module
from typing import Any

import django
from celery import bootsteps
from celery.apps import worker
from celery.beat import PersistentScheduler
from django.conf import settings
from django.db import Error, close_old_connections

from evalsvc.celery import app

django.setup()
logging.captureWarnings(True)  # lines of the log, as all others
if settings.LOG_FORMAT == "json":
    worker.safe_say = lambda *_: None  # “Warm shutdown”, written past the log
app.conf.imports = ("workers.runner",)


# Handlers load these when they need them; several processes share one copy.
SHARED = ("scipy.special", "scipy.sparse.csgraph", "spacy")


class Preload(bootsteps.Step):
    """Start-up step that imports all handlers before the pool forks."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        from workers.runner import HANDLER_PATHS

        for path in HANDLER_PATHS.values():
            import_module(path.partition(":")[0])
        if parent.concurrency > 1:
            for library in SHARED:
                import_module(library)
        gc.collect()
        gc.freeze()  # these objects stay: no process scans or copies them


for step in (Preload, "workers.sandbox.readiness:ModelSelfTest", "workers.interruption:HandBack"):
    app.steps["worker"].add(step)


class TickScheduler(PersistentScheduler):
    """Beat's scheduler; without jobs for a minute it sends a tick every IDLE_SECONDS only."""

    IDLE_SECONDS, BUSY_SECONDS = 30, 60

    def __init__(self, *args: Any, **options: Any) -> None:
        self.last_ticks: dict[str, float] = {}
        self.looked_at = 0.0
        self.busy_until = time.monotonic() + self.BUSY_SECONDS  # jobs may have ended shortly before
        super().__init__(*args, **options)

    def adjust(self, n: float, drift: float = 0.01) -> float:
        """Wake after a tick is due; Celery wakes 10 ms before, and asks without a pause until then."""
        return super().adjust(n, drift)

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        queue, now = str(entry.args[0]), time.monotonic()
        last = self.last_ticks.get(queue)
        if last is None or now - last >= self.IDLE_SECONDS or self.is_busy(now):
            self.last_ticks[queue] = now
            super().apply_entry(entry, producer)

    def is_busy(self, now: float) -> bool:
        """Return True if there are jobs or lately were; the database is asked once for all queues."""
        from evalsvc.core.jobs.queue import has_jobs

        if now - self.looked_at >= settings.JOB_RECONCILE_SECONDS / 2:
            self.looked_at = now
            try:
                busy = has_jobs()
            except Error:
                busy = True
            close_old_connections()
            if busy:
                self.busy_until = now + self.BUSY_SECONDS
        return now < self.busy_until


# A tick runs what a lost message, an expired lease or a retry left waiting. A late one is of no use.
app.conf.beat_scheduler = TickScheduler
app.conf.beat_schedule = {
    f"tick {queue}": {
        "task": "workers.run_next",
        "schedule": settings.JOB_RECONCILE_SECONDS,
        "args": (queue,),
        "options": {"queue": queue, "expires": settings.JOB_RECONCILE_SECONDS},
    }
    for queue in settings.JOB_QUEUES
}

__all__ = ["app"]
