"""Downloads of charts and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from io import SEEK_END
from itertools import chain
from typing import IO, Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from evalsvc.core.formats.csv_lines import csv_line, without_formulas
from evalsvc.core.web.svg import literal

BLOCK_BYTES = 1 << 16
STORED_NOWHERE = {"Cache-Control": "private, no-store"}  # gold, votes and inputs


def stored_nowhere(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Keep what a view answers out of all caches, that of the browser too."""

    @wraps(view)
    def stored(*args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(*args, **kwargs)
        response.headers["Cache-Control"] = STORED_NOWHERE["Cache-Control"]
        return response

    return stored


def svg_file(drawn: str, name: str) -> HttpResponse:
    """Chart with literal colours."""
    if not drawn:
        return HttpResponse(
            "There is no data to draw yet.", status=404, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse(literal(drawn), content_type="image/svg+xml; charset=utf-8", headers=_attached(name))


def csv_file(name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Table as CSV, safe to open in a spreadsheet."""
    lines = b"".join(_csv_lines(heads, rows))
    return HttpResponse(lines, content_type="text/csv; charset=utf-8", headers=_attached(name))


def long_csv_file(name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """Stream a table of answers or sentences as CSV, stored by no cache."""
    lines = _csv_lines(heads, rows)
    return StreamingHttpResponse(
        lines, content_type="text/csv; charset=utf-8", headers=_attached(name) | STORED_NOWHERE
    )


def _csv_lines(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    for row in chain([heads], rows):
        yield csv_line([without_formulas(value) for value in row])


def text_file(name: str, text: str, content_type: str = "text/plain") -> HttpResponse:
    """Text as a file."""
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=_attached(name))


def jsonl_file(name: str, lines: Iterable[bytes], **headers: str) -> StreamingHttpResponse:
    """Stream JSON lines as a file."""
    return StreamingHttpResponse(
        lines, content_type="application/x-ndjson", headers=_attached(name) | STORED_NOWHERE | headers
    )


def zip_file(name: str, parts: Iterable[bytes]) -> StreamingHttpResponse:
    """Stream a zip as a file, stored by no cache."""
    return StreamingHttpResponse(
        parts, content_type="application/zip", headers=_attached(name) | STORED_NOWHERE
    )


def parts_file(name: str, parts: Iterable[bytes]) -> StreamingHttpResponse:
    """Stream a file of any kind, stored by no cache."""
    return StreamingHttpResponse(
        parts, content_type="application/octet-stream", headers=_attached(name) | STORED_NOWHERE
    )


def stored_nowhere_file(file: IO[bytes], name: str) -> StreamingHttpResponse:
    """Stream a file that was made for this response, and close it at its end or with the response."""
    size = file.seek(0, SEEK_END)
    file.seek(0)
    headers = STORED_NOWHERE | _attached(name) | {"Content-Length": str(size)}
    return StreamingHttpResponse(_Blocks(file), content_type="application/octet-stream", headers=headers)


class _Blocks:
    """Blocks of a file, which is closed after the last: some servers of tests never close a response."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def __iter__(self) -> Iterator[bytes]:
        with self.file:
            while block := self.file.read(BLOCK_BYTES):
                yield block

    def close(self) -> None:
        self.file.close()


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
