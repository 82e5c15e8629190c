"""Agreement among annotators on nominal answers, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.counts import Ints, integers, require_choice
from workers.metrics.ratios import Floats, divide
from workers.metrics.report import Value, value_of

COEFFICIENTS = ("observed", "fleiss", "alpha", "ac1")
NO_PAIRS = "no item has two answers"
ONE_CATEGORY = "all answers are the same, so agreement cannot be corrected for chance"
_REASONS = {"observed": NO_PAIRS, "fleiss": ONE_CATEGORY, "alpha": ONE_CATEGORY, "ac1": ONE_CATEGORY}


def _sums(group: Ints, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(group, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answer counts as rows (item, category, count), sorted by item.

    *times*, if given, is the number of items that each one represents.
    """

    item: Ints
    category: Ints
    count: Ints
    n_items: int
    n_categories: int
    times: Ints | None = None

    @cached_property
    def taken(self) -> Floats:
        """Weight of each item by default."""
        return np.ones(self.n_items) if self.times is None else self.times.astype(np.float64)

    @cached_property
    def votes(self) -> Floats:
        """Answers per item."""
        return _sums(self.item, self.count.astype(np.float64), self.n_items)

    @cached_property
    def modal(self) -> int:
        """Most common number of answers above one; 0 without any."""
        several = self.votes >= 2
        if not several.any():
            return 0
        often = np.bincount(self.votes[several].astype(np.int64), weights=self.taken[several])
        return int(np.flatnonzero(often == often.max())[-1])

    def spread(self, per_row: Floats, weights: Floats) -> Floats:
        """Sum weight × row value over the items of each category."""
        return _sums(self.category, per_row * weights[self.item], self.n_categories)

    @cached_property
    def pair_agreement(self) -> Floats:
        """Share of agreeing pairs of answers per item; 0 below two answers."""
        agree = np.bincount(self.item, weights=self.count * (self.count - 1.0), minlength=self.n_items)
        return np.asarray(divide(agree, self.votes * (self.votes - 1), undefined=0.0))


