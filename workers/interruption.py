"""Stop of a worker: SIGTERM interrupts its jobs, which are queued again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import bootsteps
from celery.worker import state


class Stopped(BaseException):
    """Raised in the running job; handlers must not catch it."""


class Interruption:
    """Raises Stopped where a job can be interrupted; elsewhere waits.

    Between the claim of a job and its start the exception would lose the job.
    """

    def __init__(self) -> None:
        self.asked = self._allowed = False

    def __call__(self, *_: Any) -> None:
        self.asked = True
        if self._allowed:
            self._allowed = False
            raise Stopped

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Let this process live until the block ends, but begin no other."""
        if self.asked:
            os.kill(os.getpid(), signal.SIGTERM)
        before = signal.signal(signal.SIGTERM, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Raise Stopped inside the block, at once after an earlier signal."""
        try:
            self._allowed = True
            if self.asked:
                raise Stopped
            yield
        finally:
            self._allowed = False


interruption = Interruption()


class HandBack(bootsteps.StartStopStep):
    """Step of the worker that interrupts its running jobs when it stops."""

    def close(self, parent: Any) -> None:
        for request in list(state.active_requests):
            if request.worker_pid:
                os.kill(request.worker_pid, signal.SIGTERM)
