"""Counts of single labels (confusion matrix) and of label sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.bags import Facts
from workers.metrics.counts import Counts, Ints, integers
from workers.metrics.encoding import shared
from workers.metrics.ratios import divide

MISSING = -1


def confusion(gold: ArrayLike, predicted: ArrayLike, *, n_labels: int) -> Ints:
    """Count gold × predicted labels, with a last column for missing answers.

    Parameters
    ----------
    gold : array_like of int, shape (items,)
        Codes in 0 … n_labels−1.
    predicted : array_like of int, shape (items,)
        Codes, or −1 where the system gave no answer.
    n_labels : int
        Size of the label inventory.

    Returns
    -------
    int64 ndarray of shape (n_labels, n_labels + 1)
        Rows gold, columns predicted; the last column counts missing answers.

    Raises
    ------
    ValueError
        If lengths differ, or a code is not a whole number or outside the inventory.

    Examples
    --------
    >>> confusion([0, 1, 1], [0, 0, -1], n_labels=2).tolist()
    [[1, 0, 0], [1, 0, 1]]
    """
    truth, answer = integers(gold), integers(predicted)
    if truth.shape != answer.shape or truth.ndim != 1:
        raise ValueError(
            f"gold has shape {truth.shape}, predicted {answer.shape}: expected two lists of one length"
        )
    _check_codes("gold", truth, 0, n_labels)
    _check_codes("predicted", answer, MISSING, n_labels)
    column = np.where(answer < 0, n_labels, answer)
    cells = np.bincount(truth * (n_labels + 1) + column, minlength=n_labels * (n_labels + 1))
    return cells.reshape(n_labels, n_labels + 1)


def _check_codes(name: str, codes: NDArray[np.integer], low: int, high: int) -> None:
    wrong = (codes < low) | (codes >= high)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name}[{at}] is {codes[at]}, expected a code from {low} to {high - 1}")


def confusion_counts(matrix: ArrayLike) -> Counts:
    """Count per class; a missing answer is only a miss.

    Parameters
    ----------
    matrix : array_like of int, shape (labels, labels) or (labels, labels + 1)
        Rows gold, columns predicted, the optional last column missing answers.

    Returns
    -------
    Counts
        ``items`` is the sum of the matrix.

    Raises
    ------
    ValueError
        For any other shape.

    Examples
    --------
    >>> counts = confusion_counts([[1, 0, 0], [1, 0, 1]])
    >>> counts.tp.tolist(), counts.fp.tolist(), counts.fn.tolist()
    ([1, 0], [1, 0], [0, 2])
    """
    cells = integers(matrix)
    if cells.ndim != 2 or cells.shape[1] - cells.shape[0] not in (0, 1):
        raise ValueError(
            f"the matrix has shape {cells.shape}, expected (labels, labels) or (labels, labels + 1)"
        )
    tp = np.diagonal(cells)
    predicted = cells.sum(axis=0)[: len(cells)]
    return Counts.from_totals(tp.copy(), predicted, cells.sum(axis=1), items=int(cells.sum()))


def accuracy(counts: Counts) -> float:
    """Compute the share of correct items; a missing answer is wrong.

    Parameters
    ----------
    counts : Counts
        Every class, the negative one too.

    Returns
    -------
    float
        nan without items.

    Examples
    --------
    >>> accuracy(confusion_counts([[3, 1], [0, 4]]))
    0.875
    """
    return float(divide(counts.tp.sum(), counts.items))


def averaged_classes(
    labels: Sequence[str], *, negative: str | None, include_negative: bool
) -> NDArray[np.bool_]:
    """Mark the classes to average: all but the negative one, unless included.

    Parameters
    ----------
    labels : sequence of str
        The benchmark's inventory.
    negative : str or None
        The negative class, by name; None when the task has none.
    include_negative : bool
        Whether it is averaged too.

    Returns
    -------
    bool ndarray of shape (labels,)

    Raises
    ------
    ValueError
        If *negative* is not in the inventory, or a label is repeated.

    Examples
    --------
    >>> averaged_classes(["NA", "A"], negative="NA", include_negative=False).tolist()
    [False, True]
    """
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if list(labels).count(label) > 1)
        raise ValueError(f"the inventory repeats {twice!r}, expected each label once")
    if negative is not None and negative not in labels:
        raise ValueError(f"negative is {negative!r}, expected a label of the inventory or None")
    return np.array([include_negative or label != negative for label in labels], dtype=bool)


class SetCounts(NamedTuple):
    """Counts per label, and of items with exactly the gold set."""

    counts: Counts
    exact: int
    items: int

    @property
    def exact_share(self) -> float:
        """Share of items with exactly the gold set; nan without items."""
        return float(divide(self.exact, self.items))


def set_counts(gold: Facts, predicted: Facts) -> SetCounts:
    """Compare label sets item by item; the empty set is N/A.

    Parameters
    ----------
    gold, predicted : Facts
        (item, label) cells over the same items and labels; an item without a cell is N/A.

    Returns
    -------
    SetCounts
        ``counts.items`` is Σ n_i: sets have no negative class.

    Raises
    ------
    ValueError
        If the two differ in size.

    Examples
    --------
    >>> from workers.metrics.bags import facts_of_columns
    >>> gold = facts_of_columns([0, 0], [0, 1], n_pairs=2, n_relations=2)
    >>> answer = facts_of_columns([0], [0], n_pairs=2, n_relations=2)
    >>> set_counts(gold, answer).exact_share
    0.5
    """
    gold.require_same_size(predicted)
    hit, correct_claims = shared(gold.cells, predicted.cells)
    wrong = np.zeros(gold.n_pairs, dtype=bool)
    wrong[gold.pair[~hit]] = True
    wrong[predicted.pair[~correct_claims]] = True
    correct = np.bincount(gold.cells[hit] % gold.n_relations, minlength=gold.n_relations)
    counts = Counts.from_totals(correct, predicted.per_relation, gold.per_relation, items=len(gold))
    return SetCounts(counts, int(np.count_nonzero(~wrong)), gold.n_pairs)
