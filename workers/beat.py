"""`celery -A workers.beat beat`: ticks for the queues, from a process without models.

A tick runs what a lost message, an expired lease or a retry left waiting.
"""

import logging.config
import os
import time
from typing import Any

from celery import Celery
from celery.beat import PersistentScheduler
from django.apps import apps
from django.conf import settings
from django.db import Error, close_old_connections, connection

JOBS = "SELECT 1 FROM jobs_job WHERE queue IN ({}) AND state IN ('queued', 'running') LIMIT 1"


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


def has_jobs() -> bool:
    """Return True if a job of any queue waits or runs."""
    with connection.cursor() as cursor:
        cursor.execute(JOBS.format(", ".join(["%s"] * len(settings.JOB_QUEUES))), settings.JOB_QUEUES)
        return cursor.fetchone() is not None


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
if not apps.ready:  # with `-A workers` all of this is done
    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)
    apps.populate(())
# Without Celery's support of Django, which loads all apps. Beat sends the task by its name.
app = Celery("evalsvc", set_as_current=False, fixups=())
app.config_from_object("django.conf:settings", namespace="CELERY")
