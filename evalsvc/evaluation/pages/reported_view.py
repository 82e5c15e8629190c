"""Figures of papers as the board's section takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, Format, finer, listed, number, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.measures.menu import MENU, as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting
from evalsvc.evaluation.reported import entries
from evalsvc.evaluation.reported.checks import Check
from evalsvc.evaluation.reported.entries import PrintedFigure, ReportedTest
from evalsvc.evaluation.reported.shown import Reported

TESTS_SHOWN, NEAREST = 60, 3  # tests on the page, and of them those of a printed figure
TEST_HEADS = (
    Head("system", "Scored here", numeric=False), Head("team", "Team", numeric=False),
    Head("reported", "Reported", numeric=False), Head("paper", "Paper", numeric=False),
    Head("measure", "Measure", numeric=False), Head("difference", "Difference"), Head("p", "p"),
    Head("p_least", "p from"), Head("p_most", "to"), Head("d", "d"), Head("d_least", "d from"),
    Head("d_most", "to"), Head("verdict", "Verdict", numeric=False),
)  # fmt: skip
TESTED = (
    "Welch’s t and Cohen’s d of the runs scored here and of printed mean, deviation and n. The ranges are"
    " over all figures that round to these; two systems differ only if even the greatest p is below .05."
)
VERDICTS = {"possible": "", "impossible": " chip--warn", "undecidable": ""}  # and their classes


@dataclass(frozen=True)
class ReportedLine:
    """System of a paper with its printed figures, in the order of the columns.

    Parts are HTML: a board has fifty such lines.
    """

    row: ReportedSystem
    name: SafeString
    cells: SafeString
    checks: SafeString


def _name(row: ReportedSystem) -> SafeString:
    """Name of a system, and where it is printed."""
    paper, page, note = escape(row.paper), escape(row.page), escape(row.note)
    if row.url:
        paper = f'<a href="{escape(row.url)}" rel="nofollow noopener">{paper}</a>'
    place = f"{paper}, {escape(row.table)}{f', page {page}' if page else ''}{f'<br>{note}' if note else ''}"
    return SafeString(f'{escape(row.system)}<br> <span class="quiet">{place}</span>')


def _cells(figures: Mapping[str, PrintedFigure], keys: Sequence[str]) -> SafeString:
    texts = (escape(str(figures.get(key, DASH))) for key in keys)
    return SafeString("".join([f'<td class="fig nowrap">{text}</td>' for text in texts]))


def _verdicts(checks: Sequence[Check]) -> SafeString:
    """Say which figures are possible on this gold."""
    if not checks:
        return SafeString('<small class="quiet">not shown while figures are held back</small>')
    verdicts = [
        f'<span class="chip{VERDICTS[each.verdict]}">{each.verdict}</span>'
        f' <small class="quiet">{escape(each.reason)}</small>'
        for each in checks
    ]
    return SafeString(" <br>".join(verdicts))


def context_of(setting: Setting, reported: Reported) -> dict[str, Any]:
    """Return the context of the section: columns, lines, and tests between printed means."""
    printed = [entries.figures_of(row) for row in reported.rows]
    keys = [key for key in MENU if any(key in figures for figures in printed)]
    keys.sort(key=lambda key: key != setting.main)
    lines = [
        ReportedLine(row, _name(row), _cells(figures, keys), _verdicts(reported.checks.get(row.pk, [])))
        for row, figures in zip(reported.rows, printed, strict=True)
    ]
    near = sorted(reported.measured, key=lambda each: abs(each[2].difference or 0.0))
    beside: Counter[tuple[int, str]] = Counter()
    measured = []
    for system, row, test in near:  # the systems beside each printed figure
        beside[row.pk, test.measure] += 1
        if beside[row.pk, test.measure] <= NEAREST:
            measured.append((reported.names[system.pk], row.system, test))
    order = {row.system: place for place, row in enumerate(reported.rows)}
    measured.sort(key=lambda each: (order[each[1]], keys.index(each[2].measure)))
    between = [(first.system, second.system, test) for first, second, test in reported.tests]
    return {
        "reported": lines,
        "reported_measures": [as_shown(setting, key) for key in keys],
        "reported_tests": _tests(setting, ("First", "Second"), between),
        "measured_tests": _tests(setting, ("Scored here", "Reported"), measured),
        "untested": "; ".join(
            f"{listed([as_shown(setting, key).title for key in measures])} of {row.system}, as {reason}"
            for row in reported.rows
            for reason, measures in entries.untested(row).items()
        ),
    }


def tests_table(setting: Setting, reported: Reported) -> PaperTable:
    """Return every test between a system scored here and a printed mean."""
    rows = []
    for system, row, test in reported.measured:
        measure = as_shown(setting, test.measure)
        difference = _difference(test, measure.digits)
        of_p = [Cell(p, _p(p)) for p in (test.p, test.p_least, test.p_most)]
        of_d = [Cell(d, _d(d)) for d in (test.d, test.d_least, test.d_most)]
        texts = (system.name, system.team_name, row.system, f"{row.paper}, {row.table}")
        cells = [*(Cell(text, text) for text in texts), Cell(test.measure, measure.title)]
        rows.append(
            [*cells, Cell(test.difference, difference), *of_p, *of_d, Cell(_verdict(test), _verdict(test))]
        )
    return PaperTable(f"{setting.benchmark.slug}-reported", TESTED, TEST_HEADS, rows)


def _difference(test: ReportedTest, digits: int) -> str:
    """Return the difference in its unit; one that tests find does not read as zero."""
    if test.difference is None:
        return DASH
    if test.called:
        digits = finer(Format(digits, ""), test.difference).digits
    return signed(test.difference, digits=digits)


def _verdict(test: ReportedTest) -> str:
    return "differ" if test.called else test.reason or "no difference shown"


def _tests(
    setting: Setting, sides: tuple[str, str], tests: Sequence[tuple[str, str, ReportedTest]]
) -> DataTable | None:
    heads = (*sides, "Measure", "Difference", "p", "Range of p", "d", "Range of d", "Verdict")
    rows = []
    for first, second, test in tests[:TESTS_SHOWN]:
        measure = as_shown(setting, test.measure)
        p, d = _p(test.p), DASH if test.d is None else f"{number(test.d, digits=2)}, {test.word}"
        ranges = (_range(test.p_least, test.p_most, _p), _range(test.d_least, test.d_most, _d))
        difference = _difference(test, measure.digits)
        rows.append((first, second, measure.title, difference, p, ranges[0], d, ranges[1], _verdict(test)))
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
