"""Every measured page makes as many queries with more rows, and the benchmark tells who misses a goal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.pages import __main__ as bench
from bench.pages import measuring
from tests.permissions import api as permission_api
from tests.permissions import pages as permission_pages
from tests.places.extent import FULL

SIZES = (1_500, 6_000)  # figures over all votes are stored at both
# Pages list up to so many things of a kind; below that the queries of a list may grow with it.
PAGED = {"label-index", "home"}
# Downloads of everything take as long as what they hold.
FILES = {
    *("board-archive", "board-csv", "board-json", "board-view-file", "board-inputs", "setting-inputs"),
    *(
        "board-compare-file",
        "board-errors-file",
        "board-entrants-csv",
        "board-runs-csv",
        "system-file",
        "version-moves-file",
    ),
    *("project-log-csv", "board-log-csv", "release-part", "test-set-release-part"),
    *("judgments", "votes-csv", "votes-jsonl", "sentences-csv", "mine-csv", "release-file"),
    *("test-set-lines", "test-set-release", "test-set-export-file", "test-set-sets-file", "submission-file"),
    *("release-chart", "test-set-chart", "submission-curve-csv", "submission-curve-svg", "client"),
    *("api-archive", "api-board", "api-benchmark-inputs", "api-inputs", "api-items-csv", "api-judgments"),
    *("api-votes", "api-votes-csv", "api-release-file", "api-test-set-lines", "api-test-set-release"),
    *("api-test-set-export", "api-test-set-losses"),
}
# Figures of one stored report or change, and two test sets read line by line.
COMPUTED = {
    *("agreement-pairs", "agreement-relations", "agreement-svg", "api-agreement"),
    *(
        "second-reading",
        "api-errors",
        "version-moves",
        "api-version-moves",
        "test-set-changes",
        "api-test-set-changes",
    ),
}
# These have no rows, or those of one person, and are as long with any data.
SHORT = {
    *("health", "ready", "metrics", "login", "sign-up", "join", "password-reset", "password-reset-sent"),
    *("password-reset-confirm", "token", "people", "invitation", "team-new", "docs", "docs-guide"),
    *("docs-measures", "docs-formats", "docs-errors", "docs-keyboard", "schema", "api-docs"),
    *("api-measures", "api-limits", "board-saved-view"),
}
NOT_MEASURED = FILES | COMPUTED | SHORT


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[bench.Row]:
    """Every page at two small sizes, each in its own process and folder."""
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "bench.pages", "--sizes", *map(str, SIZES)]
    run = subprocess.run(
        [*command, "--keep", str(folder), "--out", str(folder)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout
    found: list[bench.Row] = json.loads((folder / "pages.json").read_text())["pages"]
    return found


@pytest.mark.skipif(not FULL, reason="fills two databases")
def test_no_page_makes_more_queries_for_more_rows(rows: list[bench.Row]) -> None:
    grown = {
        row["page"]: row["queries"] for row in rows if "queries" in row["missed"] and row["page"] not in PAGED
    }
    assert len(rows) > 60
    assert not grown


def test_every_page_and_list_is_measured_unless_it_is_a_file_or_always_as_long() -> None:
    source = Path(measuring.__file__).read_text()
    pages = {name for name, method in routes(permission_pages.TABLE) if method == "GET"}
    lists = {f"api-{name}" for name, method in routes(permission_api.TABLE) if method == "GET"}
    assert {name for name in pages | lists if f'"{name}"' not in source} == NOT_MEASURED


def routes(table: str) -> set[tuple[str, str]]:
    """Names and methods, without the variants of an object."""
    rows = [line.split() for line in table.splitlines()[2:] if line.strip()]
    return {(row[0].partition(":")[0], row[1]) for row in rows}


@pytest.mark.parametrize(
    ("milliseconds", "queries", "missed"),
    [(99.0, 9, []), (101.0, 9, ["time"]), (99.0, 10, ["queries"]), (101.0, 10, ["time", "queries"])],
)
def test_a_page_that_misses_a_goal_is_named(milliseconds: float, queries: int, missed: list[str]) -> None:
    same = {"page": "board", "who": "", "kilobytes": 1}
    small = {**same, "milliseconds": 10.0, "queries": 9}
    row = bench.compared(small, {**same, "milliseconds": milliseconds, "queries": queries}, 10.0)
    assert row["missed"] == missed
    assert ("MISSED" in bench.table_row(row)) == bool(missed)


def test_the_exponent_of_a_page_that_grows_with_its_rows_is_one() -> None:
    same = {"page": "board", "who": "", "kilobytes": 1, "queries": 9}
    row = bench.compared({**same, "milliseconds": 10.0}, {**same, "milliseconds": 100.0}, 10.0)
    assert row["exponent"] == pytest.approx(1)
    assert Path(bench.__file__).parent.name == "pages"
