"""Figures of papers as the board's section takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, listed, number, signed
from evalsvc.evaluation.measures.menu import MENU, as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting
from evalsvc.evaluation.reported import entries
from evalsvc.evaluation.reported.entries import ReportedTest
from evalsvc.evaluation.reported.shown import Reported

TESTS_SHOWN = 60
VERDICTS = {"possible": "ok", "impossible": "bad", "undecidable": ""}


@dataclass(frozen=True)
class ReportedLine:
    """System of a paper with its printed figures, in the order of the columns."""

    row: ReportedSystem
    cells: list[str]
    checks: list[tuple[str, str, str]]


def context_of(setting: Setting, reported: Reported) -> dict[str, Any]:
    """Return the context of the section: columns, lines, and tests between printed means."""
    printed = [entries.figures_of(row) for row in reported.rows]
    keys = [key for key in MENU if any(key in figures for figures in printed)]
    keys.sort(key=lambda key: key != setting.main)
    lines = [
        ReportedLine(
            row,
            [str(figures.get(key, DASH)) for key in keys],
            [(each.verdict, VERDICTS[each.verdict], each.reason) for each in reported.checks.get(row.pk, [])],
        )
        for row, figures in zip(reported.rows, printed, strict=True)
    ]
    measured = [(system.name, row.system, test) for system, row, test in reported.measured]
    between = [(first.system, second.system, test) for first, second, test in reported.tests]
    return {
        "reported": lines,
        "reported_measures": [as_shown(setting, key) for key in keys],
        "reported_tests": _tests(setting, ("First", "Second"), between),
        "measured_tests": _tests(setting, ("Scored here", "Reported"), measured),
        "tests_shown": TESTS_SHOWN,
        "untested": [
            (row.system, listed([as_shown(setting, key).title for key in measures]), reason)
            for row in reported.rows
            for reason, measures in entries.untested(row).items()
        ],
    }


def _tests(
    setting: Setting, sides: tuple[str, str], tests: Sequence[tuple[str, str, ReportedTest]]
) -> DataTable | None:
    heads = (*sides, "Measure", "Difference", "p", "Range of p", "d", "Range of d", "Verdict")
    rows = []
    for first, second, test in tests[:TESTS_SHOWN]:
        measure = as_shown(setting, test.measure)
        verdict = "differ" if test.called else test.reason or "no difference shown"
        p, d = _p(test.p), DASH if test.d is None else f"{number(test.d, digits=2)}, {test.word}"
        ranges = (_range(test.p_least, test.p_most, _p), _range(test.d_least, test.d_most, _d))
        difference = DASH if test.difference is None else signed(test.difference, digits=measure.digits)
        rows.append((first, second, measure.title, difference, p, ranges[0], d, ranges[1], verdict))
    return DataTable(heads, rows) if rows else None


def _p(p: float | None) -> str:
    if p is None:
        return DASH
    return "< .0001" if p < 0.0001 else f"{p:.4f}".lstrip("0")


def _d(d: float | None) -> str:
    return DASH if d is None else number(d, digits=2)


def _range(least: float | None, most: float | None, text: Any) -> str:
    if least is None and most is None:
        return DASH
    ends = dict.fromkeys((text(least), text(most)))  # once, if both read the same
    return " to ".join(ends)
