"""A request by somebody to some route, undone afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.cast import Cast
from tests.permissions.sending import ADDRESSES, body

PEOPLE = {
    "anon": "",
    "stra": "sam",
    "view": "vera",
    "anno": "ann",
    "adju": "judy",
    "cura": "cleo",
    "else": "otto",
    "memb": "mia",
    "ownr": "kim",
    "rivl": "lars",
    "orga": "olga",
    "root": "root",
}
# A page knows no tokens: whoever comes with one is a visitor.
TOKENS = {
    "tok": "full",
    "read": "read",
    "subm": "submit",
    "full": "full",
    "expd": "expired",
    "revk": "revoked",
}
WRITES = ("INSERT", "UPDATE", "DELETE")
# A token's last use is noted whatever is asked, and who logs out or tries to has a session to end.
NOTED = ("teams_apitoken", "django_session")


def routes(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Each route of the service as (name, pattern)."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry.url_patterns, prefix + str(entry.pattern))
        else:
            yield str(entry.name), entry


def is_api(name: str) -> bool:
    return name.startswith("api-") and name != "api-docs"


def endpoints() -> dict[str, str]:
    """Each route of the API by its name, as documents and the API's description write it."""
    names = {name: str(pattern.pattern) for name, pattern in routes() if is_api(name)}
    return {name: "/api/v1/" + re.sub(r"<\w+:(\w+)>", _named, text) for name, text in names.items()}


def _named(found: re.Match[str]) -> str:
    return "{id}" if found[1] == "pk" else f"{{{found[1]}}}"


@dataclass
class Answer:
    """What came back, read to its end, and the writes it took."""

    response: Any
    content: str
    writes: list[str]

    @property
    def outcome(self) -> str:
        """The status; the login page and any other page somebody is sent to are told apart."""
        target = self.response.headers.get("Location", "")
        return "login" if target.startswith("/login/?next=") else str(self.response.status_code)


@dataclass
class Door:
    """Everybody of the cast, each with a browser or a terminal of their own."""

    cast: Cast
    clients: dict[str, Client] = field(default_factory=dict)

    def client(self, who: str) -> Client:
        if who not in self.clients:
            made = self.clients[who] = Client()
            if who in TOKENS:
                made.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.cast.secrets[TOKENS[who]]}"
            elif PEOPLE[who]:
                made.force_login(self.cast[PEOPLE[who]])
        return self.clients[who]

    def address(self, row: str) -> str:
        """The address of a row: a route's name, after a colon which of several things stands there."""
        told = ADDRESSES[row](self.cast) if row in ADDRESSES else {}
        return reverse(row.partition(":")[0], kwargs=told)

    def ask(self, row: str, method: str, who: str) -> Answer:
        """Ask for a row's address, with a body that fits when there is one to send."""
        sent = body(row, self.cast) if method == "POST" else {}
        return self.fetch(self.address(row), method, who, **sent)

    def fetch(self, address: str, method: str, who: str, **sent: Any) -> Answer:
        client = self.client(who)
        cookies = client.cookies.copy()
        writes: list[str] = []
        with undone(), connection.execute_wrapper(noting(writes)):
            response = getattr(client, method.lower())(address, **sent)
            content = read(response)
        client.cookies = cookies
        return Answer(response, content, writes)


def noting(writes: list[str]) -> Callable[..., Any]:
    """A wrapper around every statement that keeps those that write."""

    def execute(run: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if is_write(sql):
            writes.append(sql)
        return run(sql, *rest)

    return execute


def is_write(sql: str) -> bool:
    return sql.startswith(WRITES) and not any(table in sql for table in NOTED)


def read(response: HttpResponseBase) -> str:
    """The body and the headers: a leak may hide in either."""
    whole = b"".join(response.streaming_content) if response.streaming else response.content
    headers = "\n".join(f"{name}: {value}" for name, value in response.items())
    return f"{headers}\n\n{whole.decode(errors='replace')}"


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens in here did not happen."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
