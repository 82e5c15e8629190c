"""Everything that somebody can reach: every route by both methods, and whatever the answers link to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlsplit

from tests.permissions.asking import Answer, Door
from tests.permissions.table import EXPECTED

FETCHED = re.compile(r'(?:href|src|action|hx-get)="([^"#]+)|"(?:status_url|next)":\s?"([^"#]+)')


def links(answer: Answer) -> Iterator[str]:
    """Addresses of this service that the answer names."""
    for found in FETCHED.finditer(answer.content):
        parts = urlsplit(unescape(found[1] or found[2]))
        if parts.netloc in ("", "testserver") and not parts.path.startswith("/static/"):
            yield parts._replace(scheme="", netloc="").geturl()


def crawled(door: Door, who: str) -> Iterator[tuple[str, Answer]]:
    """Every row of the table with both methods, then whatever those answers link to, and on."""
    waiting: list[str] = []
    for row, method in EXPECTED:
        answer = door.ask(row, method, who)
        yield f"{method} {row}", answer
        waiting += links(answer)
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address not in seen:
            seen.add(address)
            answer = door.fetch(address, "GET", who)
            yield f"GET {address}", answer
            waiting += links(answer)
