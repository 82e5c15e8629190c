"""Table of the differences of two systems, percentages drawn on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import DASH, counted, points, signed
from evalsvc.core.web.svg import Scale
from evalsvc.evaluation.boards.ranking import Column
from evalsvc.evaluation.comparison import tables, words
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.pages import charts

NO_D = "Cohen’s d needs several runs of both systems"


@dataclass(frozen=True)
class Difference:
    """Row of the table of differences: A − B by a measure."""

    title: str
    difference: str
    drawing: SafeString | str
    interval: str
    p: str
    p_holm: str
    d: str
    effect: str
    reason: str
    confirmed: bool
    no_d: str = ""


def differences(comparison: Comparison, a: int, b: int) -> list[dict[str, Any]]:
    """Return the differences of a pair in groups, percentages of a group drawn on one scale."""
    groups = []
    measures = {tested.key: tested for tested in tables.tested_measures(comparison)}
    parts = [
        ("", [measures[c.measure.key] for c in columns if c.measure.key in measures])
        for columns in grouped_columns(comparison)
    ]
    for remark, part in (*parts, (words.CLASS_METHOD, tables.tested_classes(comparison))):
        tests = [
            (tested, test if test.a == a else test.turned())
            for tested in part
            for test in tested.tests
            if {test.a, test.b} == {a, b}
        ]
        drawn = [test for tested, test in tests if tested.measure.unit == "%"]
        ends = [end for test in drawn for end in (test.difference, test.low, test.high) if end is not None]
        scale = charts.interval_scale(ends) if ends else None
        if rows := [_difference(tested, test, scale, a) for tested, test in tests]:
            noun = "class" if remark else "other measure"
            title = f"Differences by {counted(len(rows), noun, 'classes' if remark else '')}"
            axis = charts.interval_axis(scale) if scale else ""
            effects = any(test.p is not None for _, test in tests)
            groups.append({"title": title, "remark": remark, "axis": axis, "rows": rows, "effects": effects})
    return groups


def grouped_columns(comparison: Comparison) -> list[list[Column]]:
    """Part the measures that the board shows in its table from the rest."""
    first = comparison.first_columns
    rest = [column for column in comparison.columns if column not in first]
    return [group for group in (first, rest) if group]


def _difference(tested: tables.Tested, test: ShownTest, scale: Scale | None, a: int) -> Difference:
    measure = tables.shown_by(tested.measure, test)
    ends = (test.low, test.high) if test.low is not None and test.high is not None else None
    text = DASH if test.difference is None else points(test.difference, measure)
    interval = f"{points(ends[0], measure)} to {points(ends[1], measure)}" if ends else DASH
    drawn: SafeString | str = ""
    if scale and measure.unit == "%" and test.difference is not None:
        series = 0 if test.winner is None else 1 if test.winner == a else 2
        name = f"{tested.title}: {text}" + (f", {interval}" if ends else "")
        drawn = charts.interval(test.difference, ends, scale=scale, series=series, name=name)
    return Difference(
        title=tested.title,
        difference=text,
        drawing=drawn,
        interval=interval,
        p=test.p_text or DASH,
        p_holm=test.p_holm_text or DASH,
        d=DASH if test.d is None else signed(test.d, digits=2),
        effect=f"{test.word}{'' if test.winner is not None else ' (not confirmed)'}" if test.word else "",
        reason=test.reason,
        confirmed=test.winner is not None,
        no_d="" if test.d is not None else test.reason or NO_D,
    )
