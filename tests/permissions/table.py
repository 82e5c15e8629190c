"""The outcomes expected of every route, by method and person.

A row is a route name (after a colon, one of several objects), a method, and a column per person or token:
the status, or `login` for a redirect to the login page. Methods without a row are rejected for everybody.
"""

from __future__ import annotations

from tests.permissions import api, pages

Row = tuple[str, str]


def parsed(text: str, *, prefix: str = "") -> dict[Row, dict[str, str]]:
    heads, *lines = [line.split() for line in text.strip("\n").splitlines()]
    rows = {(prefix + name, method): dict(zip(heads, cells, strict=True)) for name, method, *cells in lines}
    assert len(rows) == len(lines), "Duplicate row."
    return rows


PAGES = parsed(pages.TABLE)
API = parsed(api.TABLE, prefix="api-")
EXPECTED = PAGES | API
