"""Long polling of a submission, in few threads."""

from __future__ import annotations

import time

from django.conf import settings

from evalsvc.core.errors.exceptions import DomainError, QuotaExceeded
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web import places
from evalsvc.evaluation.models import Submission

RETRY_SECONDS = 2
POLL_SECONDS = 0.2


def seconds_of(text: str) -> int:
    """Return the seconds of `?wait=`, at most the service's limit."""
    most = settings.WAIT_MAX_SECONDS
    seconds = whole_number_of(text, digits=5)
    if seconds is None:
        raise DomainError("bad_wait", f"wait is {text[:20]!r}. Use a whole number of seconds.", field="wait")
    return min(seconds, most)


def wait_for_change(submission: Submission, seconds: int) -> bool:
    """Wait until state or attempt changes.

    Return False at once without a place, or when others want its thread.
    """
    until = time.monotonic() + seconds
    attempt = submission.job.attempt if submission.job else None
    before = (submission.state, submission.job_id, attempt)
    try:
        with places.polls.taken():
            while time.monotonic() < until and _state(submission.pk) == before:
                if places.polls.is_wanted():
                    return False
                time.sleep(POLL_SECONDS)
    except QuotaExceeded:
        return False
    return True


def _state(pk: int) -> tuple[object, ...] | None:
    return Submission.objects.filter(pk=pk).values_list("state", "job_id", "job__attempt").first()
