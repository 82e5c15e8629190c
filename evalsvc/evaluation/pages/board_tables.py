"""Tables of a view of a board, for papers and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from django.utils.text import capfirst

from evalsvc.core.web.formatting import DASH, measured, quoted
from evalsvc.core.web.tables import Cell, Head, PaperTable, part_heads
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.measures.computation import in_one_line
from evalsvc.evaluation.models import ReportedSystem
from evalsvc.evaluation.pages import board_reversals
from evalsvc.evaluation.pages.board_columns import BoardColumn, BoardView
from evalsvc.evaluation.pages.page_table import NOT_PRINTED, notes, same_answers, tie_notes

SYSTEM_HEADS = (Head("place", "Place"), Head("system", "System", numeric=False))
TEAM_HEAD = Head("team", "Team", numeric=False)
BAND_HEAD = Head("band", "Ranks by tests", numeric=False)
EMPTY = Cell("", "")

REPORTED_HEAD = Head("reported", "Reported in", numeric=False)
BASELINE_HEAD = Head("baseline", "Baseline", numeric=False)
OMITTED_HEADS = (
    Head("withdrawn", "Withdrawn runs"),
    Head("withdrawn_elsewhere", "Runs withdrawn under another setting"),
    Head("withheld", "Withheld runs"),
)
REPORTED = "Rows marked as reported have the figures of papers as printed; they are not ranked."
SAME_HEAD = Head("same_answers", "Same answers", numeric=False)
IMPOSSIBLE = "impossible on this gold"
TESTED = "Ranks are those left open by {}, .05 after Holm. Bold: none is better by a test, and one is worse."


class MakesTable(Protocol):
    def __call__(self, view: BoardView, *, every: bool = True) -> PaperTable: ...


def systems_table(view: BoardView, *, every: bool = True) -> PaperTable:
    """A row per system with the chosen columns, then those of papers, which are marked and have no rank.

    Programs get `every` part of a figure as a value in a cell of its own and the name of the team; papers
    get mean ± deviation, and the team where two systems share a name.
    """
    columns, names = [view.first, *view.columns], names_on_board(view.board)
    heads = [
        *SYSTEM_HEADS,
        *([TEAM_HEAD, BAND_HEAD, REPORTED_HEAD, BASELINE_HEAD] if every else []),
        Head("n", "n"),
        *((*OMITTED_HEADS, SAME_HEAD) if every else ()),
    ]
    for column in columns:
        head = Head(column.key, column.title)
        heads += [head, *part_heads(head)] if every else [head]
    rows = []
    for row in view.rows:
        name = row.system.name if every else names[row.system.pk]
        name += " (baseline)" if row.system.baseline and not every else ""
        cells = [Cell(row.rank, view.rank(row)[0]), Cell(name, name)]
        band = view.first.bands.get(row.system.pk)
        of_program = [Cell(row.system.team_name, ""), Cell(str(band), "") if band else EMPTY, EMPTY]
        of_program.append(Cell(row.system.baseline, ""))
        cells += of_program if every else []
        cells.append(Cell(row.n, row.n_text))
        omitted = (row.runs.withdrawn, row.runs.withdrawn_elsewhere, row.runs.withheld)
        of_runs = (*omitted, same_answers(view.board, row, names))
        cells += [Cell(value, "") for value in of_runs] if every else []
        for column in columns:
            cells += _figure_cells(column, row, every=every)
        rows.append(cells)
    rows += [_reported_cells(view, columns, row, every=every) for row in view.reported]
    return PaperTable(f"{view.board.setting.benchmark.slug}-board", caption(view, names), heads, rows)


def _reported_cells(
    view: BoardView, columns: Sequence[BoardColumn], row: ReportedSystem, *, every: bool
) -> list[Cell]:
    """Return the cells of a system of a paper; programs get its shares in the unit of the others."""
    source, faults = f"{row.paper}, {row.table}", view.faults.get(row.pk, {})
    name = row.system if every else f"{row.system} (reported, {source})"
    cells = [Cell(None, DASH), Cell(name, name)]
    cells += [EMPTY, EMPTY, Cell(source, ""), Cell(False, "")] if every else []
    cells.append(Cell(row.runs, str(row.runs or "?")))
    cells += [*[Cell(None, "")] * len(OMITTED_HEADS), EMPTY] if every else []
    for column in columns:
        figure = view.printed(row, column.board.setting).get(column.measure.key)
        if figure is None:
            mean, rest = Cell(None, DASH), [Cell(None, ""), Cell(0, ""), Cell(NOT_PRINTED, "")]
        else:
            unit = 100 if column.measure.unit == "%" else 1
            values = [float(Decimal(text) / unit) if text else None for text in figure]
            fault = faults.get(column.measure.key, "") if column.own else ""
            mean = Cell(values[0], f"{figure}{' *' if fault else ''}")
            reason = f"{IMPOSSIBLE}: {fault}" if fault else ""
            rest = [Cell(values[1], ""), Cell(row.runs, ""), Cell(reason, "")]
        cells += [mean, *rest] if every else [mean]
    return cells


def _figure_cells(column: BoardColumn, row: BoardRow, *, every: bool) -> list[Cell]:
    figure = column.figures.get(row.system.pk)
    if not every:
        return [Cell(figure.mean if figure else None, _mean_text(column, figure), column.leads(row))]
    if figure is None:
        return [Cell(None, ""), Cell(None, ""), Cell(0, ""), Cell(column.reason(row), "")]
    reason = Cell(figure.reason, "") if figure.reason else EMPTY
    return [Cell(figure.mean, ""), Cell(figure.sd, ""), Cell(figure.n, ""), reason]


def _mean_text(column: BoardColumn, figure: RunStatistics | None) -> str:
    if figure is None or figure.mean is None:
        return DASH
    text = measured(figure.mean, column.measure)
    text += "" if figure.sd is None else f" ± {measured(figure.sd, column.measure)}"
    return text + (f" (n = {figure.n})" if figure.n < figure.of else "")


def runs_table(view: BoardView, *, every: bool = True) -> PaperTable:
    """A row per run and setting, with the values of the chosen columns."""
    columns = [view.first, *view.columns]
    heads = [Head("setting", "Setting", numeric=False), Head("system", "System", numeric=False), TEAM_HEAD]
    heads += [Head("run", "Run", numeric=False)]
    measures = {column.measure.key: column.measure for column in columns}
    heads += [Head(key, measure.title) for key, measure in measures.items()]
    by_setting: dict[str, list[BoardColumn]] = {}
    for column in columns:
        by_setting.setdefault(column.board.setting.key, []).append(column)
    rows = []
    for key, of_setting_ in by_setting.items():
        for row in view.rows:
            system = [Cell(text, text) for text in (key, row.system.name, row.system.team_name)]
            values = {column.measure.key: column.values(row) for column in of_setting_}
            for place, run in enumerate(of_setting_[0].names(row)):
                cells = [*system, Cell(run, run)]
                for measure_key, measure in measures.items():
                    of_runs = values.get(measure_key) or []
                    value = of_runs[place] if place < len(of_runs) else None
                    cells.append(Cell(value, DASH if value is None else measured(value, measure)))
                rows.append(cells)
    words = f"Values of each run with answers of its own. {_described(view)}"
    return PaperTable(f"{view.board.setting.benchmark.slug}-runs", words, heads, rows)


def _of_orders(table: Callable[[BoardView, Mapping[int, str]], PaperTable]) -> MakesTable:
    """Return a table of orders with the words below the others."""

    def made(view: BoardView, *, every: bool = True) -> PaperTable:
        found = table(view, names_on_board(view.board))
        return replace(found, caption=f"{found.caption} {_described(view)}")

    return made


TABLES: dict[str, MakesTable] = {
    "systems": systems_table,
    "runs": runs_table,
    "reversals": _of_orders(board_reversals.pairs_table),
    "orders": _of_orders(board_reversals.orders_table),
}


def caption(view: BoardView, names: Mapping[int, str]) -> str:
    """Sentences below a table: what it shows, why a figure is missing, how scores were computed."""
    words = [f"{capfirst(figures_shown(view))}. {_described(view)}"]
    if view.first.bands and view.first.tests:
        words.append(TESTED.format(view.first.tests.methods_in_words(view.board.order_by)))
    words += [f"{quoted(names[row.system.pk])}: {row.runs_text}." for row in view.rows if row.omitted_text]
    same = ((row, same_answers(view.board, row, names)) for row in view.rows)
    words += [f"{quoted(names[row.system.pk])}: {text}." for row, text in same if text]
    words += [REPORTED, *_impossible(view)] if view.reported else []
    below = [*notes(view, view.rows, names), *tie_notes(view.board, view.rows, names)]
    words += [f"{note}." for note in below]
    return " ".join(words)


def figures_shown(view: BoardView) -> str:
    """Say what the figures of the table are."""
    settings = {column.board.setting.pk: column.board.setting for column in (view.first, *view.columns)}
    return row_rules.figures_under(settings.values())


def _impossible(view: BoardView) -> Iterator[str]:
    """Say why printed figures of the view are marked with a star."""
    shown = {column.measure.key for column in (view.first, *view.columns) if column.own}
    for row in view.reported:
        faults = view.faults.get(row.pk, {})
        for reason in dict.fromkeys(reason for key, reason in faults.items() if key in shown):
            yield f"* {row.system} ({row.paper}, {row.table}): {IMPOSSIBLE}, {reason}."


def _described(view: BoardView) -> str:
    board, choice = view.board, view.choice
    words = [f"{board.setting.benchmark}, {board.order_in_words}."]
    filters = [f"{name} {value}" for name, value in choice.filters]
    if filters:
        words.append(f"{len(view.rows)} of {len(board.rows)} systems: {', '.join(filters)}.")
    boards = {column.board.setting.pk: column.board for column in (view.first, *view.columns)}
    return " ".join([*words, *map(file_computation, boards.values())])


def board_computation(board: Board) -> str:
    """Return setting, version and every choice behind the figures of a board."""
    computed = stated_computation(board.setting, board.version)
    return f"{board.setting.title}: version {board.version.number}; {in_one_line(computed)}."


def file_computation(board: Board) -> str:
    """Return the same with what is held back, which pages say beside their figures."""
    return " ".join(filter(None, [board_computation(board), board.held_back]))
