"""One crawl per person: every route by GET and POST, then every link in the replies."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlsplit

from tests.permissions.requester import Reply, Requester
from tests.permissions.table import EXPECTED

LINK = re.compile(r'(?:href|src|action|hx-get)="([^"#]+)|"(?:status_url|next)":\s?"([^"#]+)')


class Crawler:
    """Crawls by person, each made once per module."""

    def __init__(self, requester: Requester) -> None:
        self.requester = requester
        self.logged: list[str] = []
        self._crawls: dict[str, dict[str, Reply]] = {}

    def crawl(self, who: str) -> dict[str, Reply]:
        """Everything this person can reach, by method and route name or address."""
        if who not in self._crawls:
            self._crawls[who] = self.crawl_again(who)
        return self._crawls[who]

    def crawl_again(self, who: str) -> dict[str, Reply]:
        root, handler = logging.getLogger(), _Collector(self.logged)
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            return dict(self._replies(who))
        finally:
            root.setLevel(level)
            root.removeHandler(handler)

    def _replies(self, who: str) -> Iterator[tuple[str, Reply]]:
        waiting: list[str] = []
        for row, method in EXPECTED:
            reply = self.requester.request(row, method, who)
            yield f"{method} {row}", reply
            waiting += links(reply)
        visited = {self.requester.address(row) for row, method in EXPECTED if method == "GET"}
        while waiting:
            address = waiting.pop()
            if address not in visited:
                visited.add(address)
                reply = self.requester.send(address, "GET", who)
                yield f"GET {address}", reply
                waiting += links(reply)


class _Collector(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def links(reply: Reply) -> Iterator[str]:
    """The addresses of this service that a reply links to."""
    for match in LINK.finditer(reply.content):
        parts = urlsplit(unescape(match[1] or match[2]))
        if parts.netloc in ("", "testserver") and not parts.path.startswith("/static/"):
            yield parts._replace(scheme="", netloc="").geturl()
