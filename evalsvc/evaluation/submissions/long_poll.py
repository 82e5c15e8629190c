"""Following a submission: an answer that waits for a change, in a few threads at most."""

from __future__ import annotations

import time
from threading import BoundedSemaphore

from django.conf import settings

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.models import Submission

ASK_AGAIN_SECONDS = 2
LOOK_EVERY_SECONDS = 0.2


def seats(threads: int) -> int:
    """Whoever waits holds a thread that others may need: a quarter of a process's threads, and no more."""
    return threads // 4


_seats = BoundedSemaphore(seats(settings.WEB_THREADS))


def seconds_of(text: str) -> int:
    """How long a client wants to wait."""
    most = settings.WAIT_MAX_SECONDS
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise DomainError("bad_wait", f"wait is {text[:20]!r}, expected whole seconds.", field="wait")
    return min(int(text), most)


def wait_for_change(submission: Submission, seconds: int) -> bool:
    """Wait until its state or attempt is another than given; False at once when every seat is taken."""
    if not _seats.acquire(blocking=False):
        return False
    try:
        until = time.monotonic() + seconds
        attempt = submission.job.attempt if submission.job else None
        before = (submission.state, submission.job_id, attempt)
        while time.monotonic() < until and _look(submission.pk) == before:
            time.sleep(LOOK_EVERY_SECONDS)
    finally:
        _seats.release()
    return True


def _look(pk: int) -> tuple[object, ...] | None:
    return Submission.objects.filter(pk=pk).values_list("state", "job_id", "job__attempt").first()
