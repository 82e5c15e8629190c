"""Figures of a comparison: curves laid over each other, F1 per class.

They are shown where the gold is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from django.utils.text import capfirst

from evalsvc.core.web.formatting import DASH, counted, listed, number, percent, quoted
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.training_counts import shown_counts
from evalsvc.evaluation.boards.compared_runs import median
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.run_figures import (
    THIN,
    RunFigures,
    class_rows,
    class_titles,
    run_figures,
)
from evalsvc.evaluation.disclosure import gold_counts
from evalsvc.evaluation.disclosure.sensitivity import WEIGHTS, GoldCounts
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.models import Setting
from evalsvc.evaluation.pages import comparison_charts as charts
from evalsvc.evaluation.pages.charts import Point
from evalsvc.evaluation.pages.comparison_charts import Series
from evalsvc.evaluation.pages.score_view import flip_sentence

MOST_CURVES, TABLE_STEPS = 8, 10
SCHEMES = ("weighted", "dodrans", "entropy", "macro")


@dataclass(frozen=True)
class ClassFigures:
    """F1 of a class by system, with its count in the training data or, if that counts none, in the gold."""

    title: str
    count: int | None
    thin: bool
    gold: int
    f1: list[float | None]

    @property
    def remark(self) -> str:
        return ("" if self.count is None else f" ({self.count:,})") + (" *" if self.thin else "")


def macro_flip_in_words(board: Board, flips: Iterable[float | None]) -> str:
    """Say how far one correct answer more or less in the rarest class moves macro F, at most."""
    most = max(filter(None, flips), default=None)
    keys = [key for key in ("macro_f1", "conll_macro_f1") if key in board.columns]
    if most is None or not keys:
        return ""
    return flip_sentence(most, board.columns[keys[0]].measure)


# ---- curves --------------------------------------------------------------------------------------
def curves(
    comparison: Comparison, runs: Sequence[Sequence[RunFigures]], held_out: Comparison | None = None
) -> list[Series]:
    """Return the curve of each system's median run, or of the one shown, of 8 systems at most.

    Beside those on labels by people stand those of the same systems on the labels of a source.
    """
    beside = _curves(held_out, run_figures(held_out)) if held_out else {}
    series = []
    for system, (name, points, best) in _curves(comparison, runs).items():
        _, *other = beside.get(system, (name, (), None))
        series.append(Series(name, points, best, *other))
    return series[:MOST_CURVES]


def _curves(
    comparison: Comparison, runs: Sequence[Sequence[RunFigures]]
) -> dict[int, tuple[str, list[Point], Point | None]]:
    """Return name, curve and best point of each system's median run, or of the one shown."""
    drawn = {}
    for name, row, of_system in zip(comparison.names, comparison.rows, runs, strict=True):
        by_main = ((run.values.get(comparison.board.order_by), run.pk, run) for run in of_system)
        if run := median(by_main):
            curve, values = run.curve, run.values
            points = list(zip(curve.get("recall", ()), curve.get("precision", ()), strict=True))
            recall, precision = values.get("recall_at_tau"), values.get("precision_at_tau")
            best = None if recall is None or precision is None else (recall, precision)
            if points:
                drawn[row.system.pk] = (name, points, best)
    return drawn


def curves_table(drawn: Sequence[Series], setting: Setting) -> PaperTable:
    """The greatest precision of each curve at rising recalls."""
    heads, columns = [Head("recall", "Recall")], []
    for each in drawn:
        heads.append(Head(each.name, each.name))
        columns.append(each.points)
        if each.held_out:
            heads.append(Head(f"{each.name}, held-out", f"{each.name}, held-out"))
            columns.append(each.held_out)
    rows = []
    for step in range(TABLE_STEPS + 1):
        recall = step / TABLE_STEPS
        best = [max((p for r, p in points if r >= recall - 1e-9), default=None) for points in columns]
        cells = [Cell(value, DASH if value is None else number(value, digits=3)) for value in best]
        rows.append([Cell(recall, number(recall)), *cells])
    caption = f"Greatest precision at recall r or more, {row_rules.run_drawn(setting)} of each system."
    return PaperTable("curves", caption, heads, rows)


