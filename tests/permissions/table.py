"""The table of expected outcomes, read from its two halves.

A row is a route, after a colon which of several things stands there, a method, and what each person gets:
a status, or `login` for being sent there. A method without a row is refused to everybody.
"""

from __future__ import annotations

from tests.permissions import api, pages

Row = tuple[str, str]


def parsed(text: str, *, prefix: str = "") -> dict[Row, dict[str, str]]:
    heads, *lines = [line.split() for line in text.strip("\n").splitlines()]
    rows = {(prefix + name, method): dict(zip(heads, cells, strict=True)) for name, method, *cells in lines}
    assert len(rows) == len(lines), "A row stands twice."
    return rows


PAGES = parsed(pages.TABLE)
API = parsed(api.TABLE, prefix="api-")
EXPECTED = PAGES | API
