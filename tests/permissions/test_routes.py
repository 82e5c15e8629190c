"""Permissions: every route and method, requested by everybody, against a table of outcomes."""

from __future__ import annotations

import pytest

from tests.permissions.requester import Requester, is_api, routes
from tests.permissions.table import API, EXPECTED, PAGES
from tests.permissions.targets import ADDRESSES

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REJECTED = ("401", "403", "404", "405", "login")
ROWS = sorted(EXPECTED)
WITHOUT_ROW = sorted({(row, method) for row, _ in ROWS for method in METHODS} - EXPECTED.keys())


def test_every_route_has_a_row() -> None:
    assert {name for name, _ in routes()} == {name.partition(":")[0] for name, _ in EXPECTED}


def test_every_route_with_a_parameter_is_requested_for_an_existing_object() -> None:
    with_parameters = {name for name, pattern in routes() if pattern.pattern.converters}
    assert with_parameters == {row.partition(":")[0] for row in ADDRESSES}
    assert {row for row, _ in EXPECTED} >= set(ADDRESSES)


def test_every_method_of_an_endpoint_has_a_row() -> None:
    views = {name: pattern.callback.view_class for name, pattern in routes() if is_api(name)}  # type: ignore[attr-defined]
    offered = {
        (name, method) for name, view in views.items() for method in METHODS if hasattr(view, method.lower())
    }
    assert offered == {(row.partition(":")[0], method) for row, method in API}


@pytest.mark.parametrize(("row", "method"), ROWS)
def test_everybody_gets_the_outcome_in_the_table(requester: Requester, row: str, method: str) -> None:
    replies = {who: requester.request(row, method, who) for who in EXPECTED[row, method]}
    assert {who: reply.outcome for who, reply in replies.items()} == EXPECTED[row, method]
    for who, reply in replies.items():
        may_write = method in ("POST", "PATCH") and reply.outcome not in REJECTED
        assert may_write or not reply.writes, f"{who} wrote: {reply.writes}"


@pytest.mark.parametrize(("row", "method"), WITHOUT_ROW)
def test_a_method_without_a_row_is_rejected_and_writes_nothing(
    requester: Requester, row: str, method: str
) -> None:
    for who in ("anon", "stra", "root"):
        reply = requester.send(requester.address(row), method, who)
        assert reply.outcome in (("405",) if who == "root" else REJECTED), who
        assert not reply.writes, who


def test_a_token_opens_no_page_that_a_visitor_may_not_see() -> None:
    assert all(cells["tok"] == cells["anon"] for cells in PAGES.values())


def test_a_read_token_writes_nothing() -> None:
    assert {cells["read"] for (_, method), cells in API.items() if method == "POST"} == {"403"}


def test_a_submit_token_writes_submissions_and_nothing_else() -> None:
    written = {row for (row, method), cells in API.items() if method == "POST" and cells["subm"][0] == "2"}
    assert written == {"api-submissions", "api-check", "api-submission-cancel", "api-submission-withdraw"}


def test_an_expired_or_revoked_token_is_rejected() -> None:
    protected = [cells for cells in API.values() if cells["anon"] == "401"]
    assert {cells[who] for cells in protected for who in ("expd", "revk")} == {"401"}
