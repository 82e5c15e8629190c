"""Limit on the bytes that a person's files take in a day as they are stored, whatever becomes of them.

A packed file is stored unpacked, at up to a thousand times its size, and open phases have no default quota. A
file that is rejected takes as long to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.evaluation.models import StoredBytes


@dataclass(slots=True)
class Meter:
    """Bytes of a file that were read, at most those that are left."""

    left: int
    read: int = 0

    def add(self, size: int) -> None:
        self.read += size
        if self.read > self.left:
            raise _exceeded()


@contextmanager
def metered(by: User) -> Iterator[Meter]:
    """Count the bytes of a file that a person sends, or reject it where none are left."""
    taken = StoredBytes.objects.filter(by=by, day=_today()).values_list("size", flat=True).first() or 0
    meter = Meter(settings.UPLOAD_DAY_BYTES - taken)
    if meter.left <= 0:
        raise _exceeded()
    try:
        yield meter
    finally:
        add(by, meter.read)


def add(by: User, size: int) -> None:
    """Count the bytes of a file, such as the predictions of a model."""
    own = StoredBytes.objects.filter(by=by)
    today = own.filter(day=_today())
    if not today.update(size=F("size") + size):
        own.filter(day__lt=_today()).delete()
        StoredBytes.objects.get_or_create(by=by, day=_today())
        today.update(size=F("size") + size)


def _today() -> date:
    return timezone.now().astimezone(UTC).date()


def _exceeded() -> QuotaExceeded:
    next_at = datetime.combine(_today() + timedelta(days=1), time.min, UTC)
    most = settings.UPLOAD_DAY_BYTES
    detail = f"The files that you sent today, this one included, have more than {most:,} bytes unpacked."
    hint = "Submit the file again at next_allowed_at."
    wait = int((next_at - timezone.now()).total_seconds()) + 1
    return QuotaExceeded("quota_bytes", detail, retry_after=wait, hint=hint, next_at=next_at)
