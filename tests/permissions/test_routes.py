"""The table of outcomes is complete, and methods that it does not have are rejected."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from annotation import projects
from annotation.freezing.writer import create_test_set
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.teams import create_team
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.text_validation import RESERVED_SLUGS
from evalsvc.evaluation.benchmarks import creation
from tests.errors import code
from tests.permissions.requester import Requester, is_api, routes
from tests.permissions.table import API, EXPECTED, PAGES, REJECTED, REQUESTED
from tests.permissions.targets import ADDRESSES
from tests.places.extent import FULL

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# An address of each route; with `FULL=1` those of all its objects.
ROWS = sorted({row if FULL else row.partition(":")[0] for row, _ in EXPECTED})


def test_every_route_has_a_row() -> None:
    assert {name for name, _ in routes()} == {name.partition(":")[0] for name, _ in EXPECTED}


def test_every_route_with_a_parameter_is_requested_for_an_existing_object() -> None:
    with_parameters = {name for name, pattern in routes() if pattern.pattern.regex.groups}
    assert with_parameters == {row.partition(":")[0] for row in ADDRESSES}
    assert {row for row, _ in EXPECTED} >= set(ADDRESSES)


def test_every_page_beside_those_of_objects_has_a_reserved_address() -> None:
    paths = {str(pattern.pattern) for _, pattern in routes()}
    lists = {path.partition("<slug:")[0] for path in paths if re.fullmatch(r"[^<]*<slug:\w+>/?", path)}
    words = [re.fullmatch(f"{re.escape(each)}([^</]+)/?", path) for each in lists for path in paths]
    assert {match[1] for match in words if match} == RESERVED_SLUGS


@pytest.mark.parametrize(
    "create",
    [
        partial(create_team, name="New"),
        partial(projects.create, title="New", kind="relations"),
        partial(creation.create, title="New", slug="new", task="relations", labels=["a"]),
        partial(create_test_set, name="Import", version="-", origin="imported"),
    ],
)
@pytest.mark.django_db
def test_nothing_is_created_at_a_reserved_address(create: Callable[..., object]) -> None:
    with pytest.raises(Conflict, check=code("slug_taken")):
        create(by=User.objects.create_superuser("ruth"))


def test_every_method_of_an_endpoint_has_a_row() -> None:
    views = {name: pattern.callback.view_class for name, pattern in routes() if is_api(name)}  # type: ignore[attr-defined]
    offered = {
        (name, method) for name, view in views.items() for method in METHODS if hasattr(view, method.lower())
    }
    assert offered == {(row.partition(":")[0], method) for row, method in API}


def test_every_row_is_requested_with_each_outcome_and_every_person_with_each_of_theirs() -> None:
    of_rows = {(row, cell) for row, cells in EXPECTED.items() for cell in cells.values()}
    of_people = {(who, cell) for cells in EXPECTED.values() for who, cell in cells.items()}
    wanted = [(who, row) for who, rows in REQUESTED.items() for row in rows]
    assert {(row, EXPECTED[row][who]) for who, row in wanted} == of_rows
    assert {(who, EXPECTED[row][who]) for who, row in wanted} == of_people


@pytest.mark.parametrize("row", ROWS)
def test_a_method_without_a_row_is_rejected_and_writes_nothing(requester: Requester, row: str) -> None:
    name = row.partition(":")[0]
    offered = {method for other, method in EXPECTED if other.partition(":")[0] == name}
    for method in {*METHODS} - offered:
        for who in ("anon", "stra", "root") if FULL else ("root",):
            reply = requester.send(requester.address(row), method, who)
            assert reply.outcome in (("405",) if who == "root" else REJECTED), (method, who)
            assert not reply.writes, (method, who)


def test_a_token_opens_no_page_that_a_visitor_may_not_see() -> None:
    assert all(cells["tok"] == cells["anon"] for cells in PAGES.values())


def test_a_read_token_writes_nothing() -> None:
    assert {cells["read"] for (_, method), cells in API.items() if method == "POST"} == {"403"}


def test_a_submit_token_changes_runs_and_comparisons_alone() -> None:
    written = {row for (row, method), cells in API.items() if method != "GET" and cells["subm"][0] == "2"}
    of_runs = {f"api-submission-{act}" for act in ("cancel", "withdraw", "final")}
    assert written == {"api-submissions", "api-check", "api-compare"} | of_runs


def test_an_expired_or_revoked_token_is_rejected() -> None:
    protected = [cells for cells in API.values() if cells["anon"] == "401"]
    assert {cells[who] for cells in protected for who in ("expd", "revk")} == {"401"}


def test_a_token_of_a_team_reads_what_members_read_whatever_its_owner_curates_or_organises() -> None:
    """The archive of all runs, errors on hidden gold and gold were read with tokens in training scripts."""
    opened = {row for row, cells in API.items() if cells["team"][0] == "2"}
    assert opened == {row for row in opened if API[row]["ownr"] == API[row]["team"]}
    assert {row for row, cells in API.items() if cells["full"][0] == "2"} - opened >= {
        ("api-archive", "GET"),
        ("api-ledger", "GET"),
        ("api-votes", "GET"),
        ("api-test-set-lines", "GET"),
    }