def draw_curves(drawn: Sequence[Series], *, narrow: bool = False, class_: str | None = None) -> str:
    return charts.curves(drawn, narrow=narrow, class_=class_) if drawn else ""


def caption_of_curves(drawn: Sequence[Series], comparison: Comparison, held_out: Comparison | None) -> str:
    """State which runs and which gold are drawn."""
    run = capfirst(row_rules.run_drawn(comparison.setting))
    parts = [f"{run} of each system; the marks are at the best F1."]
    if held_out and any(each.held_out for each in drawn):
        here, beside = comparison.setting.title, held_out.setting.title
        parts.append(f"Solid: {here}; dotted, hollow: {beside}.")
    if len(comparison.rows) > MOST_CURVES == len(drawn):
        parts.append(f"The first {MOST_CURVES} of {len(comparison.rows)} systems.")
    return " ".join(parts)


def finding_of_curves(drawn: Sequence[Series]) -> str:
    """Name the systems with the best F1 of the curves, to the shown digits."""
    points = [(each.name, *each.best) for each in drawn if each.best and sum(each.best)]
    best = [(2 * recall * precision / (recall + precision), name) for name, recall, precision in points]
    if not best:
        return "Precision against recall"
    highest = percent(max(best)[0])
    names = [quoted(name) for f1, name in best if percent(f1) == highest]
    curves = "The curve of {} reaches" if len(names) == 1 else "The curves of {} reach"
    return f"{curves.format(listed(names))} the highest F1, {highest}"


# ---- classes -------------------------------------------------------------------------------------
def training_counts(setting: Setting) -> dict[str, int]:
    """Return the training counts of the classes that are compared; without any, the gold counts them."""
    titles = class_titles(setting)
    return {label: n for label, n in shown_counts(setting.benchmark).items() if label in titles}


def classes(comparison: Comparison, runs: Sequence[Sequence[RunFigures]]) -> list[ClassFigures]:
    """Return the mean F1 of the runs per class, frequent classes first, those without a count last."""
    setting, training = comparison.setting, training_counts(comparison.setting)
    titles = class_titles(setting)
    f1: dict[str, list[float | None]] = {}
    gold: dict[str, int] = {}
    for place, of_system in enumerate(runs):
        values: dict[str, list[float]] = {}
        for row in (row for run in of_system for row in class_rows(setting, run.classes)):
            values.setdefault(row["label"], []).append(row["f1"])
            gold[row["label"]] = row["gold"]
        for label, of_runs in values.items():
            f1.setdefault(label, [None] * len(runs))[place] = fmean(of_runs)
    counts = training or gold
    rows = [
        ClassFigures(titles[label], counts.get(label), gold[label] < THIN, gold[label], of_label)
        for label, of_label in f1.items()
    ]
    return sorted(rows, key=lambda row: (row.count is None, -(row.count or 0), row.title))


def classes_table(comparison: Comparison, rows: Sequence[ClassFigures]) -> PaperTable:
    counted_in = "In training" if training_counts(comparison.setting) else "In the gold"
    heads = [Head("class", "Class", numeric=False), Head("count", counted_in)]
    heads += [Head(name, name) for name in comparison.names]
    lines = [
        [
            Cell(row.title, row.title + (" *" if row.thin else "")),
            Cell(row.count, DASH if row.count is None else f"{row.count:,}"),
            *(Cell(value, DASH if value is None else percent(value)) for value in row.f1),
        ]
        for row in rows
    ]
    shown = "mean of the runs" if comparison.setting.row_rule == row_rules.MEAN else "of the run shown"
    caption = f"F1 per class, {shown}. * fewer than {THIN} items in the gold."
    return PaperTable("classes", caption, heads, lines)


