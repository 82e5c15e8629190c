"""One crawl per person: rows of the table by GET and POST, then the links in the replies."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from itertools import combinations
from urllib.parse import parse_qs, urljoin, urlsplit

from django.urls import Resolver404, resolve

from tests.permissions.requester import Reply, Requester
from tests.permissions.table import READERS, REQUESTED, Row
from tests.places.extent import FULL

LINK = re.compile(r'(?:href|src|action|hx-get)="([^"#]+)|"(?:status_url|next)":\s?"([^"#]+)')

Names = frozenset[str]


class Crawler:
    """Crawls by person, each made once per module."""

    def __init__(self, requester: Requester) -> None:
        self.requester = requester
        self.logged: list[str] = []
        self._crawls: dict[tuple[str, Names], dict[str, Reply]] = {}

    def crawl(self, who: str, without: Names = frozenset()) -> dict[str, Reply]:
        """Return what this person gets, by method and route name or address."""
        if (who, without) not in self._crawls:
            self._crawls[who, without] = self.crawl_again(who, without)
        return self._crawls[who, without]

    def crawl_again(self, who: str, without: Names = frozenset()) -> dict[str, Reply]:
        """Crawl, without the routes of these names."""
        root, handler = logging.getLogger(), _Collector(self.logged)
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            return dict(self._replies(who, without))
        finally:
            root.setLevel(level)
            root.removeHandler(handler)

    def _replies(self, who: str, without: Names) -> Iterator[tuple[str, Reply]]:
        waiting: list[str] = []
        rows = [row for row in REQUESTED[who] if row[0].partition(":")[0] not in without]
        for row, method in rows:
            reply = self.requester.request(row, method, who)
            yield name_of((row, method)), reply
            waiting += links(reply)
        visited = set().union(
            *(_parts(self.requester.address(row)) for row, method in rows if method == "GET")
        )
        while waiting and (FULL or who in READERS):
            parts = _parts(address := waiting.pop())
            if parts - visited and parts.isdisjoint(without):
                visited |= parts
                reply = self.requester.send(address, "GET", who)
                yield f"GET {address}", reply
                waiting += links(reply)


def name_of(row: Row) -> str:
    return f"{row[1]} {row[0]}"


@cache
def _parts(address: str) -> frozenset[str | tuple[str, ...]]:
    """Return what a crawl visits once: a route with its object, and with each pair of names in the query.

    With `FULL=1` each address is visited.
    """
    parts = urlsplit(address)
    try:
        match = resolve(parts.path)
    except Resolver404:
        return frozenset({address})
    route = match.view_name.replace(":", "-")
    if FULL:
        return frozenset({route, address})
    names = [f"?{name}" for name in sorted(parse_qs(parts.query))]
    marks = [[*map(str, match.kwargs.values())], *([name] for name in names), *combinations(names, 2)]
    return frozenset({route, *((route, *mark) for mark in marks)})


class _Collector(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def links(reply: Reply) -> Iterator[str]:
    """The addresses of this service that a reply links to."""
    page = reply.response.wsgi_request.get_full_path()
    for match in LINK.finditer(reply.content):
        parts = urlsplit(urljoin(page, unescape(match[1] or match[2])))
        if parts.netloc in ("", "testserver") and not parts.path.startswith("/static/"):
            yield parts._replace(scheme="", netloc="").geturl()
