"""Table of a board: columns, rank shifts, run strips and notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from evalsvc.core.web import svg
from evalsvc.core.web.formatting import DASH, counted, listed, measured
from evalsvc.evaluation.leaderboard import Board, BoardRow, Figure
from evalsvc.evaluation.measures.menu import MENU, Measure, as_shown
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.board_summary import Column


@dataclass(frozen=True)
class ColumnHead:
    """Column head; `sorted` marks the column that orders the table."""

    key: str
    title: str
    explains: str
    sorted: bool
    arrow: str
    ranks: bool = True


@dataclass(frozen=True)
class ScoreCell:
    """Mean with its deviation.

    `shift` counts ranks above that of the ordering column.
    """

    text: str
    sd: str = ""
    reason: str = ""
    shift: int = 0
    sorted: bool = False

    @property
    def mark(self) -> str:
        return f"▲{self.shift}" if self.shift > 0 else f"▼{-self.shift}" if self.shift else ""

    @property
    def shift_title(self) -> str:
        direction = "higher" if self.shift > 0 else "lower"
        return f"ranked {abs(self.shift)} {direction} than by the ordering column" if self.shift else ""


@dataclass(frozen=True)
class TableRow:
    """System in the table of a board."""

    row: BoardRow
    last: datetime
    first: ScoreCell
    strip: SafeString | str
    others: list[ScoreCell]
    baseline: bool
    tags: list[str]
    visible: bool
    description: str
    same_files: str

    @property
    def newest(self) -> int:
        return self.row.submissions[-1].pk


@dataclass(frozen=True)
class BoardTable:
    first: ColumnHead
    others: list[ColumnHead]
    axis: SafeString | str
    rows: list[TableRow]
    notes: list[str]


def as_column(board: Board, measure: str, *, title: str = "") -> Column:
    """Return a measure of the board as a column for its summary."""
    shown = as_shown(board.setting, measure)
    figures = {str(row.system.pk): row.figures[measure] for row in board.rows if measure in row.figures}
    return Column(title or shown.title, figures, shown.higher_is_better, shown.unit == "%", shown.digits)


def names(boards: Sequence[Board]) -> dict[str, str]:
    """Return the system names.

    The team is added where two share a name.
    """
    systems = {row.system.pk: row for board in boards for row in board.rows}
    all_names = [row.system.name for row in systems.values()]
    return {
        str(pk): f"{row.system.name} ({row.team.name})"
        if all_names.count(row.system.name) > 1
        else row.system.name
        for pk, row in systems.items()
    }


def table(board: Board, further: Sequence[str], *, visible: Collection[int] = ()) -> BoardTable:
    """Build the table.

    Systems link to their newest run where it is visible.
    """
    main = as_shown(board.setting, board.order_by)
    measures = [as_shown(board.setting, key) for key in further if key != board.order_by]
    ranks = as_column(board, board.order_by).ranks()
    other_ranks = [as_column(board, measure.key).ranks() if measure.ranks else {} for measure in measures]
    scale, same_files = _scale(board), _same_files(board)
    rows = []
    for row in board.rows:
        cells = [_cell(row, each, ranks, other) for each, other in zip(measures, other_ranks, strict=True)]
        rows.append(_row(row, main, cells, scale, visible, same_files[row.system.pk]))
    heads = [_head(measure, board.order_by) for measure in measures]
    axis = charts.strip_axis(scale) if scale else ""
    return BoardTable(
        _head(main, board.order_by), heads, axis, rows, _notes(board, [main.key, *(m.key for m in measures)])
    )


def _head(measure: Measure, order_by: str) -> ColumnHead:
    arrow = ("↑" if measure.higher_is_better else "↓") if measure.ranks else ""
    return ColumnHead(
        measure.key, measure.title, measure.explains, measure.key == order_by, arrow, measure.ranks
    )


def _values(figure: Figure | None) -> list[float]:
    return [value for _, value in figure.runs if value is not None] if figure else []


def _scale(board: Board) -> svg.Scale | None:
    """Return the common scale of the run strips; only percentages have them."""
    runs = [value for row in board.rows for value in _values(row.figures.get(board.order_by))]
    return charts.run_scale(runs) if runs and MENU[board.order_by].unit == "%" else None


def _same_files(board: Board) -> dict[int, str]:
    """Describe, by system, runs that share a file with another run."""
    holders: dict[str, list[str]] = defaultdict(list)
    for row in board.rows:
        for digest in row.files:
            holders[digest].append(row.system.name)
    notes = {}
    for row in board.rows:
        n, files = len(row.submissions), len(row.files)
        own = [f"{counted(n, 'run')}, {counted(files, 'file')}"] if files < n else []
        others = {name for digest in row.files for name in holders[digest]} - {row.system.name}
        notes[row.system.pk] = "; ".join(
            [*own, *([f"same file as {listed(sorted(others))}"] if others else [])]
        )
    return notes


def _row(
    row: BoardRow,
    main: Measure,
    cells: list[ScoreCell],
    scale: svg.Scale | None,
    visible: Collection[int],
    same: str,
) -> TableRow:
    figure = row.figures.get(main.key)
    strip: SafeString | str = ""
    if scale and figure and figure.mean is not None:
        strip = charts.run_strip(
            _values(figure), mean=figure.mean, sd=figure.sd, scale=scale, digits=main.digits
        )
    tags = {key: value for key, value in row.system.tags.items() if value not in (False, None, "")}
    baseline, description = bool(tags.pop("baseline", False)), str(tags.pop("description", ""))
    return TableRow(
        row=row,
        last=max(submission.created_at for submission in row.submissions),
        first=cell(figure, main, ordering=True),
        strip=strip,
        others=cells,
        baseline=baseline,
        tags=[str(key) if value is True else f"{key}: {value}" for key, value in tags.items()][:3],
        visible=row.submissions[-1].pk in visible,
        description=description,
        same_files=same,
    )


def cell(figure: Figure | None, measure: Measure, *, shift: int = 0, ordering: bool = False) -> ScoreCell:
    """Format a figure, or a dash with its reason."""
    if figure is None:
        return ScoreCell(DASH, reason="not computed for this form of predictions", sorted=ordering)
    if figure.mean is None:
        return ScoreCell(DASH, reason=figure.reason or "undefined", sorted=ordering)
    sd = "" if figure.sd is None else f"± {measured(figure.sd, measure)}"
    return ScoreCell(measured(figure.mean, measure), sd, shift=shift, sorted=ordering)


def _cell(row: BoardRow, measure: Measure, ranks: dict[str, int], other: dict[str, int]) -> ScoreCell:
    name = str(row.system.pk)
    shift = ranks[name] - other[name] if name in ranks and name in other else 0
    return cell(row.figures.get(measure.key), measure, shift=shift)


def _notes(board: Board, keys: Sequence[str]) -> list[str]:
    """Return a note per reason of undefined figures."""
    systems_by_reason: dict[str, list[str]] = {}
    for key in keys:
        for row in board.rows:
            figure = row.figures.get(key)
            if figure is not None and figure.undefined:
                some = f"{figure.undefined} of {len(figure.runs)} runs of " if figure.n else ""
                reason = f"{MENU[key].title} undefined: {figure.reason or 'no reason given'}"
                systems_by_reason.setdefault(reason, []).append(f"{some}{row.system.name}")
    return [f"{reason} ({', '.join(systems)})" for reason, systems in systems_by_reason.items()]
