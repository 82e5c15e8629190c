"""The lease of a running job: renewal, progress, release when expired."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import TracebackType

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evalsvc.core import log_context
from evalsvc.core.jobs.exceptions import Cancelled, LeaseLost, TurnOver, caught
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.processes import is_alive
from evalsvc.core.jobs.queue import is_turn_of_others, lease_end, wake_worker
from evalsvc.core.jobs.transitions import (
    CRASHES_ALLOWED,
    cancel,
    change_state,
    events_since_restart,
    fail,
    log_ids,
)

log = logging.getLogger(__name__)
EXPIRED = Q(state=Job.State.RUNNING, lease_until__lt=Now())
_present: ContextVar[Lease | None] = ContextVar("lease", default=None)


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
        self._before = _present.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _present.reset(self._before)
        self._stop.set()
        self._thread.join()

    @property
    def _owned(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job.pk, state=Job.State.RUNNING, attempt=self.job.attempt)

    def lock(self) -> None:
        """Lock the row for the transaction; raise if it has another owner."""
        self.lost = self.lost or not self._owned.select_for_update(no_key=True).exists()
        self.check()

    def _renew(self) -> None:
        try:
            while not self._stop.wait(settings.JOB_HEARTBEAT_SECONDS):
                try:
                    self.write(lease_until=lease_end())
                except (DatabaseError, MemoryError) as error:
                    # the next try may succeed; if none does, the lease runs out
                    log.warning("The lease of job %s was not renewed: %r", self.job.pk, error)
                    connection.close()
        finally:
            connection.close()

    def write(self, **fields: object) -> None:
        """Update the row, and notice a lost lease or a cancellation."""
        self.lost = self.lost or not self._owned.update(**fields)
        self.cancel_asked = self.cancel_asked or self._owned.filter(cancel_asked=True).exists()

    def check(self) -> None:
        """Raise when there is no point in working on."""
        if self.lost:
            raise LeaseLost(f"Job {self.job.pk} was given to another attempt.")
        if self.cancel_asked:
            raise Cancelled


@contextmanager
def fenced() -> Iterator[None]:
    """A transaction that only the owner of the running job can commit.

    For what a job writes before its end: a process that was stopped for longer than its lease would otherwise
    change the rows of the next attempt. Outside jobs it is an ordinary transaction.
    """
    with transaction.atomic():
        if lease := _present.get():
            lease.lock()
        yield


class Progress:
    """Progress reports of a handler, written at most twice a second."""

    EVERY_SECONDS = 0.5
    TURN_SECONDS = 10

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._next_write = 0.0
        self._turn_ends = time.monotonic() + self.TURN_SECONDS

    def __call__(self, done: int, total: int, step: str = "") -> None:
        if time.monotonic() >= self._next_write:
            self._lease.write(done=done, total=total, step=step[:120])
            self._next_write = time.monotonic() + self.EVERY_SECONDS
        self._lease.check()

    def end_turn(self) -> None:
        """Raise if the job has run for TURN_SECONDS, and it is the turn of another."""
        if time.monotonic() >= self._turn_ends and is_turn_of_others(self._lease.job):
            raise TurnOver


def reconcile() -> int:
    """Release every job whose lease ran out; return their number."""
    released = 0
    for pk in Job.objects.filter(EXPIRED).values_list("pk", flat=True)[:200]:
        error = caught(partial(release, pk))
        if error and not isinstance(error, LeaseLost):
            log.error("Job %s could not be released", pk, exc_info=error)
        released += error is None
    return released


def release(pk: int) -> Job:
    """Queue a job again, unless cancelled or crashed too often.

    Losses count once the process is gone: a living one may only have been without the database.
    """
    with transaction.atomic():
        jobs = Job.objects.filter(EXPIRED, pk=pk)
        if connection.features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True)  # a locked row is just being ended
        job = jobs.first()
        if job is None:
            raise LeaseLost(f"Job {pk} was already released or ended.")
        if job.cancel_asked:
            return cancel(job)
        lost = events_since_restart(job).filter(what="lost").values_list("detail", flat=True)
        crashes = sum(not is_alive(worker) for worker in (*lost, job.worker))
        if crashes >= CRASHES_ALLOWED:
            reached = f", the last time after {job.done:,} of {job.total:,} steps" if job.total else ""
            reason = (
                f"The worker process ended {crashes} times during this job{reached}. If it reads a file, "
                "the file may be damaged: send it once more, or in another format. Else restart the job; "
                "if it fails again, ask an administrator to read the worker's log."
            )
            return fail(job, code="worker_lost", reason=reason)
        with log_context.bound(**log_ids(job)):
            log.warning("Job %s: its lease ran out in attempt %s, so it is queued again", pk, job.attempt)
        return _queue_again(job, event="lost", detail=job.worker, only=EXPIRED)


def hand_back(job: Job, *, event: str = "returned") -> Job:
    """Queue the job of a stopping process, or one whose turn is over, again; not counted as crash."""
    with transaction.atomic():
        if Job.objects.filter(pk=job.pk, cancel_asked=True).exists():
            return cancel(job)
        return _queue_again(job, event=event)


def _queue_again(job: Job, *, event: str, detail: str = "", only: Q | None = None) -> Job:
    transaction.on_commit(lambda: wake_worker(job.queue))
    return change_state(job, Job.State.QUEUED, event=event, detail=detail, only=only, lease_until=None)
