"""Who may do what: every route and method, asked for by everybody, with what they get written down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from tests.cast import Cast
from tests.permissions.asking import Door, is_api, routes
from tests.permissions.sending import ADDRESSES
from tests.permissions.table import API, EXPECTED, PAGES

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REFUSED = ("401", "403", "404", "405", "login")
ROWS = sorted(EXPECTED)
WITHOUT_ROW = sorted({(row, method) for row, _ in ROWS for method in METHODS} - EXPECTED.keys())


@pytest.fixture(scope="module")
def door(django_db_setup: None, django_db_blocker: Any) -> Iterator[Door]:
    """The whole cast, made once; every request is undone, and in the end they are too."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield Door(Cast.assembled())
        transaction.set_rollback(True)


def test_every_route_has_a_row() -> None:
    assert {name for name, _ in routes()} == {name.partition(":")[0] for name, _ in EXPECTED}


def test_every_route_with_something_in_its_address_is_asked_for_a_real_one() -> None:
    told = {name for name, pattern in routes() if pattern.pattern.converters}
    assert told == {row.partition(":")[0] for row in ADDRESSES}
    assert {row for row, _ in EXPECTED} >= set(ADDRESSES)


def test_every_method_of_an_endpoint_has_a_row() -> None:
    views = {name: pattern.callback.view_class for name, pattern in routes() if is_api(name)}  # type: ignore[attr-defined]
    offered = {
        (name, method) for name, view in views.items() for method in METHODS if hasattr(view, method.lower())
    }
    assert offered == {(row.partition(":")[0], method) for row, method in API}


@pytest.mark.parametrize(("row", "method"), ROWS)
def test_everybody_gets_what_the_table_says(door: Door, row: str, method: str) -> None:
    found = {who: door.ask(row, method, who) for who in EXPECTED[row, method]}
    assert {who: answer.outcome for who, answer in found.items()} == EXPECTED[row, method]
    for who, answer in found.items():
        may_write = method in ("POST", "PATCH") and answer.outcome not in REFUSED
        assert may_write or not answer.writes, f"{who} wrote: {answer.writes}"


@pytest.mark.parametrize(("row", "method"), WITHOUT_ROW)
def test_a_method_without_a_row_is_refused_and_writes_nothing(door: Door, row: str, method: str) -> None:
    for who in ("anon", "stra", "root"):
        answer = door.fetch(door.address(row), method, who)
        assert answer.outcome in (("405",) if who == "root" else REFUSED), who
        assert not answer.writes, who


def test_a_token_opens_no_page_that_a_visitor_may_not_see() -> None:
    assert all(cells["tok"] == cells["anon"] for cells in PAGES.values())


def test_a_read_token_writes_nowhere() -> None:
    assert {cells["read"] for (_, method), cells in API.items() if method == "POST"} == {"403"}


def test_a_submit_token_writes_submissions_and_nothing_else() -> None:
    written = {row for (row, method), cells in API.items() if method == "POST" and cells["subm"][0] == "2"}
    assert written == {"api-submissions", "api-check", "api-submission-cancel", "api-submission-withdraw"}


def test_an_expired_or_revoked_token_opens_nothing() -> None:
    shut = [cells for cells in API.values() if cells["anon"] == "401"]
    assert {cells[who] for cells in shut for who in ("expd", "revk")} == {"401"}
