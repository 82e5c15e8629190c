"""Requests that broke off: half a body is no body, however well its half reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase


class WholeBodies:
    """Whoever reads a body that ends before its stated length gets an error instead of its beginning.

    Without this a client that is stopped half-way hands in half a file, and where silence is an answer
    (scores, label sets) half a file fits.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or ""
        stream = getattr(request, "_stream", None)
        if stream is not None and length.isdecimal():
            request._stream = Whole(stream, int(length))  # type: ignore[assignment]
        return self.get_response(request)


class Whole:
    """Django's own stream of a body, which ends in silence when the connection does."""

    def __init__(self, stream: Any, length: int) -> None:
        self.stream, self.left = stream, length

    def read(self, *size: int) -> bytes:
        return self._counted(self.stream.read(*size), wanted=size != (0,))

    def readline(self, *size: int) -> bytes:
        return self._counted(self.stream.readline(*size), wanted=size != (0,))

    def close(self) -> None:
        self.stream.close()

    def _counted(self, piece: bytes, *, wanted: bool) -> bytes:
        self.left -= len(piece)
        if not piece and wanted and self.left > 0:
            raise OSError(f"The body ended {self.left:,} bytes early.")
        return piece
