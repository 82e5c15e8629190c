"""A difference that a test finds does not read as zero, whatever digits its measure has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evalsvc.evaluation.comparison import tables
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.pages import compare_differences, reported_view
from evalsvc.evaluation.reported.entries import ReportedTest


@pytest.mark.parametrize(
    ("winner", "shown"),
    [(0, ("+0.04", "+0.01", "+0.07")), (None, ("0.0", "0.0", "+0.1"))],
)
def test_a_confirmed_difference_has_digits_in_tables(winner: int | None, shown: tuple[str, ...]) -> None:
    test = ShownTest(
        0, 1, "paired", 0.0004, 0.0001, 0.0007, 0.008, 0.008, ".0080", ".0080", None, "", 0.0002, "", winner
    )
    tested = tables.Tested("micro_f1", "micro F1", MENU["micro_f1"], [test])
    comparison: Any = SimpleNamespace(names=["Alder", "Birch"], runs_of=lambda test: ("1", "1"))
    row = {
        head.key: cell.text
        for head, cell in zip(tables.TEST_HEADS, tables._test_row(comparison, tested, test), strict=True)
    }
    assert (row["difference"], row["low"], row["high"], row["detectable"]) == (*shown, "0.02")
    found = compare_differences._difference(tested, test, None, 0)
    assert (found.difference, found.interval) == (shown[0], f"{shown[1]} to {shown[2]}")


@pytest.mark.parametrize(("called", "shown"), [(True, "+0.04"), (False, "0.0")])
def test_a_difference_from_a_printed_figure_has_digits_where_it_is_called_one(
    called: bool, shown: str
) -> None:
    test = ReportedTest(0, "micro_f1", 0.04, called=called)
    assert reported_view._difference(test, 1) == shown
