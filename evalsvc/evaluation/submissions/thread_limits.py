"""Limits on requests that occupy a thread: checks and long polls."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.conf import settings

from evalsvc.core.errors.exceptions import DomainError, QuotaExceeded
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.places import RETRY_SECONDS, busy
from evalsvc.evaluation.models import Submission

POLL_RETRY_SECONDS = 2
POLL_SECONDS = 0.2
WINDOW_SECONDS = 3_600


class CheckLimits:
    """Checks of this process, which cost no quota.

    One at a time per person, and a number per hour. At most half of the threads check, so that pages stay
    available.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.started: defaultdict[int, deque[float]] = defaultdict(deque)

    @contextmanager
    def one(self, person: int) -> Iterator[None]:
        """Occupy a place during a check, or answer 429."""
        with self.lock:
            self._require(person, time.monotonic())
            self.running.add(person)
        try:
            with busy(lambda: self._exceeded("Other files are being checked.", RETRY_SECONDS)):
                yield
        finally:
            with self.lock:
                self.running.discard(person)

    def _require(self, person: int, now: float) -> None:
        for other in [key for key, times in self.started.items() if times[-1] < now - WINDOW_SECONDS]:
            del self.started[other]
        if person in self.running:
            raise self._exceeded("Another file of yours is being checked.", RETRY_SECONDS)
        if len(self.running) >= max(1, settings.WEB_THREADS // 2):
            raise self._exceeded("Other files are being checked.", RETRY_SECONDS)
        times = self.started[person]
        while times and times[0] < now - WINDOW_SECONDS:
            times.popleft()
        most = settings.CHECKS_PER_HOUR
        if len(times) >= most:
            raise self._exceeded(
                f"You checked {most:,} files in an hour.", int(times[0] + WINDOW_SECONDS - now) + 1
            )
        times.append(now)

    @staticmethod
    def _exceeded(detail: str, seconds: int) -> QuotaExceeded:
        hint = f"Try again in {seconds:,} s, or check with the command on your own computer."
        return QuotaExceeded("too_many_checks", detail, retry_after=seconds, hint=hint)


CHECKS = CheckLimits()


def slots(threads: int) -> int:
    """Return how many threads may wait: a quarter of the process's threads."""
    return threads // 4


_slots = BoundedSemaphore(slots(settings.WEB_THREADS))


def seconds_of(text: str) -> int:
    """Return the seconds of `?wait=`, at most the service's limit."""
    most = settings.WAIT_MAX_SECONDS
    seconds = whole_number_of(text, digits=5)
    if seconds is None:
        raise DomainError("bad_wait", f"wait is {text[:20]!r}. Use a whole number of seconds.", field="wait")
    return min(seconds, most)


def wait_for_change(submission: Submission, seconds: int) -> bool:
    """Wait until state or attempt changes.

    Return False at once without a free slot.
    """
    try:
        with busy(TimeoutError):
            return _waited(submission, seconds)
    except TimeoutError:
        return False


def _waited(submission: Submission, seconds: int) -> bool:
    if not _slots.acquire(blocking=False):
        return False
    try:
        until = time.monotonic() + seconds
        attempt = submission.job.attempt if submission.job else None
        before = (submission.state, submission.job_id, attempt)
        while time.monotonic() < until and _state(submission.pk) == before:
            time.sleep(POLL_SECONDS)
    finally:
        _slots.release()
    return True


def _state(pk: int) -> tuple[object, ...] | None:
    return Submission.objects.filter(pk=pk).values_list("state", "job_id", "job__attempt").first()
