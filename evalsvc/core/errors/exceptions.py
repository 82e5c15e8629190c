"""What a verb raises when it will not do what was asked: a code, a sentence, and how to mend it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar


class DomainError(Exception):
    """A request that cannot be met as it stands; nothing was changed."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "The request can't be met as it stands"

    def __init__(self, code: str, detail: str, *, hint: str = "", field: str = "") -> None:
        super().__init__(detail)
        self.code, self.detail, self.hint, self.field = code, detail, hint, field
        self.extra: dict[str, Any] = {}


class Conflict(DomainError):
    """The thing has moved on: frozen, closed, decided, or answered elsewhere."""

    status = 409
    title = "It has changed meanwhile"


class NotAllowed(DomainError):
    """The person is known, and this is not theirs to do."""

    status = 403
    title = "Your role doesn't allow this"


class TooLarge(DomainError):
    """More bytes, lines or items than the stated limit."""

    status = 413
    title = "Larger than the limit"

    def __init__(self, code: str, detail: str, *, hint: str = "", field: str = "", limit: int = 0) -> None:
        super().__init__(code, detail, hint=hint, field=field)
        self.extra = {"limit": limit}


class QuotaExceeded(DomainError):
    """The team's quota is used up; `retry_after` says in how many seconds the next one is allowed."""

    status = 429
    title = "The quota is used up"

    def __init__(
        self, code: str, detail: str, *, retry_after: int, hint: str = "", next_at: datetime | None = None
    ) -> None:
        super().__init__(code, detail, hint=hint)
        self.retry_after = retry_after
        self.extra = {"next_allowed_at": next_at.isoformat() if next_at else None}
