"""A board as its page shows it: columns, cells with turned ranks, run strips, notes on what is undefined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from evalsvc import drawing
from evalsvc.evaluation import charts
from evalsvc.evaluation.findings import Column
from evalsvc.evaluation.leaderboard import Board, Figure, Row
from evalsvc.evaluation.measures import MENU
from evalsvc.figures import DASH, measured


@dataclass(frozen=True)
class Head:
    """A column's head; the one that orders the table is marked."""

    key: str
    title: str
    explains: str
    sorted: bool
    arrow: str


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
    row: Row
    last: datetime
    first: Cell
    strip: SafeString | str
    others: list[Cell]
    baseline: bool
    tags: list[str]
    seen: bool
    description: str

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
    told = MENU[measure]
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
    ordering = as_column(board, board.order_by)
    keys = [key for key in further if key != board.order_by]
    columns = [as_column(board, key) for key in keys]
    places, others = ordering.ranks(), [column.ranks() for column in columns]
    scale = _scale(board)
    lines = []
    for row in board.rows:
        cells = [_cell(row, key, places, ranks) for key, ranks in zip(keys, others, strict=True)]
        lines.append(_line(row, board.order_by, cells, scale, seen))
    heads = [_head(key, board.order_by) for key in keys]
    axis = charts.strip_axis(scale) if scale else ""
    return Table(_head(board.order_by, board.order_by), heads, axis, lines, _notes(board, keys))


def _head(key: str, order_by: str) -> Head:
    told = MENU[key]
    return Head(key, told.title, told.explains, key == order_by, "↑" if told.higher_is_better else "↓")


def _values(figure: Figure | None) -> list[float]:
    return [value for _, value in figure.runs if value is not None] if figure else []


def _scale(board: Board) -> drawing.Scale | None:
    """One scale for the column's strips; only shares of a hundred are drawn."""
    runs = [value for row in board.rows for value in _values(row.figures.get(board.order_by))]
    return charts.run_scale(runs) if runs and MENU[board.order_by].unit == "%" else None


def _line(
    row: Row, order_by: str, cells: list[Cell], scale: drawing.Scale | None, seen: Collection[int]
) -> Line:
    figure = row.figures.get(order_by)
    strip: SafeString | str = ""
    if scale and figure and figure.mean is not None:
        strip = charts.run_strip(_values(figure), mean=figure.mean, sd=figure.sd, scale=scale)
    last = max(submission.created_at for submission in row.submissions)
    tags = {key: value for key, value in row.system.tags.items() if value not in (False, None, "")}
    baseline, description = bool(tags.pop("baseline", False)), str(tags.pop("description", ""))
    told = [str(key) if value is True else f"{key}: {value}" for key, value in tags.items()]
    may_look = row.submissions[-1].pk in seen
    return Line(
        row,
        last,
        cell(figure, order_by, ordering=True),
        strip,
        cells,
        baseline,
        told[:3],
        may_look,
        description,
    )


def cell(figure: Figure | None, key: str, *, turn: int = 0, ordering: bool = False) -> Cell:
    """The figure as written, or a dash with its reason."""
    if figure is None:
        return Cell(DASH, reason="not computed for this form of predictions", sorted=ordering)
    if figure.mean is None:
        return Cell(DASH, reason=figure.reason or "undefined", sorted=ordering)
    sd = "" if figure.sd is None else f"± {measured(figure.sd, MENU[key])}"
    return Cell(measured(figure.mean, MENU[key]), sd, turn=turn, sorted=ordering)


def _cell(row: Row, key: str, places: dict[str, int], ranks: dict[str, int]) -> Cell:
    name = str(row.system.pk)
    turn = places[name] - ranks[name] if name in places and name in ranks else 0
    return cell(row.figures.get(key), key, turn=turn)


def _notes(board: Board, keys: Sequence[str]) -> list[str]:
    """One line per undefined figure with its reason; equal ones once."""
    told: dict[str, list[str]] = {}
    for key in [board.order_by, *keys]:
        for row in board.rows:
            figure = row.figures.get(key)
            if figure is not None and figure.undefined:
                some = f"{figure.undefined} of {len(figure.runs)} runs of " if figure.n else ""
                reason = f"{MENU[key].title} undefined: {figure.reason or 'no reason given'}"
                told.setdefault(reason, []).append(f"{some}{row.system.name}")
    return [f"{reason} ({', '.join(systems)})" for reason, systems in told.items()]
