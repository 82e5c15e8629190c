"""Systems that a paper prints under two settings of a benchmark: pairs of figures, a drawing, its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString

from evalsvc.core.web.figures import DataTable, Figure
from evalsvc.core.web.formatting import counted, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.measures.menu import Measure, as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting
from evalsvc.evaluation.pages import comparison_charts
from evalsvc.evaluation.pages.board_columns import BoardView
from evalsvc.evaluation.reported.entries import PrintedFigure

TABLE = "printed-"  # and the key of the other setting


class PrintedPairs(NamedTuple):
    """Systems of papers with the figures of both settings, in the order they were entered."""

    settings: tuple[Setting, Setting]
    measures: tuple[Measure, Measure]
    systems: Sequence[tuple[ReportedSystem, PrintedFigure, PrintedFigure]]

    @property
    def values(self) -> list[tuple[float, float]]:
        return [(float(here.value), float(there.value)) for _, here, there in self.systems]

    @property
    def titles(self) -> tuple[str, str]:
        """Settings in a legend; with the measures if these differ."""
        same = self.measures[0].key == self.measures[1].key
        of = zip(self.settings, self.measures, strict=True)
        first, second = (setting.title if same else f"{setting.title}, {each.title}" for setting, each in of)
        return first, second

    @property
    def draw(self) -> Callable[..., SafeString] | None:
        """Function that draws them, if they are percentages."""
        if any(each.unit != "%" for each in self.measures):
            return None
        of_rows = zip(self.systems, self.values, strict=True)
        lines = [(row.system, here / 100, there / 100) for (row, *_), (here, there) in of_rows]
        title = f"{self.measures[0].title} as printed"
        return partial(comparison_charts.dumbbell, lines, names=self.titles, title=title)


def pairs(view: BoardView) -> list[PrintedPairs]:
    """Return the printed systems of a board with their figures under each other setting."""
    found, setting, here = [], view.board.setting, view.board.ordering.measure
    for other in view.others:
        there = as_shown(other.setting, here.key if here.key in other.policy.measures else other.setting.main)
        systems = [
            (row, own[here.key], elsewhere[there.key])
            for row in view.reported
            if here.key in (own := view.printed(row, setting))
            and there.key in (elsewhere := view.printed(row, other.setting))
        ]
        found.append(PrintedPairs((setting, other.setting), (here, there), systems))
    return found


def table(view: BoardView, of: PrintedPairs) -> PaperTable:
    """List the figures of both settings as printed, with their difference."""
    heads = [
        Head("system", "System", numeric=False), Head("paper", "Paper", numeric=False),
        *(Head(setting.key, title) for setting, title in zip(of.settings, of.titles, strict=True)),
        Head("difference", "Difference"),
    ]  # fmt: skip
    rows = []
    for (row, *printed), (here, there) in zip(of.systems, of.values, strict=True):
        difference = round(there - here, 6)
        cells = [Cell(text, text) for text in (row.system, f"{row.paper}, {row.table}")]
        cells += [Cell(float(each.value), str(each)) for each in printed]
        rows.append([*cells, Cell(difference, signed(difference, digits=of.measures[0].digits))])
    slug, other = view.board.setting.benchmark.slug, of.settings[1].key
    return PaperTable(f"{slug}-{TABLE}{other}", f"{of.measures[0].title} as papers print it.", heads, rows)


def figures(view: BoardView) -> list[Figure]:
    """Return a drawing for each other setting with two printed systems or more."""
    address, found = partial(reverse, "board-view-file"), []
    for of in pairs(view):
        if len(of.systems) < 2 or (draw := of.draw) is None:
            continue
        content, slug = table(view, of), view.board.setting.benchmark.slug
        query = f"{view.choice.query(order=view.board.order_by)}&table={TABLE}{of.settings[1].key}"
        drawn = draw(class_="wide-only") + draw(narrow=True, class_="narrow-only")
        first, second = of.titles
        found.append(
            Figure(
                title=f"{counted(len(of.systems), 'system')} as printed on “{first}” and “{second}”",
                drawing=drawn,
                name="Printed figures under two settings",
                caption=f"{of.measures[0].title}; figures of one paper under one name, not scored here.",
                table=DataTable(
                    [head.title for head in content.heads],
                    [[cell.text for cell in row] for row in content.rows],
                ),
                svg_url=address(args=[slug, "svg"]) + query,
                csv_url=address(args=[slug, "csv"]) + query,
            )
        )
    return found
