"""Downloads of charts and tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import chain

from django.http import HttpResponse, StreamingHttpResponse

from evalsvc.core.web.svg import literal

# Wide forms too: some spreadsheets read them like the narrow ones.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def svg_file(drawn: str, name: str) -> HttpResponse:
    """Chart with literal colours."""
    if not drawn:
        return HttpResponse(
            "There is no data to draw yet.", status=404, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse(literal(drawn), content_type="image/svg+xml", headers=_attached(name))


def csv_file(name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Table as CSV, safe to open in a spreadsheet."""
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=_attached(name))
    lines = csv.writer(response)
    # an apostrophe before text that a spreadsheet would execute as a formula
    lines.writerows(
        [f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value for value in row]
        for row in chain([heads], rows)
    )
    return response


def text_file(name: str, text: str, content_type: str = "text/plain") -> HttpResponse:
    """Text as a file."""
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=_attached(name))


def jsonl_file(name: str, lines: Iterable[bytes], **headers: str) -> StreamingHttpResponse:
    """Stream JSON lines as a file."""
    kept_nowhere = {"Cache-Control": "private, no-store"}  # gold, votes and inputs
    return StreamingHttpResponse(
        lines, content_type="application/x-ndjson", headers=_attached(name) | kept_nowhere | headers
    )


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
