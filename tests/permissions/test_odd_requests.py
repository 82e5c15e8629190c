"""Odd values in every place of a request: addresses, queries, forms and bodies. None ends in a 5xx.

The places are found while the requests run: what a view reads of its query and form, the parameters of its
address, the members of its body. `FULL=1` sends every value to every place of every route; otherwise each
place of every fourth route gets one, which differs from place to place.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.urls import NoReverseMatch, reverse

from tests.permissions.requester import Requester, is_api, routes, view_name
from tests.permissions.table import EXPECTED
from tests.permissions.targets import ADDRESSES, request_body
from tests.places.extent import FULL, one_in

BIG = 2**63
NUMBERS = ["0", "-1", str(2**31), str(BIG), "9" * 40, "9" * 5_000, "1e400", "NaN", "1_0", " 5", "\u0663", "²"]
TEXTS = [
    "",
    "a" * 9_000,
    "\0",
    "%00",
    "\n",
    "\u202e",
    "é\ufffd",
    "'\"<b>",
    "[]",
    "{}",
    "../../etc/passwd",
    "=1+1",
]
CURSORS = [
    base64.b64encode(text.encode()).decode()
    for text in (
        *(
            "p=abc",
            "p=",
            "p=-1",
            "p=1.5",
            f"p={'9' * 30}",
            f"p={'9' * 5_000}",
            "p=\0",
            "p=NaN",
            "p=1e400",
            "p=²",
        ),
        *("o=99999999999999999999", "o=1001", "r=1&p=abc", "p=2026-13-45", "p=\ud7ff", "\0"),
    )
]
DATES = ["2026-02-30", "0000-01-01T00:00", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-14:00"]
ODD = [*NUMBERS, *TEXTS, *CURSORS, *DATES, "!!!", "AAAA", "=", str(uuid4())]
ODD_JSON: list[Any] = [
    *(None, True, -1, BIG, 10**400, 1e308, 0.5, "", "\0", "a" * 9_000, "9" * 5_000, [], {}, [[]], [None]),
    *([{}], {"a": {"b": []}}, ["\0"], [10**40], [True, None, {}], {"": 1}, "\ud800", [1] * 3_000),
]
BODIES = [
    *(b"", b"[]", b"1", b"null", b'"x"', b"\xff\xfe", b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":1e999}'),
    *(b'{"a":' + b"[" * 50_000, b'{"a":' + b"9" * 6_000 + b"}", b'{"\\ud800":1}', b"a=1&b=%ff&c=%00"),
]
KINDS = (
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
)
ROWS = one_in(4, sorted(EXPECTED))
FEW = 1


def chosen(values: list[Any], place: str) -> list[Any]:
    """All values, or one of them, by the place."""
    if FULL:
        return values
    start = zlib.crc32(place.encode())
    return [values[(start + at * 7) % len(values)] for at in range(FEW)]


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Collect the names that views read of their query or form."""
    names: set[str] = set()
    patch = pytest.MonkeyPatch()
    for method in ("__getitem__", "get", "getlist", "__contains__"):
        original = getattr(QueryDict, method)

        def read(self: QueryDict, key: Any, *rest: Any, original: Any = original) -> Any:
            names.add(str(key))
            return original(self, key, *rest)

        patch.setattr(QueryDict, method, read)
    try:
        yield names
    finally:
        patch.undo()