def answers_of_columns(
    item: ArrayLike, category: ArrayLike, *, n_items: int, n_categories: int
) -> AnswerTable:
    """Count answers given one per row.

    Parameters
    ----------
    item, category : array_like of int, shape (answers,)
        Codes; "no relation" is a category like any other.
    n_items, n_categories : int

    Returns
    -------
    AnswerTable

    Raises
    ------
    ValueError
        If lengths differ or a code is out of range.

    Examples
    --------
    >>> answers_of_columns([0, 0, 1], [1, 1, 0], n_items=2, n_categories=2).votes.tolist()
    [2.0, 1.0]
    """
    items, categories = integers(item), integers(category)
    if len(items) != len(categories):
        raise ValueError(
            f"there are {len(items)} items and {len(categories)} categories, expected equal numbers"
        )
    for name, codes, size in (("item", items, n_items), ("category", categories, n_categories)):
        if len(codes) and (codes.min() < 0 or codes.max() >= size):
            raise ValueError(f"an {name} code is out of range, expected 0 to {size - 1}")
    cells, count = np.unique(items * n_categories + categories, return_counts=True)
    return AnswerTable(cells // n_categories, cells % n_categories, count, n_items, n_categories)


def answers_of_table(table: ArrayLike) -> AnswerTable:
    """Count answers given as a table, one row per item.

    Parameters
    ----------
    table : array_like of int, shape (items, categories)

    Returns
    -------
    AnswerTable

    Examples
    --------
    >>> answers_of_table([[2, 1], [0, 3]]).modal
    3
    """
    cells = integers(table)
    item, category = np.nonzero(cells)
    return AnswerTable(item, category, cells[item, category], *cells.shape)


def coefficient(answers: AnswerTable, name: str, *, weights: ArrayLike | None = None) -> float:
    """Compute one of `COEFFICIENTS`.

    observed: mean over items with two or more answers of the share of agreeing pairs. fleiss: κ of Fleiss
    (1971) over items with the modal number of answers. alpha: Krippendorff's (2004) nominal α, any number of
    answers. ac1: Gwet's (2008) AC1 over all categories of the inventory.

    Parameters
    ----------
    answers : AnswerTable
    name : {"observed", "fleiss", "alpha", "ac1"}
    weights : array_like of int, shape (items,), optional
        Weight of each item (bootstrap).

    Returns
    -------
    float
        nan when no item has two answers; κ and α also when all answers are one category.

    Raises
    ------
    ValueError
        If *name* is unknown.

    Examples
    --------
    >>> round(coefficient(answers_of_table([[2, 0], [1, 1], [0, 2]]), "fleiss"), 4)
    0.3333
    """
    require_choice("name", name, COEFFICIENTS)
    taken = answers.taken if weights is None else np.asarray(weights, dtype=np.float64)
    chosen: dict[str, Callable[[AnswerTable, Floats], float]] = {
        "observed": _observed,
        "fleiss": _fleiss,
        "alpha": _alpha,
        "ac1": _ac1,
    }
    return chosen[name](answers, taken)


def _observed(answers: AnswerTable, taken: Floats) -> float:
    pairable = taken * (answers.votes >= 2)
    return float(divide(np.dot(pairable, answers.pair_agreement), pairable.sum()))


def _corrected(observed: float, chance: float) -> float:
    return float(divide(observed - chance, 1 - chance)) if chance < 1 - 1e-12 else float("nan")


def _fleiss(answers: AnswerTable, taken: Floats) -> float:
    chosen = taken * (answers.votes == answers.modal) * (answers.modal >= 2)
    spread = answers.spread(answers.count.astype(np.float64), chosen)
    share = divide(spread, spread.sum())
    observed = float(divide(np.dot(chosen, answers.pair_agreement), chosen.sum()))
    return _corrected(observed, float(np.dot(share, share)))


def _alpha(answers: AnswerTable, taken: Floats) -> float:
    pairable = taken * (answers.votes >= 2)
    spread = answers.spread(answers.count.astype(np.float64), pairable)
    n = spread.sum()
    apart = np.dot(pairable * answers.votes, 1 - answers.pair_agreement)
    expected = n * n - np.dot(spread, spread)
    return float(1 - divide(apart * (n - 1), expected))


def _ac1(answers: AnswerTable, taken: Floats) -> float:
    share = answers.spread(np.asarray(divide(answers.count, answers.votes[answers.item])), taken)
    share = divide(share, share.sum())
    if answers.n_categories < 2:
        return float("nan")
    chance = float(np.dot(share, 1 - share) / (answers.n_categories - 1))
    return _corrected(_observed(answers, taken), chance)


def agreement(answers: AnswerTable) -> dict[str, Value]:
    """Compute every coefficient, with the reason where one is undefined.

    Parameters
    ----------
    answers : AnswerTable

    Returns
    -------
    dict of str to Value
        Keys are `COEFFICIENTS`.

    Examples
    --------
    >>> agreement(answers_of_table([[3, 0], [3, 0]]))["alpha"].reason == ONE_CATEGORY
    True
    """
    coefficients = {}
    for name in COEFFICIENTS:
        reason = _REASONS[name] if answers.modal else NO_PAIRS
        coefficients[name] = value_of(coefficient(answers, name), reason=reason)
    return coefficients


@dataclass(frozen=True, eq=False)
class GroupedAnswers:
    """Groups of items with identical answers, and the group of every item.

    Items of the largest group are left out of *item* and *kind*, so that resampling is faster.
    """

    answers: AnswerTable
    item: Ints
    kind: Ints
    largest: int

    def totals(self, weights: ArrayLike, *, drawn: int) -> Floats:
        """Return group weights from item weights and their sum, of one draw or of a row each.

        A coefficient of `answers` under these weights is that of all items under the given ones.
        """
        starts = np.flatnonzero(np.diff(self.kind, prepend=-1))  # items are in the order of their groups
        sums = np.add.reduceat(np.asarray(weights, dtype=np.float64)[..., self.item], starts, axis=-1)
        weight = np.zeros((*sums.shape[:-1], self.answers.n_items))
        weight[..., self.kind[starts]] = sums
        weight[..., self.largest] = drawn - sums.sum(axis=-1)
        return weight


def group_answers(answers: AnswerTable) -> GroupedAnswers:
    """Group items that have the same answers, each category as often.

    Parameters
    ----------
    answers : AnswerTable

    Returns
    -------
    GroupedAnswers

    Examples
    --------
    >>> groups = group_answers(answers_of_table([[2, 0], [1, 1], [2, 0]]))
    >>> groups.answers.times.tolist(), groups.totals([1, 0, 2], drawn=3).tolist()
    ([2, 1], [3.0, 0.0])
    """
    _, first, kind, times = np.unique(
        _codes(answers), return_index=True, return_inverse=True, return_counts=True
    )
    place = np.full(answers.n_items, -1)
    place[first] = np.arange(len(first))
    rows = np.flatnonzero(place[answers.item] >= 0)
    rows = rows[np.argsort(place[answers.item[rows]], kind="stable")]
    grouped = AnswerTable(
        place[answers.item[rows]],
        answers.category[rows],
        answers.count[rows],
        len(first),
        answers.n_categories,
        times,
    )
    largest = int(np.argmax(times)) if len(times) else 0
    rest = np.flatnonzero(kind != largest)
    rest = rest[np.argsort(kind[rest], kind="stable")]
    return GroupedAnswers(grouped, rest, kind[rest], largest)


def _codes(answers: AnswerTable) -> Ints:
    """Number items so that equal rows get equal numbers."""
    n_rows = np.bincount(answers.item, minlength=answers.n_items)
    start = np.concatenate(([0], np.cumsum(n_rows)[:-1]))
    row = np.unique(
        answers.category * (answers.count.max(initial=0) + 1) + answers.count, return_inverse=True
    )[1]
    code = np.zeros(answers.n_items, dtype=np.int64)
    for at in range(n_rows.max(initial=0)):
        more = np.flatnonzero(n_rows > at)
        packed = code[more] * len(row) + row[start[more] + at]
        code[more] = np.unique(packed, return_inverse=True)[1] + code.max() + 1
    return code
