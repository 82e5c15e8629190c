"""Ids of the request or job at work, for its lines in the log."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

HEADER = "X-Request-ID"
# Lines of the log end with it: no token, and too short for the secret of an invitation or reset link.
USABLE = re.compile(r"(?!.*evs_)[A-Za-z0-9._-]{8,36}")

_ids: ContextVar[dict[str, str]] = ContextVar("log_ids", default={})  # noqa: B039 - replaced, never changed


def current() -> dict[str, str]:
    """Return the ids of what this thread works on."""
    return _ids.get()


def request_id() -> str:
    """Return the id of the request at work, or of the one that queued the job."""
    return current().get("request", "")


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Add ids to every line that is logged meanwhile; empty ones are left out."""
    token = _ids.set(current() | {name: value for name, value in ids.items() if value})
    try:
        yield
    finally:
        _ids.reset(token)


class RequestIdMiddleware:
    """Name each request, or keep the name that a proxy or client gave it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        sent = request.headers.get(HEADER, "")
        name = sent if USABLE.fullmatch(sent) else uuid.uuid4().hex
        request.log_id = name  # type: ignore[attr-defined]
        with bound(request=name):
            response = self.get_response(request)
        response[HEADER] = name
        return response
