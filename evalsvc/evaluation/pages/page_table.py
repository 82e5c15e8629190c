"""Table of the systems on a board's page: ranks, figures, run strips, notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

import msgspec
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web import svg
from evalsvc.core.web.formatting import DASH, listed, measured, quoted, run_named
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.leaderboard import TIES
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.boards.reading import NOT_COMPUTED
from evalsvc.evaluation.disclosure.policy import undefined
from evalsvc.evaluation.measures.menu import Measure
from evalsvc.evaluation.models import ReportedSystem
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.board_columns import BoardColumn, BoardView, ColumnGroup
from evalsvc.evaluation.pages.board_rails import Rail, rails
from evalsvc.evaluation.reported.entries import PrintedFigure, figures_of

TAGS_SHOWN = 3
NOT_PRINTED = "the paper does not print it"
NOTEWORTHY_TIES = 0.1


class ScoreCell(msgspec.Struct, frozen=True, gc=False):
    """Mean with its deviation, or the reason for a dash.

    `leads` if no system is better by a test and one is worse; `mark` counts ranks above or below that of the
    ordering column, none by rounded figures, `confirmed` by tests of a pair. A board has hundreds of cells.
    """

    text: str
    sd: str = ""
    reason: str = ""
    mark: str = ""
    mark_title: str = ""
    edge: bool = False
    leads: bool = False
    confirmed: bool = False

    @property
    def classes(self) -> str:
        return f"{' edge' if self.edge else ''}{' fig--top' if self.leads else ''}"

    def __html__(self) -> str:
        if not self.reason:
            figures = f'{escape(self.text)} <small class="sd">{escape(self.sd)}</small>'
            return SafeString(f"{self._turn}{figures}")
        dash = '<span class="dash" title="{}">–<span class="sr"> {}</span></span> <small class="sd"></small>'
        return format_html(dash, self.reason, self.reason)

    __str__ = __html__

    @property
    def _turn(self) -> str:
        soft = "" if self.confirmed else " turn--soft"
        return f'<span class="turn{soft}" title="{self.mark_title}">{self.mark}</span> ' if self.mark else ""


class TableRow(msgspec.Struct, frozen=True):
    """System in the table; `run` is its newest run, if visible."""

    row: BoardRow
    last: datetime
    run: int | None
    first: ScoreCell
    strip: SafeString | str
    others: list[ScoreCell]
    rank: str
    no_rank: str
    rails: Sequence[Rail]
    baseline: bool
    tags: list[str]
    links: Mapping[str, str]
    description: str
    same_files: str


class ReportedRow(msgspec.Struct, frozen=True):
    """System of a paper below the ranked ones; figures as printed, and why they are impossible."""

    row: ReportedSystem
    fault: str
    first: ScoreCell
    strip: SafeString | str
    others: list[ScoreCell]


@dataclass(frozen=True)
class BoardTable:
    """Table of a board, ordered by the measure `first`.

    `undefined` when a cell of it has no figure.
    """

    first: Measure
    others: list[BoardColumn]
    groups: list[ColumnGroup]
    axis: SafeString | str
    rows: list[TableRow]
    notes: list[str]
    undefined: bool
    reported: list[ReportedRow]
    railed: bool = False

    @property
    def marked(self) -> bool:
        """True if a cell ranks its system higher or lower than the ordering column does."""
        return any(cell.mark for row in self.rows for cell in row.others)


def table(
    view: BoardView,
    shown: Sequence[BoardRow],
    *,
    names: Mapping[int, str],
    visible: Collection[int] = (),
    reported: Sequence[tuple[ReportedSystem, str]] = (),
) -> BoardTable:
    """Build the table of a page of rows, with links to runs; `names` are those of notes."""
    board, main = view.board, view.board.ordering.measure
    ends = list(board.ordering.kept.ends)
    printed = [(each, fault, figures_of(each)) for each, fault in reported]
    ends += [_share(each[main.key].value) for *_, each in printed if main.key in each and main.unit == "%"]
    # only percentages have run strips, on one scale
    scale = charts.run_scale(ends) if ends and main.unit == "%" else None
    beside = _rails(view, shown)
    same = {row.system.pk: _same_files(board, row, names) for row in shown}
    rows = [
        _row(view, row, scale, visible, beside.get(row.system.pk, ()), same[row.system.pk]) for row in shown
    ]
    axis = charts.strip_axis(scale) if scale else ""
    reasons = notes(view, shown, names)
    all_notes = [*reasons, *tie_notes(board, shown, names)]
    below = [_reported_row(view, *each, scale) for each in printed]
    return BoardTable(
        main, view.columns, view.groups, axis, rows, all_notes, bool(reasons), below, bool(beside)
    )


def _reported_row(
    view: BoardView,
    row: ReportedSystem,
    fault: str,
    figures: Mapping[str, PrintedFigure],
    scale: svg.Scale | None,
) -> ReportedRow:
    strip: SafeString | str = ""
    if scale and (main := figures.get(view.first.measure.key)):
        sd = _share(main.sd) if main.sd else 0.0
        strip = charts.reported_strip(_share(main.value), sd=sd, scale=scale, text=str(main))
    first, *others = [
        _printed_cell(column, view.printed(row, column.board.setting))
        for column in (view.first, *view.columns)
    ]
    return ReportedRow(row, fault, first, strip, others)


def _printed_cell(column: BoardColumn, figures: Mapping[str, PrintedFigure]) -> ScoreCell:
    """Format a figure as printed."""
    figure = figures.get(column.measure.key)
    if figure is None:
        return ScoreCell(DASH, reason=NOT_PRINTED, edge=column.edge)
    return ScoreCell(figure.value, f"± {figure.sd}" if figure.sd else "", edge=column.edge)


def _share(printed: str) -> float:
    return float(printed) / 100


def _same_files(board: Board, row: BoardRow, names: Mapping[int, str]) -> str:
    """Describe equal runs, and name systems with the same answers."""
    shared = [f"{run_named(each.run)} equals {run_named(each.equals)}" for each in row.runs.equal]
    return "; ".join([*shared, *([same] if (same := same_answers(board, row, names)) else [])])


def same_answers(board: Board, row: BoardRow, names: Mapping[int, str]) -> str:
    """Name the systems with the same answers, those of other teams with the team."""
    named = {
        quoted(f"{other.name} of {other.team_name}" if bare and other.team_id != row.system.team_id else name)
        for other in board.same_answers(row)
        for name in [names[other.pk]]
        for bare in [name == other.name]
    }
    return f"same answers as {listed(sorted(named))}" if named else ""


def _rails(view: BoardView, shown: Sequence[BoardRow]) -> dict[int, list[Rail]]:
    if (tests := view.first.tests) is None:
        return {}
    order = [row.system.pk for row in shown]
    return rails(order, view.first.bands, tests.wins(view.first.measure.key))


def _row(
    view: BoardView,
    row: BoardRow,
    scale: svg.Scale | None,
    visible: Collection[int],
    beside: Sequence[Rail],
    same_files: str,
) -> TableRow:
    main = view.board.ordering.measure
    figure = row.figure(main.key)
    strip: SafeString | str = ""
    if scale and figure and figure.mean is not None:
        strip = charts.run_strip(
            [value for value in view.first.values(row) if value is not None],
            mean=figure.mean,
            sd=figure.sd,
            scale=scale,
            digits=main.digits,
        )
    return TableRow(
        row=row,
        last=row.runs.last,
        run=row.runs.newest if row.runs.newest in visible else None,
        first=cell(figure, main, leads=view.first.leads(row)),
        rank=view.rank(row)[0],
        no_rank=view.rank(row)[1],
        rails=beside,
        strip=strip,
        others=[_cell(view, column, row) for column in view.columns],
        baseline=row.system.baseline,
        tags=row.declared.texts[:TAGS_SHOWN],
        links=row.declared.links,
        description=str(row.declared.tags.get("description", "")),
        same_files=same_files,
    )


def _cell(view: BoardView, column: BoardColumn, row: BoardRow) -> ScoreCell:
    """Format a figure, with the ranks it gains here: by exact figures of the same runs."""
    system = row.runs.system
    ranked = column.board.setting.pk in view.compared_settings
    figure = column.figures.get(system)
    missing = "" if figure else column.reason(row)
    return cell(
        figure,
        column.measure,
        shift=column.shift(row) if ranked else 0,
        missing=missing,
        edge=column.edge,
        leads=column.leads(row),
        confirmed=system in column.turned,
    )


def cell(
    figure: RunStatistics | None,
    measure: Measure,
    *,
    shift: int = 0,
    missing: str = NOT_COMPUTED,
    edge: bool = False,
    leads: bool = False,
    confirmed: bool = False,
) -> ScoreCell:
    """Format a figure, or a dash with its reason, `missing` without a figure.

    The n is shown where runs lack it.
    """
    if figure is None:
        return ScoreCell(DASH, reason=missing, edge=edge)
    if figure.mean is None:
        return ScoreCell(DASH, reason=figure.reason, edge=edge)
    text = measured(figure.mean, measure)
    parts = [] if figure.sd is None else [f"± {measured(figure.sd, measure)}"]
    parts += [f"(n = {figure.n})"] if figure.n < figure.of else []
    sd = " ".join(parts)
    if not shift:
        return ScoreCell(text, sd, edge=edge, leads=leads)
    mark, direction = ("▲", "higher") if shift > 0 else ("▼", "lower")
    title = f"ranked {abs(shift)} {direction} than by the ordering column; "
    title += "tests confirm both orders of a pair" if confirmed else "no test confirms it"
    return ScoreCell(text, sd, "", f"{mark}{abs(shift)}", title, edge, leads, confirmed)


def notes(view: BoardView, rows: Sequence[BoardRow], names: Mapping[int, str]) -> list[str]:
    """Return a note per reason of undefined figures in these rows."""
    systems_by_reason: dict[str, list[str]] = {}
    rows = list(rows)  # once, not for each column
    for column in (view.first, *view.columns):
        for row in rows:
            figure = column.figures.get(row.system.pk)
            if figure is not None and figure.n < figure.of:
                some = f"{figure.of - figure.n} of {figure.of} runs of "
                reason = f"{column.title} {undefined(figure.reason)}"
                system = f"{some if figure.n else ''}{quoted(names[row.system.pk])}"
                systems_by_reason.setdefault(reason, []).append(system)
    return [f"{reason} ({', '.join(systems)})" for reason, systems in systems_by_reason.items()]


def tie_notes(board: Board, rows: Sequence[BoardRow], names: Mapping[int, str]) -> list[str]:
    """Name the systems whose AUC lies under ties to a good part."""
    column = board.columns.get(TIES)
    if column is None:
        return []
    carried = [
        f"{quoted(names[row.system.pk])} {measured(share, column.measure)} %"
        for row in rows
        if (figure := column.figures.get(row.system.pk))
        and (share := figure.mean) is not None
        and share >= NOTEWORTHY_TIES
    ]
    systems = ", ".join(carried)
    return [f"Share of the AUC that lies under tied scores, which raise it: {systems}"] if carried else []
