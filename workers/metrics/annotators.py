"""Pairwise agreement of annotators: Cohen's κ and span F1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints, integers
from workers.metrics.encoding import expand, row_keys
from workers.metrics.ratios import Floats, divide
from workers.metrics.spans import Spans

LEAST_COMMON = 10
FEW_COMMON = "the two annotators have fewer than 10 common items"
NO_MARKS = "neither marked anything in the common items"


@dataclass(frozen=True, eq=False)
class PairTable:
    """One row per pair of annotators (first < second) with common items.

    *value* is nan where undefined.
    """

    first: Ints
    second: Ints
    common: Ints
    observed: Floats
    value: Floats

    def __len__(self) -> int:
        return len(self.first)

    def matrix(self, n_annotators: int) -> Floats:
        """Return the values as a symmetric table with a nan diagonal."""
        table = np.full((n_annotators, n_annotators), np.nan)
        table[self.first, self.second] = table[self.second, self.first] = self.value
        return table


def pairs_within(group: ArrayLike) -> tuple[Ints, Ints]:
    """List all unordered pairs of rows of the same group.

    Parameters
    ----------
    group : array_like of int, shape (rows,)

    Returns
    -------
    first, second : int64 ndarrays
        Row numbers, each pair once.

    Examples
    --------
    >>> [side.tolist() for side in pairs_within([7, 8, 7, 7])]
    [[0, 0, 2], [2, 3, 3]]
    """
    groups = integers(group)
    order = np.argsort(groups, kind="stable")
    ranked = groups[order]
    after = np.searchsorted(ranked, ranked, side="right")
    owner, other = expand(np.arange(len(order)) + 1, after - np.arange(len(order)) - 1)
    return order[owner], order[other]


def _ordered(annotator: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Put the lower annotator of each pair first."""
    swap = annotator[first] > annotator[second]
    return np.where(swap, second, first), np.where(swap, first, second)


def cohen_kappa(
    item: ArrayLike, annotator: ArrayLike, category: ArrayLike, *, least_common: int = LEAST_COMMON
) -> PairTable:
    """Compute Cohen's κ (1960) for every two annotators with enough common items.

    Parameters
    ----------
    item, annotator, category : array_like of int, shape (answers,)
        One row per answer, at most one per item and annotator.
    least_common : int, default 10
        Below it κ is undefined.

    Returns
    -------
    PairTable
        κ is nan below *least_common*, and if both always give the same category.

    Raises
    ------
    ValueError
        If an annotator answered an item twice.

    Examples
    --------
    >>> table = cohen_kappa([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0], least_common=2)
    >>> table.common.tolist(), table.value.tolist()
    ([2], [1.0])
    """
    items, who, what = integers(item), integers(annotator), integers(category)
    first, second = _ordered(who, *pairs_within(items))
    if (who[first] == who[second]).any():
        raise ValueError("an annotator answered an item twice, expected one answer each")
    width = int(who.max()) + 1 if len(who) else 1
    pairs, row, common = np.unique(who[first] * width + who[second], return_inverse=True, return_counts=True)
    observed = np.asarray(divide(np.bincount(row, what[first] == what[second], minlength=len(pairs)), common))
    chance = _chance(row, what[first], what[second], len(pairs)) / common**2
    kappa = np.asarray(divide(observed - chance, np.where(chance < 1 - 1e-12, 1 - chance, 0)))
    kappa[common < least_common] = np.nan
    return PairTable(pairs // width, pairs % width, common, observed, kappa)


def _chance(row: Ints, left: Ints, right: Ints, size: int) -> Floats:
    """Sum the products of category counts of both annotators, per pair."""
    keys = row_keys((row, left), (row, right))
    (a, first, times_a), (b, _, times_b) = (
        np.unique(key, return_index=True, return_counts=True) for key in keys
    )
    _, at_a, at_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    products = (times_a[at_a] * times_b[at_b]).astype(np.float64)
    return np.asarray(np.bincount(row[first[at_a]], products, minlength=size), dtype=np.float64)


def span_f1(item: ArrayLike, annotator: ArrayLike, spans: Spans) -> PairTable:
    """Compute span F1 for every two annotators, 2·shared / (first's + second's).

    Over the items that both answered.

    Parameters
    ----------
    item, annotator : array_like of int, shape (answers,)
        One row per answer, at most one per item and annotator.
    spans : Spans
        Whose "document" is the answer that holds the span.

    Returns
    -------
    PairTable
        *observed* is the share of common items with the same spans; F1 is nan where neither marked any.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 1, 1], [0, 0, 5], [2, 2, 6], [0, 0, 0], n_documents=2)
    >>> span_f1([0, 0], [0, 1], spans).value.round(4).tolist()
    [0.6667]
    """
    items, who = integers(item), integers(annotator)
    first, second = _ordered(who, *pairs_within(items))
    width = int(who.max()) + 1 if len(who) else 1
    pairs, row, common = np.unique(who[first] * width + who[second], return_inverse=True, return_counts=True)
    marked = np.bincount(spans.document, minlength=len(items))
    alike = _shared_spans(items, spans, first, second)
    same = (alike == marked[first]) & (alike == marked[second])
    total = np.bincount(row, marked[first] + marked[second], minlength=len(pairs))
    value = np.asarray(divide(2 * np.bincount(row, alike, minlength=len(pairs)), total))
    observed = np.asarray(divide(np.bincount(row, same, minlength=len(pairs)), common))
    return PairTable(pairs // width, pairs % width, common, observed, value)


def _shared_spans(items: Ints, spans: Spans, first: Ints, second: Ints) -> NDArray[np.float64]:
    """Count the spans that both answers of a pair have."""
    key = row_keys((items[spans.document], spans.start, spans.end, spans.label))[0]
    left, right = pairs_within(key)
    holders = np.sort(np.stack((spans.document[left], spans.document[right])), axis=0)
    pair = np.sort(np.stack((first, second)), axis=0)
    wanted, shared_pairs = row_keys((pair[0], pair[1]), (holders[0], holders[1]))
    unique, times = np.unique(shared_pairs, return_counts=True)
    at = np.searchsorted(unique, wanted)
    at[at == len(unique)] = 0
    present = unique[at] == wanted if len(unique) else np.zeros(len(wanted), dtype=bool)
    return np.where(present, times[at] if len(times) else 0, 0).astype(np.float64)
