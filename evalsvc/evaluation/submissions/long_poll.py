"""Long polling: responses that wait for a change, in few threads."""

from __future__ import annotations

import time
from threading import BoundedSemaphore

from django.conf import settings

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.models import Submission

RETRY_SECONDS = 2
POLL_SECONDS = 0.2


def slots(threads: int) -> int:
    """Return how many threads may wait: a quarter of the process's threads."""
    return threads // 4


_slots = BoundedSemaphore(slots(settings.WEB_THREADS))


def seconds_of(text: str) -> int:
    """Return the seconds of `?wait=`, at most the service's limit."""
    most = settings.WAIT_MAX_SECONDS
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise DomainError("bad_wait", f"wait is {text[:20]!r}. Use a whole number of seconds.", field="wait")
    return min(int(text), most)


def wait_for_change(submission: Submission, seconds: int) -> bool:
    """Wait until state or attempt changes.

    Return False at once without a free slot.
    """
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
