"""The lease of a running job, and its handler's report of progress."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType

from django.conf import settings
from django.db import DatabaseError, connection

from evalsvc.core.jobs.claim import lease_end
from evalsvc.core.jobs.exceptions import Cancelled, LeaseLost
from evalsvc.core.jobs.models import Job

log = logging.getLogger(__name__)


class Lease:
    """Renews the lease of a running job in a thread."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.lost = False
        self.cancel_asked = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease-{job.pk}", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _renew(self) -> None:
        try:
            while not self._stop.wait(settings.JOB_HEARTBEAT_SECONDS):
                try:
                    self.write(lease_until=lease_end())
                except DatabaseError as error:  # the next try may succeed; if none does, the lease runs out
                    log.warning("The lease of job %s was not renewed: %s", self.job.pk, error)
                    connection.close()
        finally:
            connection.close()

    def write(self, **fields: object) -> None:
        """Update the row, and notice a lost lease or a cancellation."""
        owned = Job.objects.filter(pk=self.job.pk, state=Job.State.RUNNING, attempt=self.job.attempt)
        self.lost = self.lost or not owned.update(**fields)
        self.cancel_asked = self.cancel_asked or owned.filter(cancel_asked=True).exists()

    def check(self) -> None:
        """Raise when there is no point in working on."""
        if self.lost:
            raise LeaseLost(f"Job {self.job.pk} was given to another attempt.")
        if self.cancel_asked:
            raise Cancelled


class Progress:
    """Progress reports of a handler, written at most twice a second."""

    EVERY_SECONDS = 0.5

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._next_write = 0.0

    def __call__(self, done: int, total: int, step: str = "") -> None:
        if time.monotonic() >= self._next_write:
            self._lease.write(done=done, total=total, step=step[:120])
            self._next_write = time.monotonic() + self.EVERY_SECONDS
        self._lease.check()
