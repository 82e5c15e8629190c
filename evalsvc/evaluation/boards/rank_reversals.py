"""Pairs of systems that another column of a board orders the other way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from typing import NamedTuple

from evalsvc.core.web.formatting import points
from evalsvc.evaluation.boards.ranking import Board, Column
from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.measures.menu import Measure

COMPARED = 50  # systems whose pairs a board compares


@dataclass(slots=True)  # thousands are made for a page
class Reversal:
    """Pair in which `first` leads by one column, trails by another."""

    first: int
    second: int
    here: Column
    there: Column
    gain: float
    loss: float


def reversals(here: Column, others: Collection[Column]) -> list[Reversal]:
    """Return pairs of systems that another column reverses, the widest first."""
    compared, others = here.order[:COMPARED], list(others)
    pairs = _reversed(tuple(here.leads(compared)), tuple(tuple(there.leads(compared)) for there in others))
    return [
        Reversal(compared[a], compared[b], here, others[there], gain, loss)
        for a, b, there, gain, loss in pairs
    ]


Leads = tuple[float | None, ...]


@lru_cache(maxsize=16)  # a board in its usual order takes thousands of comparisons for each reader
def _reversed(here: Leads, others: tuple[Leads, ...]) -> list[tuple[int, int, int, float, float]]:
    """Return places of a pair, which order reverses it, gain here and loss there; the widest first."""
    pairs = []
    for (a, first), (b, second) in combinations(enumerate(here), 2):
        gain = (first or 0.0) - (second or 0.0)
        if gain <= 0:
            continue
        for there, leads in enumerate(others):
            one, other = leads[a], leads[b]
            if one is not None and other is not None and one < other:
                pairs.append((a, b, there, gain, one - other))
    return sorted(pairs, key=lambda pair: -min(pair[3], -pair[4]))


def with_same_runs(*boards: Board) -> set[int]:
    """Return the systems of which boards show the same runs, by name; none where a Ladder chooses them."""
    if any(board.policy.hidden and board.setting.ladder is not None for board in boards):
        return set()
    first, *others = (board.runs_shown for board in boards)
    return {system for system, runs in first.items() if all(each.get(system) == runs for each in others)}


def shows_other_runs(*boards: Board) -> bool:
    """True if boards show other runs of a system that is on all of them."""
    on_all = set.intersection(*(set(board.runs_shown) for board in boards))
    return not with_same_runs(*boards) >= on_all


def direction_finder(measure: Measure, step: float = 0.0) -> Callable[[float], bool]:
    """Return a test for differences that show a direction: with a digit, and no less than the step.

    Below a step of rounding exact figures may have the other order. Those near half of the last digit are
    written to see.
    """
    last = (100 if measure.unit == "%" else 1) * 10**measure.digits

    def has_direction(value: float) -> bool:
        if abs(value) < step - TINY:
            return False
        lasts = abs(value) * last
        if 0.4 < lasts < 0.6:
            return points(value, measure) != points(0.0, measure)
        return lasts > 0.5

    return has_direction


class PairCounts(NamedTuple):
    """Pairs of systems that a second order keeps and turns, and those equal in one of the two.

    `tau_b` is Kendall's (1945), with its correction for ties. It is None without an order, and of rounded
    figures: less than a step apart is no tie of a ranking.
    """

    kept: int
    turned: int
    equal: int
    tau_b: float | None


def count_pairs(
    figures: Sequence[tuple[float, float]], steps: tuple[float, float] = (0.0, 0.0)
) -> PairCounts:
    """Count pairs of systems by their figures in two orders; equal ones are less than a step apart."""
    kept = turned = 0
    distinct = [0, 0]
    for one, other in combinations(figures, 2):
        gains = one[0] - other[0], one[1] - other[1]
        apart = [abs(gain) > max(step - TINY, 0.0) for gain, step in zip(gains, steps, strict=True)]
        distinct = [distinct[side] + apart[side] for side in (0, 1)]
        if all(apart):
            same = (gains[0] > 0) == (gains[1] > 0)
            kept, turned = kept + same, turned + (not same)
    pairs = len(figures) * (len(figures) - 1) // 2
    known = all(distinct) and not any(steps)
    tau = (kept - turned) / sqrt(distinct[0] * distinct[1]) if known else None
    return PairCounts(kept, turned, pairs - kept - turned, tau)
