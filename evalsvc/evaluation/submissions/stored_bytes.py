"""Limit on the bytes that files of a person take in a day, whatever became of their runs.

A packed file is stored unpacked, at up to a thousand times its size, and open phases have no default quota.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.core.storage import require_room
from evalsvc.evaluation.models import StoredBytes, Submission


def reserve(by: User, *, sha256: str, size: int) -> None:
    """Count a file that is about to be stored, or reject it; one of the person's own runs takes no more."""
    if Submission.objects.filter(Q(file=sha256) | Q(model=sha256), by=by).exists():
        return
    require_room(size)
    if not add(by, size, most=settings.UPLOAD_DAY_BYTES):
        raise _exceeded()


def add(by: User, size: int, *, most: int | None = None) -> bool:
    """Count a file; with `most`, only if the day's files take no more."""
    today = timezone.now().astimezone(UTC).date()
    own = StoredBytes.objects.filter(by=by)
    fitting = own.filter(day=today) if most is None else own.filter(day=today, size__lte=most - size)
    if fitting.update(size=F("size") + size):
        return True
    own.filter(day__lt=today).delete()
    StoredBytes.objects.get_or_create(by=by, day=today)
    return bool(fitting.update(size=F("size") + size))


def _exceeded() -> QuotaExceeded:
    now = timezone.now()
    next_at = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time.min, UTC)
    most = settings.UPLOAD_DAY_BYTES
    detail = f"With this file, the files that you sent today would take more than {most:,} bytes unpacked."
    hint = "Send smaller files, or this one again at next_allowed_at."
    wait = int((next_at - now).total_seconds()) + 1
    return QuotaExceeded("quota_bytes", detail, retry_after=wait, hint=hint, next_at=next_at)
