"""Bootstrap and randomisation over items; replicate r depends on (seed, r) alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints, integers
from workers.metrics.ratios import Floats, divide
from workers.metrics.relations import Links, compared_links
from workers.metrics.spans import Spans, matches
from workers.metrics.words import Words, WrfCounts, wrf_counts
from workers.metrics.wrf import wrf

REPLICATES = 1_000
Figure = Callable[[Floats], float]


class Interval(NamedTuple):
    """A percentile interval; nan without a defined replicate."""

    low: float
    high: float


def draw(n: int, *, seed: int, replicate: int) -> Ints:
    """Count how often each of *n* items is drawn, with replacement.

    Parameters
    ----------
    n : int
    seed, replicate : int
        0 or more; together they determine the result.

    Returns
    -------
    int64 ndarray of shape (n,), sum n

    Examples
    --------
    >>> int(draw(5, seed=1, replicate=7).sum())
    5
    """
    return (
        np.bincount(_stream(seed, replicate).integers(0, n, n), minlength=n)
        if n
        else np.zeros(0, dtype=np.int64)
    )


def flips(n: int, *, seed: int, replicate: int) -> NDArray[np.bool_]:
    """Choose items that swap systems, each with probability ½.

    Parameters
    ----------
    n : int
    seed, replicate : int

    Returns
    -------
    bool ndarray of shape (n,)

    Examples
    --------
    >>> len(flips(5, seed=1, replicate=7))
    5
    """
    return _stream(seed, replicate).integers(0, 2, n, dtype=np.int8).astype(bool)


def _stream(seed: int, replicate: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([seed, replicate], dtype=np.uint64)))


@dataclass(frozen=True, eq=False)
class Tallies:
    """Contributions of each item to the counts, as rows (item, column, value)."""

    item: Ints
    column: Ints
    value: Floats
    n_items: int
    n_columns: int

    def sums(self, weights: ArrayLike | None = None) -> Floats:
        """Sum contributions with item i taken weights[i] times."""
        taken = self.value if weights is None else self.value * np.asarray(weights)[self.item]
        return np.bincount(self.column, weights=taken, minlength=self.n_columns).astype(
            np.float64, copy=False
        )


def table_tallies(table: ArrayLike) -> Tallies:
    """Make tallies from one row of counts per item.

    Parameters
    ----------
    table : array_like of int, shape (items, columns)

    Returns
    -------
    Tallies

    Examples
    --------
    >>> table_tallies([[1, 2], [3, 0]]).sums([2, 1]).tolist()
    [5.0, 4.0]
    """
    cells = np.asarray(table)
    item, column = np.nonzero(cells)
    return Tallies(item, column, cells[item, column].astype(np.float64), *cells.shape)


def label_tallies(gold: ArrayLike, predicted: ArrayLike, *, n_labels: int) -> Tallies:
    """Make tallies of single labels; columns are cells of the confusion matrix.

    Parameters
    ----------
    gold, predicted : array_like of int, shape (items,)
        Codes; −1 in *predicted* is a missing answer.
    n_labels : int

    Returns
    -------
    Tallies
        ``sums()`` reshapes to (n_labels, n_labels + 1), as `classification.confusion`.

    Examples
    --------
    >>> label_tallies([0, 1], [0, -1], n_labels=2).sums().tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    truth, answer = np.asarray(gold, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    cell = truth * (n_labels + 1) + np.where(answer < 0, n_labels, answer)
    return Tallies(np.arange(len(cell)), cell, np.ones(len(cell)), len(cell), n_labels * (n_labels + 1))


def span_tallies(gold: Spans, predicted: Spans, *, n_labels: int) -> Tallies:
    """Make tallies of documents: correct, predicted and gold spans per label.

    Parameters
    ----------
    gold, predicted : Spans
    n_labels : int

    Returns
    -------
    Tallies
        ``sums()`` reshapes to (3, n_labels).

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0], [0], [2], [1], n_documents=3)
    >>> span_tallies(spans, spans, n_labels=2).sums().tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    hits, _ = matches(gold, predicted)
    item = np.concatenate((gold.document[hits], predicted.document, gold.document))
    labels = (gold.label[hits], predicted.label + n_labels, gold.label + 2 * n_labels)
    column = np.concatenate(labels)
    return Tallies(item, column, np.ones(len(item)), gold.n_documents, 3 * n_labels)


def link_tallies(gold: Links, predicted: Links, *, mode: str, n_relations: int) -> Tallies:
    """Make tallies of documents: correct, predicted and gold relations between spans.

    Parameters
    ----------
    gold, predicted : Links
    mode : {"strict", "bounds", "relaxed"}
        As in `link_counts`.
    n_relations : int

    Returns
    -------
    Tallies
        ``sums()`` reshapes to (3, n_relations).

    Examples
    --------
    >>> from workers.metrics.relations import links_of_columns
    >>> from workers.metrics.spans import spans_of_columns
    >>> links = links_of_columns(spans_of_columns([0], [0], [2], [1], n_documents=3), [0], [1], [0])
    >>> link_tallies(links, links, mode="strict", n_relations=2).sums().tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    compared = compared_links(gold, predicted, mode=mode)
    item = np.concatenate([links.document for links in compared])
    column = np.concatenate([links.relation + at * n_relations for at, links in enumerate(compared)])
    return Tallies(item, column, np.ones(len(item)), gold.spans.n_documents, 3 * n_relations)


def word_tallies(
    target: Words,
    predicted: Words,
    weights: Sequence[Floats],
    *,
    n_labels: int,
    figures: Sequence[str] = (),
) -> Tallies:
    """Make tallies of documents for WRF, pooled and averaged over documents.

    Parameters
    ----------
    target, predicted : Words
        Over the same documents.
    weights : sequence of float64 ndarray of shape (K,)
        γ of each mode.
    n_labels : int
    figures : sequence of {"f1", "precision", "recall"}, default all "f1"
        What each γ weights.

    Returns
    -------
    Tallies
        Columns: |P∩T|, |P| and |T| per class (3·K); then per mode the document's WRF,
        and 1 where it is defined.

    Examples
    --------
    >>> words = Words(np.array([1]), np.array([0]), np.array([5]), 2)
    >>> word_tallies(words, words, [np.ones(1)], n_labels=1).sums([0, 3]).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    counts = wrf_counts(target, predicted, n_labels=n_labels, per_document=True)
    columns: list[NDArray[Any]] = [counts.matched, counts.predicted, counts.target]
    for gamma, figure in zip(weights, figures or ["f1"] * len(weights), strict=True):
        scores = wrf(getattr(counts, figure), gamma)
        columns += [np.nan_to_num(scores)[:, None], ~np.isnan(scores)[:, None]]
    table = np.concatenate(columns, axis=1).astype(np.float64)
    row, column = np.nonzero(table)
    document = np.union1d(target.document, predicted.document)
    return Tallies(document[row], column, table[row, column], target.n_documents, table.shape[1])


def wrf_of_sums(
    sums: Floats, weights: Sequence[Floats], figures: Sequence[str] = ()
) -> list[tuple[float, float]]:
    """Compute WRF, pooled and averaged over documents, from summed `word_tallies`.

    Parameters
    ----------
    sums : float64 ndarray
    weights : sequence of float64 ndarray of shape (K,)
    figures : sequence of {"f1", "precision", "recall"}, default all "f1"

    Returns
    -------
    list of (float, float)
        nan where no class has a word.

    Examples
    --------
    >>> wrf_of_sums(np.array([3.0, 3.0, 3.0, 1.5, 3.0]), [np.ones(1)])
    [(1.0, 0.5)]
    """
    size = len(weights[0])
    counts = WrfCounts(*integers(sums[: 3 * size]).reshape(3, size))
    pooled = [getattr(counts, figure) for figure in figures or ["f1"] * len(weights)]
    ends = sums[3 * size :].reshape(-1, 2)
    means = divide(ends[:, 0], ends[:, 1])
    return [
        (float(wrf(scores, gamma)), float(mean))
        for scores, gamma, mean in zip(pooled, weights, means, strict=True)
    ]


def differing_items(a: Tallies, b: Tallies, columns: ArrayLike) -> int:
    """Count the items to which two systems contribute differently.

    Parameters
    ----------
    a, b : Tallies
        Over the same items and columns.
    columns : array_like of int
        Those that are compared.

    Returns
    -------
    int

    Examples
    --------
    >>> differing_items(table_tallies([[1, 0], [1, 1]]), table_tallies([[1, 2], [0, 1]]), [0])
    1
    """
    chosen = np.zeros(a.n_columns, dtype=bool)
    chosen[np.asarray(columns, dtype=np.int64)] = True
    kept = [chosen[side.column] for side in (a, b)]
    cells = [(side.item * a.n_columns + side.column)[keep] for side, keep in zip((a, b), kept, strict=True)]
    cell, at = np.unique(np.concatenate(cells), return_inverse=True)
    values = np.concatenate([a.value[kept[0]], -b.value[kept[1]]])
    changed = np.bincount(at, weights=values, minlength=len(cell)) != 0
    return len(np.unique(cell[changed] // a.n_columns))


def bootstrap(
    tallies: Tallies, figure: Figure, *, seed: int = 0, replicates: Iterable[int] = range(REPLICATES)
) -> Floats:
    """Compute a figure in every bootstrap replicate.

    For a paired difference, subtract two systems' results for the same seed.

    Parameters
    ----------
    tallies : Tallies
    figure : callable
        From summed counts to a number.
    seed : int, default 0
    replicates : iterable of int, default range(1000)
        Replicate numbers; shards of a range give the same figures as the whole range.

    Returns
    -------
    float64 ndarray

    Examples
    --------
    >>> rows = table_tallies([[1, 1], [1, 1]])
    >>> bootstrap(rows, lambda sums: sums[0] / sums[1], replicates=range(3)).tolist()
    [1.0, 1.0, 1.0]
    """
    return np.array([figure(tallies.sums(draw(tallies.n_items, seed=seed, replicate=r))) for r in replicates])


def randomise(
    a: Tallies, b: Tallies, figure: Figure, *, seed: int = 0, replicates: Iterable[int] = range(REPLICATES)
) -> Floats:
    """Compute differences of a figure after random swaps of two systems' answers.

    Parameters
    ----------
    a, b : Tallies
        Over the same items and columns.
    figure : callable
    seed : int, default 0
    replicates : iterable of int, default range(1000)

    Returns
    -------
    float64 ndarray

    Raises
    ------
    ValueError
        If the two are not over the same items and columns.

    Examples
    --------
    >>> rows = table_tallies([[1, 1], [0, 1]])
    >>> randomise(rows, rows, lambda sums: sums[0] / sums[1], replicates=range(2)).tolist()
    [0.0, 0.0]
    """
    if (a.n_items, a.n_columns) != (b.n_items, b.n_columns):
        raise ValueError("the two systems have different items or columns, expected the same")
    differences = []
    for r in replicates:
        swap = flips(a.n_items, seed=seed, replicate=r)
        left, right = a.sums(~swap) + b.sums(swap), a.sums(swap) + b.sums(~swap)
        differences.append(figure(left) - figure(right))
    return np.array(differences)


def randomisation_p(observed: float, differences: ArrayLike) -> float:
    """Compute the two-sided p of a randomisation test (Noreen 1989).

    p = (b + 1) / (B + 1), with b of B replicates at least as far from 0 as *observed*.

    Parameters
    ----------
    observed : float
    differences : array_like of float
        From `randomise`.

    Returns
    -------
    float
        nan when *observed* is.

    Examples
    --------
    >>> randomisation_p(0.5, [0.1, -0.6, 0.2])
    0.5
    """
    drawn = np.asarray(differences, dtype=np.float64)
    if np.isnan(observed):
        return float("nan")
    as_far = int(np.count_nonzero(np.abs(drawn) >= abs(observed) - 1e-12))
    return (as_far + 1) / (len(drawn) + 1)


def percentile_interval(drawn: ArrayLike, *, level: float = 0.95) -> Interval:
    """Compute the percentile interval of replicates, leaving out undefined ones.

    Parameters
    ----------
    drawn : array_like of float
    level : float, default 0.95

    Returns
    -------
    Interval

    Examples
    --------
    >>> percentile_interval([1.0, 2.0, 3.0], level=1.0)
    Interval(low=1.0, high=3.0)
    """
    real = np.asarray(drawn, dtype=np.float64)
    real = real[~np.isnan(real)]
    if not len(real):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(real, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
