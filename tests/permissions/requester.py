"""Requests to any route by any person or token of the cast, each rolled back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db import connection, transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.cast.service import ServiceCast
from tests.permissions.targets import ADDRESSES, QUERIES, request_body

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
# Pages ignore tokens: a request with a token and no session is a visitor's.
TOKENS = {
    "tok": "full",
    "read": "read",
    "subm": "submit",
    "full": "full",
    "expd": "expired",
    "revk": "revoked",
    "team": "team",
}
WRITES = ("INSERT", "UPDATE", "DELETE")
# Any request records its token's last use, and logging out ends a session.
IGNORED_TABLES = ("teams_apitoken", "django_session")


def routes(patterns: list[Any] | None = None, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every route of the service as (name, pattern); names of records begin with `admin-`."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry.url_patterns, f"{entry.namespace}-" if entry.namespace else space)
        else:
            yield space + str(entry.name), entry


def view_name(row: str) -> str:
    """The name of a row's route, as Django has it."""
    return re.sub("^admin-", "admin:", row.partition(":")[0])


def is_api(name: str) -> bool:
    return name.startswith("api-") and name != "api-docs"


def endpoints() -> dict[str, str]:
    """Route name → path of each API endpoint, spelt as in the docs and in OpenAPI."""
    names = {name: str(pattern.pattern) for name, pattern in routes() if is_api(name)}
    return {name: "/api/v1/" + re.sub(r"<\w+:(\w+)>", _parameter, text) for name, text in names.items()}


def _parameter(match: re.Match[str]) -> str:
    return "{id}" if match[1] == "pk" else f"{{{match[1]}}}"


@dataclass
class Reply:
    """A response with its headers and body as text, and the SQL writes it took."""

    response: Any
    content: str
    writes: list[str]

    @property
    def outcome(self) -> str:
        """The status, or `login` for a redirect to the login page."""
        target = self.response.headers.get("Location", "")
        return "login" if target.startswith("/login/?next=") else str(self.response.status_code)


@dataclass
class Requester:
    """A test client for every person and token of the cast."""

    cast: ServiceCast
    clients: dict[str, Client] = field(default_factory=dict)

    def client(self, who: str) -> Client:
        if who not in self.clients:
            client = self.clients[who] = Client()
            if who in TOKENS:
                client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.cast.secrets[TOKENS[who]]}"
            elif PEOPLE[who]:
                client.force_login(self.cast[PEOPLE[who]])
        return self.clients[who]

    def address(self, row: str) -> str:
        """The address of a table row: a route name, and after a colon one of several objects."""
        arguments = ADDRESSES[row](self.cast) if row in ADDRESSES else {}
        return reverse(view_name(row), kwargs=arguments)

    def address_with_query(self, row: str) -> str:
        """The address of a table row, with the query that it needs."""
        query = QUERIES[row](self.cast) if row in QUERIES else {}
        return self.address(row) + (f"?{urlencode(query, doseq=True)}" if query else "")

    def request(self, row: str, method: str, who: str) -> Reply:
        """Request a table row; a POST carries a valid body."""
        body = request_body(row, self.cast) if method == "POST" else {}
        return self.send(self.address_with_query(row), method, who, **body)

    def send(self, address: str, method: str, who: str, **body: Any) -> Reply:
        client = self.client(who)
        cookies = client.cookies.copy()
        writes: list[str] = []
        with rolled_back(), connection.execute_wrapper(recorder(writes)):
            response = getattr(client, method.lower())(address, **body)
            content = headers_and_body(response)
        client.cookies = cookies
        return Reply(response, content, writes)


def recorder(writes: list[str]) -> Callable[..., Any]:
    """A wrapper around SQL execution that records the writes."""

    def execute(run: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(WRITES) and not any(table in sql for table in IGNORED_TABLES):
            writes.append(sql)
        return run(sql, *rest)

    return execute


def headers_and_body(response: HttpResponseBase) -> str:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    headers = "\n".join(f"{name}: {value}" for name, value in response.items())
    return f"{headers}\n\n{body.decode(errors='replace')}"


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
