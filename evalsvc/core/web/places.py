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
_alone = BoundedSemaphore(1)
_waiting = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))


@contextmanager
def reading(*, alone: bool = False) -> Iterator[None]:
    """Read a file while at most half of the threads do, so that pages stay available; else answer 429.

    Another quarter of the threads may wait for a place. Of all `alone`, one reads and none waits.
    """
    if alone and not _alone.acquire(blocking=False):
        raise _rejection()
    try:
        if not (_reading.acquire(blocking=False) or (not alone and _waited_for_place())):
            raise _rejection()
        try:
            yield
        finally:
            _reading.release()
    finally:
        if alone:
            _alone.release()


def _rejection() -> QuotaExceeded:
    hint = f"Send it again in {RETRY_SECONDS} s."
    detail = "Other files are being read."
    return QuotaExceeded("too_many_checks", detail, retry_after=RETRY_SECONDS, hint=hint)


def _waited_for_place() -> bool:
    if not _waiting.acquire(blocking=False):
        return False
    try:
        return _reading.acquire(timeout=READ_WAIT_SECONDS)
    finally:
        _waiting.release()
