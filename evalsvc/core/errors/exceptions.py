"""Domain exceptions with a code, a message and a hint."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar


class DomainError(Exception):
    """A request that cannot be met; nothing was changed."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = ""
    retry_after = 0  # seconds

    def __init__(self, code: str, detail: str, *, hint: str = "", field: str = "") -> None:
        super().__init__(detail)
        self.code, self.detail, self.hint, self.field = code, detail, hint, field
        self.extra: dict[str, Any] = {}


class StorageFault(OSError):
    """The storage is away, or does not hold what was just written."""


# of a full or broken disk, or of a mount that is away
STORAGE_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.ENOTCONN, errno.ENODEV}
)


def is_storage_away(error: BaseException | None) -> bool:
    """Return True for a fault of the disk or store, which no other request would avoid."""
    return isinstance(error, StorageFault) or (isinstance(error, OSError) and error.errno in STORAGE_ERRORS)


class Conflict(DomainError):
    """The object changed: it is frozen, closed, decided, or answered elsewhere."""

    status = 409


class Unknown(DomainError):
    """A name in an address that nothing here has; `known` lists those that exist."""

    status = 404
    title = "Not found"

    def __init__(
        self, code: str, what: str, name: str, *, where: str, known: Iterable[str] = (), hint: str = ""
    ) -> None:
        listed = ", ".join(islice(known, 50))
        super().__init__(
            code,
            f"{where} has no {what} {name[:100]!r}.",
            hint=hint or (f"Known: {listed}." if listed else ""),
        )


class NotAllowed(DomainError):
    """The person is known, but lacks the permission."""

    status = 403


class TooLarge(DomainError):
    """More bytes, lines or items than the limit."""

    status = 413

    def __init__(self, code: str, detail: str, *, hint: str = "", field: str = "", limit: int = 0) -> None:
        super().__init__(code, detail, hint=hint, field=field)
        self.extra = {"limit": limit}


class NotReady(DomainError):
    """A job computes what is asked for; it can be asked for again."""

    status = 503
    title = "Still being computed"
    retry_after = 30


class QuotaExceeded(DomainError):
    """The team's quota is used up for `retry_after` seconds."""

    status = 429
    title = "Quota exceeded"

    def __init__(
        self, code: str, detail: str, *, retry_after: int, hint: str = "", next_at: datetime | None = None
    ) -> None:
        super().__init__(code, detail, hint=hint)
        self.retry_after = retry_after
        self.extra = {"next_allowed_at": next_at.isoformat() if next_at else None}
