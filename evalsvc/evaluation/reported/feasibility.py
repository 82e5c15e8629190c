"""Whether counts exist that give figures as they are printed.

Whole numbers only: a figure printed with d digits lies within half a unit of the last digit, ends included.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import NamedTuple


class Interval(NamedTuple):
    """Figures that round to a printed one, as whole numerators over `scale`."""

    low: int
    high: int
    scale: int

    @classmethod
    def of(cls, printed: str, *, percent: bool = True) -> Interval:
        """Return the interval of a printed figure such as 70.8.

        Parameters
        ----------
        printed : str
            Digits with at most one point.
        percent : bool, default True
            False for figures printed as shares.
        """
        whole, _, digits = printed.partition(".")
        scale, twice = 2 * 10 ** len(digits) * (100 if percent else 1), 2 * int(f"{whole}{digits}")
        return cls(max(twice - 1, 0), min(twice + 1, scale), scale)


class Counts(NamedTuple):
    """Number of solutions (correct, predicted), the first and the last of them."""

    solutions: int
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None


@lru_cache(maxsize=4096)
def count_solutions(
    gold: int,
    items: int | None,
    precision: Interval | None,
    recall: Interval | None,
    f1: Interval | None,
) -> Counts:
    """Count the pairs tp ≤ gold, tp ≤ predicted that give P, R and F1 of one run.

    P = tp / predicted, R = tp / gold, F1 = 2 tp / (predicted + gold).

    Parameters
    ----------
    gold : int
        Number of gold labels that count as positive; at least 1.
    items : int or None
        The most that can be predicted, in single-label tasks.
    precision, recall, f1 : Interval or None
        None: not printed.

    Returns
    -------
    Counts
        Of pairs in the order of tp, then of predicted.
    """
    low, high = 0, gold
    if recall:
        low, high = _ceil(recall.low * gold, recall.scale), recall.high * gold // recall.scale
    solutions, first, last = 0, None, None
    for tp in range(low, min(high, gold) + 1):
        least, most = max(tp, 1), inf if items is None else items
        # tp and the number that it is divided by, less what gold adds to that
        for times, interval, added in ((1, precision, 0), (2, f1, gold)):
            if interval:
                share = times * tp * interval.scale
                least = max(least, _ceil(share, interval.high) - added)
                most = min(most, share // interval.low - added if interval.low else inf)
        if most == inf:  # nothing printed limits what was predicted
            most = least
        if least <= most:
            solutions += int(most) - least + 1
            first, last = first or (tp, least), (tp, int(most))
    return Counts(solutions, first, last)


def right_answers(items: int, accuracy: Interval) -> Counts:
    """Count the numbers of right answers among items that give an accuracy."""
    low, high = _ceil(accuracy.low * items, accuracy.scale), accuracy.high * items // accuracy.scale
    return Counts(high - low + 1, (low, items), (high, items)) if low <= high else Counts(0)


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
