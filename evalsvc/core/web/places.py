"""Places for requests that read a file: half of the threads, so that pages stay available."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.conf import settings

from evalsvc.core.errors.exceptions import QuotaExceeded

RETRY_SECONDS = 5
READ_WAIT_SECONDS = 5
_reading = BoundedSemaphore(max(1, settings.WEB_THREADS // 2))
_waiting = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))


@contextmanager
def reading() -> Iterator[None]:
    """Read a file while at most half of the threads do, so that pages stay available; else answer 429.

    Another quarter of the threads may wait for a place.
    """
    if not (_reading.acquire(blocking=False) or _waited_for_place()):
        hint = f"Send it again in {RETRY_SECONDS} s."
        detail = "Other files are being read."
        raise QuotaExceeded("too_many_checks", detail, retry_after=RETRY_SECONDS, hint=hint)
    try:
        yield
    finally:
        _reading.release()


def _waited_for_place() -> bool:
    if not _waiting.acquire(blocking=False):
        return False
    try:
        return _reading.acquire(timeout=READ_WAIT_SECONDS)
    finally:
        _waiting.release()
