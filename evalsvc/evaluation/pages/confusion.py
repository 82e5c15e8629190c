"""Confusion matrix of an evaluation, where its gold is open: gold in rows, predictions in columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from annotation.testset import label_titles
from evalsvc.core.web.formatting import DASH, count, number, percent
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.outcomes import Outcomes

SHOWN, MOST = 8, 6  # classes of their own, and frequent confusions
STEPS = (0.02, 0.05, 0.15, 0.3, 0.6)  # shares of a row at which the colour steps
OTHERS, NONE = -2, -1


@dataclass(frozen=True)
class Confusion:
    """Matrix of the most frequent classes, with the rest together and none last.

    A cell is its text and the step of its colour; `pairs` are gold, prediction, items and share of the gold.
    The first rows are the numbered ones, whose columns carry the numbers.
    """

    heads: list[str]
    numbered: int
    rows: list[tuple[str, str, list[tuple[str, int]]]]
    pairs: list[tuple[str, str, str, str]]
    table: PaperTable
    note: str


def confusion_for(
    scored: Disclosed, outcomes: Outcomes | None, *, name: str = "confusion"
) -> Confusion | None:
    """Return the matrix of an evaluation; None without outcomes, as on closed gold."""
    if outcomes is None:
        return None
    benchmark = scored.setting.benchmark
    titles, none = label_titles(benchmark.labels), benchmark.negative or "none"
    return confusion_of(outcomes, titles, none=none, name=name)


def confusion_of(outcomes: Outcomes, titles: Mapping[str, str], *, none: str, name: str) -> Confusion | None:
    """Return the matrix; None without any claim or gold."""
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for gold, claim, weight in outcomes.confusion:
        weights[gold, claim] += weight
    totals: dict[int, float] = defaultdict(float)
    for gold, _, weight in (*outcomes.confusion, *outcomes.apart):
        totals[gold] += weight
    classes = sorted(range(len(outcomes.labels)), key=lambda at: (-totals[at], at))
    if not weights:
        return None
    shown = classes[:SHOWN] if len(classes) > SHOWN + 1 else classes
    merged: dict[tuple[int, int], float] = defaultdict(float)
    for (gold, claim), weight in weights.items():
        row, column = (at if at in shown or at == NONE else OTHERS for at in (gold, claim))
        merged[row, column] += weight
    keys = [*shown, *([OTHERS] if len(shown) < len(classes) else []), NONE]
    named = {at: titles[label] for at, label in enumerate(outcomes.labels)}
    named |= {OTHERS: f"others ({len(classes) - len(shown)})", NONE: none}
    sums = {row: sum(merged[row, column] for column in keys) for row in keys}
    rows = [
        (named[row], _text(sums[row]), [_cell(merged[row, column], sums[row]) for column in keys])
        for row in keys
    ]
    wrong = sorted(
        (-weight, gold, claim)
        for (gold, claim), weight in weights.items()
        if gold != claim and NONE not in (gold, claim)
    )
    pairs = [
        (named[gold], named[claim], _text(-weight), f"{percent(-weight / totals[gold], digits=0)} %")
        for weight, gold, claim in wrong[:MOST]
    ]
    apart = sum(weight for *_, weight in outcomes.apart)
    note = (
        f"{count(round(apart))} pairs that overlap without equal bounds are not in the matrix."
        if apart
        else ""
    )
    heads = [named[key] for key in keys]
    return Confusion(heads, len(shown), rows, pairs, _table(weights, named, name), note)


def _text(weight: float) -> str:
    """Show whole numbers without digits; parts come from several labels of an item."""
    return count(round(weight)) if abs(weight - round(weight)) < 1e-6 else number(weight)


def _cell(weight: float, row: float) -> tuple[str, int]:
    if not weight:
        return DASH, 0
    return _text(weight), 1 + sum(weight / row >= step for step in STEPS)


def _table(weights: Mapping[tuple[int, int], float], named: Mapping[int, str], name: str) -> PaperTable:
    heads = [
        Head("gold", "Gold", numeric=False),
        Head("predicted", "Predicted", numeric=False),
        Head("n", "N"),
    ]
    rows = [
        [Cell(named[gold], named[gold]), Cell(named[claim], named[claim]), Cell(weight, _text(weight))]
        for (gold, claim), weight in sorted(weights.items())
    ]
    return PaperTable(name, "Gold and predicted classes.", heads, rows)
