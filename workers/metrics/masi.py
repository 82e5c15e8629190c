"""Krippendorff's α on sets of labels, with the MASI distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.agreement import AnswerTable, answers_of_columns
from workers.metrics.counts import Ints
from workers.metrics.ratios import Floats, divide

MOST_SETS = 4_000  # their distances fill 128 MB
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class SetAnswers:
    """Answers whose category is a label set; *members* marks its labels."""

    answers: AnswerTable
    members: NDArray[np.bool_]


def sets_of_matrix(item: ArrayLike, labels: ArrayLike, *, n_items: int) -> SetAnswers:
    """Make answers from a label matrix; every distinct row is a category.

    Parameters
    ----------
    item : array_like of int, shape (answers,)
    labels : array_like of bool, shape (answers, labels)
        True if the answer has the label; a row without labels is N/A.
    n_items : int

    Returns
    -------
    SetAnswers

    Examples
    --------
    >>> sets_of_matrix([0, 0], [[1, 0], [1, 0]], n_items=1).members.tolist()
    [[True, False]]
    """
    held = np.asarray(labels, dtype=bool)
    members, category = np.unique(held, axis=0, return_inverse=True)
    answers = answers_of_columns(item, category.reshape(-1), n_items=n_items, n_categories=len(members))
    return SetAnswers(answers, members)


def masi_distance(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compute the MASI distance 1 − J·M between label sets (Passonneau 2006).

    J is Jaccard; M is 1 for equal sets, 2/3 if one contains the other, 1/3 if they overlap otherwise, else 0.

    Parameters
    ----------
    a, b : array_like of bool, shapes (sets, labels)

    Returns
    -------
    float64 ndarray of shape (len(a), len(b))
        Two empty sets are equal: 0. An empty set shares nothing with any other: 1.

    Examples
    --------
    >>> masi_distance([[1, 1, 0]], [[1, 1, 0], [1, 0, 0], [0, 0, 1]]).round(4).tolist()
    [[0.0, 0.6667, 1.0]]
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    both = left @ right.T
    size_a, size_b = left.sum(axis=1)[:, None], right.sum(axis=1)[None, :]
    union = size_a + size_b - both
    jaccard = divide(both, union, undefined=1.0)
    smaller = np.minimum(size_a, size_b)
    kind = np.where(both == smaller, 2 / 3, 1 / 3)
    kind = np.where(union == both, 1.0, np.where(both == 0, 0.0, kind))
    return np.asarray(1 - jaccard * kind)


class MasiAlpha:
    """Krippendorff's α over label sets with the MASI distance, for many weightings.

    nan when no item has two answers, or all answers are one set. Distances are stored unless there are
    too many sets.
    """

    def __init__(self, set_answers: SetAnswers, *, most_kept: int = MOST_SETS) -> None:
        self.answers, self.members = set_answers.answers, set_answers.members
        self.kept = _distances(set_answers.members) if len(set_answers.members) <= most_kept else None
        answers = self.answers
        bounds = np.searchsorted(answers.item, np.arange(answers.n_items + 1))
        total = np.zeros(answers.n_items)
        for item in np.flatnonzero(np.diff(bounds) > 1):
            rows = slice(bounds[item], bounds[item + 1])
            held, count = answers.category[rows], answers.count[rows]
            total[item] = count @ self._between(held, held) @ count
        self.apart = np.asarray(divide(total, answers.votes - 1, undefined=0.0))

    def __call__(self, weights: ArrayLike | None = None) -> float:
        """Compute α with item i taken weights[i] times."""
        answers = self.answers
        taken = answers.taken if weights is None else np.asarray(weights, dtype=np.float64)
        pairable = taken * (answers.votes >= 2)
        spread = answers.spread(answers.count.astype(np.float64), pairable)
        n = spread.sum()
        return float(1 - divide(np.dot(pairable, self.apart) * (n - 1), self._expected(spread)))

    def _expected(self, spread: Floats) -> float:
        if self.kept is not None:
            return float(spread @ self.kept @ spread)
        used = np.flatnonzero(spread)
        blocks = [used[at : at + _BLOCK] for at in range(0, len(used), _BLOCK)]
        return sum(float(spread[some] @ self._between(some, used) @ spread[used]) for some in blocks)

    def _between(self, some: Ints, others: Ints) -> Floats:
        if self.kept is not None:
            return np.asarray(self.kept[np.ix_(some, others)])
        return masi_distance(self.members[some], self.members[others])


def _distances(members: NDArray[np.bool_]) -> Floats:
    """Compute all distances, in blocks since intermediate results are larger."""
    distances = np.empty((len(members), len(members)))
    for at in range(0, len(members), _BLOCK):
        distances[at : at + _BLOCK] = masi_distance(members[at : at + _BLOCK], members)
    return distances
