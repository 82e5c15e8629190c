"""Orders of a board by its measure and by others: reversed pairs with their tests, agreement of orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from evalsvc.core.web.formatting import DASH, counted, number, points
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.boards.rank_reversals import (
    COMPARED,
    Reversal,
    count_pairs,
    direction_finder,
    reversals,
    with_same_runs,
)
from evalsvc.evaluation.boards.ranking import Board, Column
from evalsvc.evaluation.comparison.board_comparison import BoardComparison
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.measures.menu import other_form, scheme_measures
from evalsvc.evaluation.pages import printed_settings
from evalsvc.evaluation.pages.board_columns import BoardView

SHOWN = 12
Names = Mapping[int, str]


# ---- what is compared ------------------------------------------------------------------------------
class Order(NamedTuple):
    """Column that orders the systems, too, with its tests; `elsewhere` if under another setting.

    Its figures are rounded to `step`, 0 if exact.
    """

    column: Column
    tests: BoardComparison | None
    elsewhere: bool = False
    step: float = 0.0


def scheme_columns(board: Board) -> list[Column]:
    """Return the five weightings of F1, or nothing if one is absent."""
    columns = [board.columns[key] for key in scheme_measures(board.setting, board.columns)]
    return [column.titled(column.title.split(" ")[-2]) for column in columns]


def other_orders(view: BoardView) -> list[Order]:
    """Return the weightings beside the ordering column, its other form, and it under the other settings."""
    board, tests = view.board, view.tests
    own = [each.measure.key for each in scheme_columns(board) if each.measure.key != board.order_by]
    own += other_form(board.order_by, board.columns)
    orders = [
        Order(board.columns[key], tests.get(board.setting.pk), step=board.policy.greatest_step(key))
        for key in own
    ]
    for other in view.others:
        column, alike = _column_of_other(other, board.order_by), with_same_runs(board, other)
        if column and alike:
            step = other.policy.greatest_step(column.measure.key)
            orders.append(Order(column.among(alike), tests.get(other.setting.pk), elsewhere=True, step=step))
    return orders


def _column_of_other(other: Board, measure: str) -> Column | None:
    """Return the measure on another setting's board, else its main one."""
    column = other.columns.get(measure) or other.columns.get(other.setting.main)
    return column and column.titled(f"{column.title} on “{other.setting.title}”")


# ---- reversed pairs --------------------------------------------------------------------------------
@dataclass(slots=True)
class TestedReversal(Reversal):
    """Reversal with the tests of both orders; `confirmed` if one finds each system ahead once.

    `shown` if both differences have a digit that the board shows, and no step of rounding leaves them open.
    """

    tests: tuple[BoardComparison | None, BoardComparison | None]
    confirmed: bool
    shown: bool

    @property
    def p(self) -> tuple[Cell, Cell]:
        """Adjusted p of both orders; its range as text where the number is held back."""
        here, there = self._tests
        return _p_cell(here), _p_cell(there)

    @property
    def no_p(self) -> list[str]:
        """Why a test of an order has no p, empty if it has one, or there is no test."""
        return [test.reason if test else "" for test in self._tests]

    @property
    def _tests(self) -> list[ShownTest | None]:
        return [
            tests.of_systems(column.measure.key, self.first, self.second) if tests is not None else None
            for tests, column in zip(self.tests, (self.here, self.there), strict=True)
        ]


def _p_cell(test: ShownTest | None) -> Cell:
    text = test.p_holm_text if test else ""
    return Cell(test.p_holm if test and test.p_holm is not None else text or None, text or DASH)


def reversed_pairs(
    here: Column,
    orders: Sequence[Order],
    own: BoardComparison | None = None,
    step: float = 0.0,
) -> list[TestedReversal]:
    """Return the pairs that another order reverses, those confirmed by tests first, then the widest.

    `own` are the tests of the column they are ordered by, rounded to `step`.
    """
    wins = own.wins(here.measure.key) if own else frozenset()
    has_direction = direction_finder(here.measure, step)
    of_order = {
        id(column): (
            (own, tests),
            tests.wins(column.measure.key) if tests is not None and wins else frozenset(),
            direction_finder(column.measure, step_there),
        )
        for column, tests, _, step_there in orders
    }
    tested = []
    for pair in reversals(here, [order.column for order in orders]):
        first, second, there = pair.first, pair.second, pair.there
        tests, losses, has_direction_there = of_order[id(there)]
        confirmed = (first, second) in wins and (second, first) in losses
        shown = has_direction(pair.gain) and has_direction_there(pair.loss)
        tested.append(
            TestedReversal(first, second, here, there, pair.gain, pair.loss, tests, confirmed, shown)
        )
    return sorted(tested, key=attrgetter("confirmed"), reverse=True)


def reversed_of(view: BoardView, orders: Sequence[Order]) -> list[TestedReversal]:
    """Return the reversed pairs of a view."""
    return reversed_pairs(view.board.ordering, orders, view.tests.get(view.board.setting.pk), _step(view))


def _step(view: BoardView) -> float:
    return view.board.policy.greatest_step(view.board.order_by)


# ---- agreement of orders ---------------------------------------------------------------------------
class Agreement(NamedTuple):
    """Pairs of systems that an order keeps, turns, and has equal; `tau_b` is Kendall's."""

    title: str
    systems: int
    kept: int
    turned: int
    confirmed: int
    equal: int
    tau_b: float | None

    @property
    def tau_text(self) -> str:
        return DASH if self.tau_b is None else number(self.tau_b, digits=2)


