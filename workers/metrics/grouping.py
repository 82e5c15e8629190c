"""Items that were answered alike: one stands for all of a kind, so that a resample only counts kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.agreement import Answers
from workers.metrics.counts import Ints
from workers.metrics.ratios import Floats


@dataclass(frozen=True, eq=False)
class Alike:
    """One item of every kind, and the kinds of all items but those of the largest kind."""

    answers: Answers
    item: Ints
    kind: Ints
    largest: int

    def totals(self, weights: ArrayLike, *, drawn: int) -> Floats:
        """How often each kind is taken when item i is taken weights[i] times, *drawn* in all.

        A coefficient of `answers` under these weights is that of all items under the given ones.
        """
        found = np.bincount(
            self.kind, weights=np.asarray(weights)[self.item], minlength=self.answers.n_items
        ).astype(np.float64, copy=False)
        found[self.largest] = drawn - found.sum()
        return found


def alike(answers: Answers) -> Alike:
    """Find the items that have the same answers, each category as often.

    Parameters
    ----------
    answers : Answers

    Returns
    -------
    Alike

    Examples
    --------
    >>> from workers.metrics.agreement import answers_of_table
    >>> found = alike(answers_of_table([[2, 0], [1, 1], [2, 0]]))
    >>> found.answers.times.tolist(), found.totals([1, 0, 2], drawn=3).tolist()
    ([1, 2], [0.0, 3.0])
    """
    _, first, kind, times = np.unique(
        _codes(answers), return_index=True, return_inverse=True, return_counts=True
    )
    place = np.full(answers.n_items, -1)
    place[first] = np.arange(len(first))
    rows = np.flatnonzero(place[answers.item] >= 0)
    rows = rows[np.argsort(place[answers.item[rows]], kind="stable")]
    one = Answers(
        place[answers.item[rows]],
        answers.category[rows],
        answers.count[rows],
        len(first),
        answers.n_categories,
        times,
    )
    largest = int(np.argmax(times)) if len(times) else 0
    rest = np.flatnonzero(kind != largest)
    return Alike(one, rest, kind[rest], largest)


def _codes(answers: Answers) -> Ints:
    """A number per item, the same for the same rows: each step takes one more row of every item in."""
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
