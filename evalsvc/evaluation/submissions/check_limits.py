"""Limits on checks without submitting, which cost no quota."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from evalsvc.core.errors.exceptions import QuotaExceeded

WINDOW_SECONDS, RETRY_SECONDS = 3_600, 5


class CheckLimits:
    """Checks of this process.

    One at a time per person, and a number per hour.

    At most half of the threads check, so that pages stay available.
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