def _agreement(
    title: str,
    figures: Sequence[tuple[float, float]],
    steps: tuple[float, float] = (0.0, 0.0),
    confirmed: int = 0,
) -> Agreement:
    kept, turned, equal, tau_b = count_pairs(figures, steps)
    return Agreement(title, len(figures), kept, turned, confirmed, equal, tau_b)


def agreements(
    here: Column, orders: Sequence[Order], pairs: Sequence[TestedReversal], step: float = 0.0
) -> list[Agreement]:
    """Count the pairs of the systems that both orders have."""
    confirmed = Counter(id(pair.there) for pair in pairs if pair.confirmed)
    compared, rows = here.order[:COMPARED], []
    for order in orders:
        column = order.column
        leads = zip(here.leads(compared), column.leads(compared), strict=True)
        both = [(mine, other) for mine, other in leads if mine is not None and other is not None]
        rows.append(_agreement(column.title, both, (step, order.step), confirmed[id(column)]))
    return [each for each in rows if each.systems > 1]


def printed_agreements(view: BoardView) -> list[Agreement]:
    """Count the pairs of systems that papers print under this setting and another."""
    rows = []
    for printed in printed_settings.pairs(view):
        there = printed.measures[1]
        signs = [1 if measure.higher_is_better else -1 for measure in printed.measures]
        figures = [(here * signs[0], other * signs[1]) for here, other in printed.values]
        rows.append(_agreement(f"{there.title} on “{printed.settings[1].title}”, as printed", figures))
    return [each for each in rows if each.systems > 1]


# ---- on the page, and as tables ----------------------------------------------------------------------
def context(view: BoardView, orders: Sequence[Order], pairs: Sequence[TestedReversal], names: Names) -> Any:
    """Return what the page shows of the orders."""
    systems, pairs = len(view.board.rows), [pair for pair in pairs if pair.shown]
    confirmed = sum(pair.confirmed for pair in pairs)
    among = f" among the first {COMPARED} systems" if systems > COMPARED else ""
    shown = f", the first {SHOWN} shown" if len(pairs) > SHOWN else ""
    of_pairs = len({frozenset((pair.first, pair.second)) for pair in pairs})
    counts = counted(of_pairs, "pair")
    if of_pairs < len(pairs):  # several orders reverse one pair
        counts = f"{counted(len(pairs), 'reversal')} of {counts}"
    tests = f" For {confirmed:,} of them tests confirm both orders." if confirmed else ""
    rows = [
        {
            "first": names[pair.first],
            "second": names[pair.second],
            "here": pair.here.title,
            "there": pair.there.title,
            "gain": points(pair.gain, pair.here.measure),
            "loss": points(pair.loss, pair.there.measure),
            "p": list(zip((cell.text for cell in pair.p), pair.no_p, strict=True)),
            "confirmed": pair.confirmed,
        }
        for pair in pairs[:SHOWN]
    ]
    return {
        "reversals": rows,
        "reversals_lead": f"{counts} by shown digits{among}{shown}.{tests}",
        "rounded": any(board.held_back for board in (view.board, *view.others)),
        "agreements": [
            *(agreements(view.board.ordering, orders, pairs, _step(view)) if systems > 1 else ()),
            *printed_agreements(view),
        ],
    }


def pairs_table(view: BoardView, names: Names) -> PaperTable:
    """All reversed pairs, with both differences and their p after Holm."""
    heads = [
        Head("first", "First", numeric=False), Head("second", "Second", numeric=False),
        Head("ahead_by", "First ahead by", numeric=False), Head("difference", "Difference"),
        Head("p", "p, Holm", numeric=False), Head("behind_by", "Behind by", numeric=False),
        Head("difference_there", "Difference there"), Head("p_there", "p there, Holm", numeric=False),
        Head("confirmed", "Confirmed", numeric=False),
    ]  # fmt: skip
    rows = []
    for pair in filter(attrgetter("shown"), reversed_of(view, other_orders(view))):
        sides = ((pair.here, pair.gain, pair.p[0]), (pair.there, pair.loss, pair.p[1]))
        cells = [Cell(names[system], names[system]) for system in (pair.first, pair.second)]
        for column, value, p in sides:
            shown = points(value, column.measure)
            cells += [Cell(column.title, column.title), Cell(value, shown), p]
        rows.append([*cells, Cell(pair.confirmed, "both orders" if pair.confirmed else "")])
    return PaperTable(f"{view.board.setting.benchmark.slug}-reversals", "Reversed pairs.", heads, rows)


def orders_table(view: BoardView, names: Names) -> PaperTable:
    """How far other measures, and other settings, keep the order of the systems."""
    heads = [
        Head("order", "Order by", numeric=False), Head("systems", "Systems"), Head("kept", "Pairs kept"),
        Head("turned", "Turned"), Head("confirmed", "Confirmed"), Head("equal", "Equal"),
        Head("tau_b", "τ-b"),
    ]  # fmt: skip
    orders = other_orders(view)
    rows = [
        [Cell(each.title, each.title)]
        + [Cell(value, f"{value:,}") for value in each[1:-1]]
        + [Cell(each.tau_b, each.tau_text)]
        for each in (
            *agreements(view.board.ordering, orders, reversed_of(view, orders), _step(view)),
            *printed_agreements(view),
        )
    ]
    caption = f"Pairs of systems in the order by {view.board.ordering.title}, and in other orders."
    return PaperTable(f"{view.board.setting.benchmark.slug}-orders", caption, heads, rows)
