"""A board as its page shows it: columns, cells with turned ranks, run strips, notes on what is undefined."""

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
class Head:
    """A column's head; the one that orders the table is marked."""

    key: str
    title: str
    explains: str
    sorted: bool
    arrow: str
    ranks: bool = True


@dataclass(frozen=True)
class Cell:
    """A mean with its deviation; `turn` is how many places higher than by the ordering column."""

    text: str
    sd: str = ""
    reason: str = ""
    turn: int = 0
    sorted: bool = False

    @property
    def mark(self) -> str:
        return f"▲{self.turn}" if self.turn > 0 else f"▼{-self.turn}" if self.turn else ""

    @property
    def turned(self) -> str:
        way = "higher" if self.turn > 0 else "lower"
        return f"{abs(self.turn)} {way} than by the ordering column" if self.turn else ""


@dataclass(frozen=True)
class Line:
    row: BoardRow
    last: datetime
    first: Cell
    strip: SafeString | str
    others: list[Cell]
    baseline: bool
    tags: list[str]
    seen: bool
    description: str
    same: str

    @property
    def saw_gold(self) -> bool:
        return self.row.saw_gold

    @property
    def newest(self) -> int:
        return self.row.submissions[-1].pk


@dataclass(frozen=True)
class Table:
    first: Head
    others: list[Head]
    axis: SafeString | str
    lines: list[Line]
    notes: list[str]


def as_column(board: Board, measure: str, *, title: str = "") -> Column:
    """A measure of the board as findings read it, by system."""
    told = as_shown(board.setting, measure)
    figures = {str(row.system.pk): row.figures[measure] for row in board.rows if measure in row.figures}
    return Column(title or told.title, figures, told.higher_is_better, told.unit == "%", told.digits)


def names(boards: Sequence[Board]) -> dict[str, str]:
    """How sentences call the systems; the team is added where two share a name."""
    systems = {row.system.pk: row for board in boards for row in board.rows}
    called = [row.system.name for row in systems.values()]
    return {
        str(pk): f"{row.system.name} ({row.team.name})"
        if called.count(row.system.name) > 1
        else row.system.name
        for pk, row in systems.items()
    }


def table(board: Board, further: Sequence[str], *, seen: Collection[int] = ()) -> Table:
    """The ordering column first, then the further measures; rows whose runs are seen lead to them."""
    main = as_shown(board.setting, board.order_by)
    measures = [as_shown(board.setting, key) for key in further if key != board.order_by]
    places = as_column(board, board.order_by).ranks()
    others = [as_column(board, measure.key).ranks() if measure.ranks else {} for measure in measures]
    scale, same = _scale(board), _same_bytes(board)
    lines = []
    for row in board.rows:
        cells = [_cell(row, told, places, ranks) for told, ranks in zip(measures, others, strict=True)]
        lines.append(_line(row, main, cells, scale, seen, same[row.system.pk]))
    heads = [_head(measure, board.order_by) for measure in measures]
    axis = charts.strip_axis(scale) if scale else ""
    return Table(
        _head(main, board.order_by), heads, axis, lines, _notes(board, [main.key, *(m.key for m in measures)])
    )


def _head(told: Measure, order_by: str) -> Head:
    arrow = ("↑" if told.higher_is_better else "↓") if told.ranks else ""
    return Head(told.key, told.title, told.explains, told.key == order_by, arrow, told.ranks)


def _values(figure: Figure | None) -> list[float]:
    return [value for _, value in figure.runs if value is not None] if figure else []


def _scale(board: Board) -> svg.Scale | None:
    """One scale for the column's strips; only shares of a hundred are drawn."""
    runs = [value for row in board.rows for value in _values(row.figures.get(board.order_by))]
    return charts.run_scale(runs) if runs and MENU[board.order_by].unit == "%" else None


def _same_bytes(board: Board) -> dict[int, str]:
    """By system: which of its runs are one file, and whose runs are the same bytes as some of its own."""
    holders: dict[str, list[str]] = defaultdict(list)
    for row in board.rows:
        for digest in row.files:
            holders[digest].append(row.system.name)
    told = {}
    for row in board.rows:
        n, files = len(row.submissions), len(row.files)
        own = [f"{counted(n, 'run')}, {counted(files, 'file')}"] if files < n else []
        others = {name for digest in row.files for name in holders[digest]} - {row.system.name}
        told[row.system.pk] = "; ".join(
            [*own, *([f"same file as {listed(sorted(others))}"] if others else [])]
        )
    return told


def _line(
    row: BoardRow, main: Measure, cells: list[Cell], scale: svg.Scale | None, seen: Collection[int], same: str
) -> Line:
    figure = row.figures.get(main.key)
    strip: SafeString | str = ""
    if scale and figure and figure.mean is not None:
        strip = charts.run_strip(
            _values(figure), mean=figure.mean, sd=figure.sd, scale=scale, digits=main.digits
        )
    tags = {key: value for key, value in row.system.tags.items() if value not in (False, None, "")}
    baseline, description = bool(tags.pop("baseline", False)), str(tags.pop("description", ""))
    return Line(
        row=row,
        last=max(submission.created_at for submission in row.submissions),
        first=cell(figure, main, ordering=True),
        strip=strip,
        others=cells,
        baseline=baseline,
        tags=[str(key) if value is True else f"{key}: {value}" for key, value in tags.items()][:3],
        seen=row.submissions[-1].pk in seen,
        description=description,
        same=same,
    )


def cell(figure: Figure | None, told: Measure, *, turn: int = 0, ordering: bool = False) -> Cell:
    """The figure as written, or a dash with its reason."""
    if figure is None:
        return Cell(DASH, reason="not computed for this form of predictions", sorted=ordering)
    if figure.mean is None:
        return Cell(DASH, reason=figure.reason or "undefined", sorted=ordering)
    sd = "" if figure.sd is None else f"± {measured(figure.sd, told)}"
    return Cell(measured(figure.mean, told), sd, turn=turn, sorted=ordering)


def _cell(row: BoardRow, told: Measure, places: dict[str, int], ranks: dict[str, int]) -> Cell:
    name = str(row.system.pk)
    turn = places[name] - ranks[name] if name in places and name in ranks else 0
    return cell(row.figures.get(told.key), told, turn=turn)


def _notes(board: Board, keys: Sequence[str]) -> list[str]:
    """One line per undefined figure with its reason; equal ones once."""
    told: dict[str, list[str]] = {}
    for key in keys:
        for row in board.rows:
            figure = row.figures.get(key)
            if figure is not None and figure.undefined:
                some = f"{figure.undefined} of {len(figure.runs)} runs of " if figure.n else ""
                reason = f"{MENU[key].title} undefined: {figure.reason or 'no reason given'}"
                told.setdefault(reason, []).append(f"{some}{row.system.name}")
    return [f"{reason} ({', '.join(systems)})" for reason, systems in told.items()]
