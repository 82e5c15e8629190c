"""Runs, curve, classes and confusions of a system, where its gold is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from evalsvc.core.web.formatting import DASH, day, measured
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.boards.compared_runs import compared_runs
from evalsvc.evaluation.boards.figures import RecentValues
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.comparison import tested_systems
from evalsvc.evaluation.comparison.tested_systems import FIRST
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.outcomes import Outcomes, outcomes_of
from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.measures.menu import board_measures
from evalsvc.evaluation.pages import class_view, score_view, word_view
from evalsvc.evaluation.pages.confusion import Confusion, confusion_for
from evalsvc.evaluation.pages.system_request import SystemPage, file_name

RUN_COLUMNS = 4
BestClasses = dict[str, dict[str, tuple[float, int]]]
"""Best mean F, and the system that has it, by family and class."""
_best = RecentValues(32)


def runs_table(page: SystemPage) -> PaperTable:
    """List the distinct runs with the first measures of the board."""
    measures = board_measures(page.setting, page.board.columns)[:RUN_COLUMNS]
    heads = [Head("run", "Run", numeric=False), Head("submitted", "Submitted", numeric=False)]
    heads += [Head(measure.key, measure.title) for measure in measures]
    rows = []
    for run, scored in page.runs:
        values = [(measure, scored.values.get(measure.key)) for measure in measures]
        cells = [Cell(value, DASH if value is None else measured(value, each)) for each, value in values]
        rows.append([Cell(run.run, run.run), Cell(run.created_at.date(), day(run.created_at)), *cells])
    return PaperTable(file_name(page, "runs"), "Runs with different answers.", heads, rows)


def curve(page: SystemPage, files: str) -> Any:
    """Return the curve of the median run, with that on the labels of a source where there is one."""
    if page.median is None:
        return None
    query = f"setting={page.setting.key}&table=curve"
    svg = reverse("system-file", args=[page.setting.benchmark.slug, page.row.system.pk, "svg"])
    return score_view.curve_figure(
        page.median[1], svg_url=f"{svg}?{query}", csv_url=f"{files}?{query}", beside=_held_out(page)
    )


def curve_drawing(page: SystemPage) -> str:
    """Draw the curve for a file; empty without ranked claims."""
    if page.median is None or not score_view.points_of(page.median[1]):
        return ""
    return score_view.draw(page.median[1], beside=_held_out(page))


def _held_out(page: SystemPage) -> Disclosed | None:
    """Return the run on the labels of a source if it has a curve, and the run here has one."""
    if page.median is None or not score_view.points_of(page.median[1]) or not page.held_out:
        return None
    _, scored = page.held_out
    return scored if score_view.points_of(scored) else None


def curve_table(page: SystemPage, scored: Disclosed) -> PaperTable:
    heads = [
        Head("setting", "Setting", numeric=False),
        Head("recall", "Recall"),
        Head("precision", "Precision"),
    ]
    rows = [
        [Cell(each.setting.key, each.setting.title), *(Cell(value, str(value)) for value in point)]
        for each in (scored, _held_out(page))
        if each
        for point in score_view.points_of(each)
    ]
    return PaperTable("curve", "Precision against recall.", heads, rows)


def outcomes(page: SystemPage, request: HttpRequest) -> Outcomes | None:
    """Return the outcomes of the median run, if the reader may see them."""
    return outcomes_of(page.median[1], request.user) if page.median else None


def confusion(page: SystemPage, stored: Outcomes | None) -> Confusion | None:
    """Return the confusion matrix of the median run."""
    if page.median is None:
        return None
    return confusion_for(page.median[1], stored, name=file_name(page, "confusion"))


def word_table(page: SystemPage) -> word_view.WordTable | None:
    """Return the words by type of the median run, if it has any."""
    if page.median is None:
        return None
    return next(iter(word_view.word_tables([page.median[1]], page.setting.benchmark)), None)


def classes(page: SystemPage, request: HttpRequest) -> list[class_view.ClassTable]:
    """Return the classes of the median run."""
    if page.median is None:
        return []
    orders = class_view.ORDERS_BESIDE_BEST if len(page.board.rows) > 1 else class_view.ORDERS
    tables = class_view.class_tables(
        [page.median[1]], page.setting.benchmark, order=request.GET.get("order", ""), orders=orders
    )
    if len(page.runs) > 1:
        tables = [_over_runs(page, table) for table in tables]
    return _beside_best(page, tables)


def _over_runs(page: SystemPage, table: class_view.ClassTable) -> class_view.ClassTable:
    """Add mean and deviation of each class over the runs."""
    values: dict[str, list[float]] = {}
    for _, scored in page.runs:
        relations = table.anchor == "relations"
        for row in class_view.class_rows(scored, page.setting.benchmark, relations=relations):
            if row.f1 is not None:
                values.setdefault(row.title, []).append(row.f1)
    rows = [
        replace(row, mean=fmean(of_class), sd=_deviation(of_class, rounded=page.board.policy.hidden))
        if (of_class := values.get(row.title))
        else row
        for row in table.rows
    ]
    return replace(table, rows=rows, runs=len(page.runs))


def _deviation(values: Sequence[float], *, rounded: bool) -> float | None:
    """Return the deviation of runs, none of rounded ones that are equal."""
    sd = stdev(values) if len(values) > 1 else None
    return None if rounded and not sd else sd


def _beside_best(page: SystemPage, tables: list[class_view.ClassTable]) -> list[class_view.ClassTable]:
    """Add the greatest mean F of each class among the first systems of the board."""
    if page.median is None or len(page.board.rows) < 2:
        return tables
    best_of = _best_classes(page.board)
    names = names_on_board(page.board) | {page.row.system.pk: "this system"}
    title = "all systems" if len(page.board.rows) <= FIRST else f"the first {FIRST} systems"
    beside = []
    for table in tables:
        relations = table.anchor == "relations"
        family, titles = class_view.class_family(page.median[1], page.setting.benchmark, relations=relations)
        labels = best_of.get(family, {})
        best = {title: labels[label] for label, title in titles.items() if label in labels}
        shown = []
        for row in table.rows:
            value, by = best.get(row.title, (None, None))
            shown.append(replace(row, best=value, by="" if by is None else names[by]))
        if table.order == "behind":
            shown.sort(key=lambda row: (-row.behind, row.title))
        beside.append(replace(table, rows=shown, best=title))
    return beside


def _best_classes(board: Board) -> BestClasses:
    """Return the best mean F of each class over the runs in which it is defined, and whose it is.

    The figures per class of hundreds of runs are read once for each state of the board.
    """
    rows = board.rows[:FIRST]
    identity = tested_systems.identity_of_rows(board, rows, hidden=board.policy.hidden)
    if (kept := _best.get(identity)) is not None:
        return kept
    found: BestClasses = {}
    first = [row.runs.system for row in rows]
    compared = compared_runs(board, first)
    class_rows = shown_scores.class_rows(
        board.policy, {run.evaluation for runs in compared.values() for run in runs}
    )
    for system in first:
        values: dict[tuple[str, str], list[float]] = {}
        for row in (row for run in compared[system] for row in class_rows[run.evaluation]):
            if row["f1"] is not None:
                values.setdefault((row["family"], row["label"]), []).append(row["f1"])
        for (family, label), of_class in values.items():
            best, mean = found.setdefault(family, {}), fmean(of_class)
            if mean > best.get(label, (-1.0, 0))[0] + TINY:  # of equal ones the first by the main measure
                best[label] = mean, system
    _best[identity] = found
    return found


def class_file(table: class_view.ClassTable) -> PaperTable:
    heads = [Head("class", table.kind, numeric=False)]
    figures = (
        *class_view.CLASS_FIGURES,
        *(("mean", "sd") if table.runs else ()),
        *(("best", "by") if table.best else ()),
    )
    heads += [Head(key, key.capitalize()) for key in figures]
    rows = [
        [
            Cell(row.title, row.title),
            *(
                Cell(value, DASH if value is None else str(value))
                for value in (getattr(row, key) for key in figures)
            ),
        ]
        for row in table.rows
    ]
    return PaperTable(table.anchor, f"{table.title}: {table.caption}.", heads, rows)