class Sweep:
    """Requests of one table row by the people who get furthest; collects the failures."""

    def __init__(self, requester: Requester, row: str, method: str) -> None:
        self.requester, self.row, self.method = requester, row, method
        cells = EXPECTED[row, method]
        admitted = [who for who in ("root", "orga", "ownr", "anno", "anon") if cells.get(who, "4")[0] in "23"]
        self.who = (admitted or ["root"])[0]
        requester.client(self.who).raise_request_exception = False
        self.address = requester.address(row)
        self.failures: list[str] = []

    def send(self, place: str, address: str, **body: Any) -> None:
        status = self.requester.send(address, self.method, self.who, **body).response.status_code
        if status >= 500 and (self.row, status) != ("ready", 503):  # no worker runs here, and it says so
            self.failures.append(f"{status}: {place}")

    def body(self) -> dict[str, Any]:
        return request_body(self.row, self.requester.cast) if self.method in ("POST", "PATCH") else {}

    def run(self) -> list[str]:
        with recorded() as names:
            self.send("as it is", self.address, **self.body())
        for name in sorted(names):
            for value in chosen(ODD, f"{self.row}?{name}"):
                query = f"{quote(name)}={quote(value)}"
                self.send(f"?{name}={value[:40]!r}", f"{self.address}?{query}", **self.body())
        self.send("?%ff", f"{self.address}?a=%ff&%00=1&page=", **self.body())
        self.parameters()
        if self.method in ("POST", "PATCH"):
            self.fields(names)
            self.raw()
        return self.failures

    def parameters(self) -> None:
        """Replace each parameter of the address."""
        arguments = ADDRESSES[self.row](self.requester.cast) if self.row in ADDRESSES else {}
        for name in arguments:
            mark = 987_654_321 if isinstance(arguments[name], int) else "zz-mark-zz"
            if "-" in str(arguments[name]) and len(str(arguments[name])) == 36:
                mark = "00000000-0000-4000-8000-987654321000"
            try:
                pattern = reverse(view_name(self.row), kwargs=arguments | {name: mark})
            except NoReverseMatch:  # one of a few words
                continue
            for value in chosen([*NUMBERS, *TEXTS], f"{self.row}/{name}"):
                self.send(
                    f"{name} {value[:40]!r}", pattern.replace(str(mark), quote(value, safe="")), **self.body()
                )

    def fields(self, names: set[str]) -> None:
        """Replace each member of the form or the body."""
        body = self.body()
        is_json = body.get("content_type") == "application/json"
        for name in sorted({*body.get("data", {}), *(() if is_json else names)}):
            for value in chosen(ODD_JSON if is_json else ODD, f"{self.row}.{name}"):
                self.send(f"{name}={str(value)[:40]!r}", self.address, **self.with_field(name, value))

    def with_field(self, name: str, value: Any) -> dict[str, Any]:
        body = self.body()
        data = body.get("data", {}) | {name: value}
        return {**body, "data": json.dumps(data) if body.get("content_type") else data}

    def raw(self) -> None:
        for kind in KINDS:
            for content in chosen(BODIES, f"{self.row} {kind}"):
                self.send(f"{kind} {content[:20]!r}", self.address, data=content, content_type=kind)


@pytest.mark.parametrize(("row", "method"), ROWS)
def test_no_odd_request_is_answered_by_an_error_of_the_service(
    requester: Requester, row: str, method: str, settings: Any
) -> None:
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False
    assert Sweep(requester, row, method).run() == []


def test_made_up_headers_are_no_error_of_the_service(requester: Requester) -> None:
    client = requester.client("root")
    client.raise_request_exception = False
    headers = {
        "Authorization": ["Bearer \0", "Bearer " + "a" * 9_000, "Basic !!!", "Token", "Bearer ²"],
        "Cookie": ["sessionid=\0", "csrftoken=" + "a" * 9_000, "messages=[]", "sessionid=" + "9" * 5_000],
        "If-None-Match": ['"', 'W/"', "*", "a" * 9_000],
        "X-Forwarded-For": ["²", "1.2.3", "a" * 9_000, "::ffff:1"],
        "Idempotency-Key": ["\0", "a" * 9_000],
        "Accept": ["*/*;q=²", "text/html;version=" + "a" * 9_000, "\0"],
        "HX-Request": ["true"],
        "HX-Target": ["\0", "#" * 9_000],
    }
    addresses = [requester.address(name) for name, _ in routes() if name in ADDRESSES and is_api(name)][::12]
    for address in [*addresses, "/", "/boards/"]:
        for name, values in headers.items():
            for value in values:
                reply = client.get(address, headers={name: value})
                assert reply.status_code < 500, (address, name, value[:40])