def draw_classes(
    comparison: Comparison, rows: Sequence[ClassFigures], *, narrow: bool = False, class_: str | None = None
) -> str:
    lines = [(row.title, row.remark, row.f1) for row in rows]
    names = comparison.names
    return (
        charts.dots(lines, names=names, title="F1 per class", axis="F1, %", narrow=narrow, class_=class_)
        if lines
        else ""
    )


def finding_of_classes(comparison: Comparison, rows: Sequence[ClassFigures]) -> str:
    """Count the classes on which each system alone has the highest F1, to the shown digits."""
    first = Counter[int]()
    for row in rows:
        highest = max((value for value in row.f1 if value is not None), default=None)
        shown = [None if value is None else percent(value) for value in row.f1]
        if highest is not None and shown.count(percent(highest)) == 1:
            first[row.f1.index(highest)] += 1
    if not first:
        return "F1 per class"
    (place, n), *others = first.most_common(3)
    names = comparison.names_in_sentences
    lead = f"{names[place]} has the highest F1 on {n} of {counted(len(rows), 'class', 'classes')}"
    return ", ".join([lead, *(f"{names[place]} on {n}" for place, n in others)])


# ---- weights of the classes ----------------------------------------------------------------------
@dataclass(frozen=True)
class ClassWeights:
    """Weights of a class under each scheme, in the order of `SCHEMES`, and its count in the gold."""

    title: str
    gold: int
    weights: list[float]


def weights(comparison: Comparison, rows: Sequence[ClassFigures]) -> list[ClassWeights]:
    """Return what each class counts in an average, frequent ones of the gold first."""
    setting = comparison.setting
    if complete_options(setting.benchmark.options, task=setting.benchmark.task).get("include_negative"):
        return []  # the negative class, which is averaged too, has no row
    counts = {row.title: row.gold for row in rows if row.gold}
    of_entropy = gold_counts.of_version(setting, comparison.board.version).entropy_items
    gold = GoldCounts(0, counts, entropy_items=of_entropy)
    columns = [WEIGHTS[scheme](gold) for scheme in SCHEMES] if counts else []
    found = [ClassWeights(title, n, [column[title] for column in columns]) for title, n in counts.items()]
    return sorted(found, key=lambda row: (-row.gold, row.title))


def weights_table(rows: Sequence[ClassWeights]) -> PaperTable:
    heads = [Head("class", "Class", numeric=False), Head("gold", "In the gold")]
    heads += [Head(scheme, f"{scheme}, %") for scheme in SCHEMES]
    lines = [
        [
            Cell(row.title, row.title),
            Cell(row.gold, f"{row.gold:,}"),
            *(Cell(weight, percent(weight, digits=2)) for weight in row.weights),
        ]
        for row in rows
    ]
    return PaperTable("weights", "Weight of each class in an average.", heads, lines)


def draw_weights(rows: Sequence[ClassWeights], *, narrow: bool = False, class_: str | None = None) -> str:
    lines = [(row.title, f" ({row.gold:,})", row.weights) for row in rows]
    most = ceil(10 * max(max(row.weights) for row in rows)) / 10
    title = "Weight of each class, percent, and the items that have it in the weighted average"
    items = sum(row.gold for row in rows)
    return charts.dots(
        lines,
        names=SCHEMES,
        title=title,
        axis="weight, %",
        most=most,
        items=items,
        narrow=narrow,
        class_=class_,
    )


def finding_of_weights(rows: Sequence[ClassWeights]) -> str:
    """Compare the weights of the most frequent class in the extreme schemes."""
    weighted, macro = (percent(rows[0].weights[at], digits=0) for at in (0, -1))
    return f"{quoted(rows[0].title)} weighs {weighted} % in weighted, {macro} % in macro F1"
