"""One-to-one pairing of gold and predicted spans, and SemEval-2013 counts."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workers.metrics.assignment import heaviest_assignment, heaviest_tree_matching
from workers.metrics.counts import Ints, require_choice
from workers.metrics.encoding import expand, row_keys, shared
from workers.metrics.report import SpanOutcome
from workers.metrics.spans import Spans

SCHEMAS = ("strict", "exact", "partial", "type")
_SMALL = 12
_INTEGER_WORK = 20_000
"""Spans times edges of the tangles that are settled in integers of any size, in milliseconds each."""
_BITS = 50
"""Of a weight as a float: sums of a few are exact."""


@dataclass(frozen=True)
class PairingCounts:
    """Six integers that determine all four schemas; they add over documents."""

    gold: int = 0
    predicted: int = 0
    pairs: int = 0
    bounds: int = 0
    labels: int = 0
    both: int = 0

    def __add__(self, other: PairingCounts) -> PairingCounts:
        return PairingCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def outcome(self, schema: str) -> SpanOutcome:
        """Return the counts of one of `SCHEMAS` (Segura-Bedmar et al. 2013)."""
        require_choice("schema", schema, SCHEMAS)
        right = {"strict": self.both, "exact": self.bounds, "partial": self.bounds, "type": self.labels}[
            schema
        ]
        rest = self.pairs - right
        half = schema == "partial"
        missed, spurious = self.gold - self.pairs, self.predicted - self.pairs
        return SpanOutcome(right, 0 if half else rest, rest if half else 0, missed, spurious)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Candidate or chosen pairs, by row number of gold and prediction."""

    gold: Ints
    predicted: Ints

    def __len__(self) -> int:
        return len(self.gold)

    def keep(self, rows: NDArray[np.generic]) -> Pairs:
        """Select some of the pairs."""
        return Pairs(self.gold[rows], self.predicted[rows])


@lru_cache(maxsize=1)  # a scoring needs the pairs of the same spans for figures, counts and outcomes
def pair_spans(gold: Spans, predicted: Spans) -> Pairs:
    """Pair overlapping spans one to one, independent of input order.

    The pairing is greatest in (pairs with bounds and label equal, pairs with bounds equal, pairs, pairs with
    label equal, total overlap), in this order; then earliest gold, then earliest prediction (in tangles of
    more than 12 spans a side, what is left equal falls as the sorted spans have it; in those of thousands,
    overlap is counted in multiples of 2, 4 … characters where spans are long). No count depends on overlap.

    Parameters
    ----------
    gold, predicted : Spans
        Without duplicates, over the same documents and label codes.

    Returns
    -------
    Pairs
        Row numbers into *gold* and *predicted*, sorted by gold.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> a = spans_of_columns([0], [0], [4], [7], n_documents=1)
    >>> b = spans_of_columns([0, 0], [2, 0], [6, 4], [7, 7], n_documents=1)
    >>> pair_spans(a, b).predicted.tolist()
    [1]
    """
    gold_order, predicted_order = (np.lexsort(spans.columns[::-1]) for spans in (gold, predicted))
    left_all, right_all = gold.select(gold_order), predicted.select(predicted_order)
    # Spans equal in bounds and label are pairs: every greatest pairing has them.
    hits = shared(*row_keys(left_all.columns, right_all.columns))
    exact = Pairs(*(np.flatnonzero(hit) for hit in hits))
    free_gold = _others(exact.gold, len(left_all))
    free_predicted = _others(exact.predicted, len(right_all))
    left, right = left_all.select(free_gold), right_all.select(free_predicted)
    rest = _settle(left, right, _overlapping(left, right))
    rows = np.concatenate((exact.gold, free_gold[rest.gold]))
    columns = np.concatenate((exact.predicted, free_predicted[rest.predicted]))
    order = np.argsort(rows)
    return Pairs(gold_order[rows[order]], predicted_order[columns[order]])


def _others(rows: Ints, size: int) -> Ints:
    free = np.ones(size, dtype=bool)
    free[rows] = False
    return np.flatnonzero(free)


def _overlapping(gold: Spans, predicted: Spans) -> Pairs:
    """List all overlapping pairs: one span starts inside the other."""
    reach = 1 + max((int(spans.end.max()) for spans in (gold, predicted) if len(spans)), default=0)
    gold_at, predicted_at = gold.document * reach + gold.start, predicted.document * reach + predicted.start
    inside = (
        np.searchsorted(predicted_at, gold_at),
        np.searchsorted(predicted_at, gold.document * reach + gold.end),
    )
    around = (
        np.searchsorted(gold_at, predicted_at, side="right"),
        np.searchsorted(gold_at, predicted.document * reach + predicted.end),
    )
    golds, predictions = expand(inside[0], inside[1] - inside[0])
    more_predictions, more_golds = expand(around[0], np.maximum(around[1] - around[0], 0))
    return Pairs(np.concatenate((golds, more_golds)), np.concatenate((predictions, more_predictions)))


class _Merits(NamedTuple):
    """Value of a candidate pair, in falling rank.

    The pair itself counts between the first two.
    """

    bounds: NDArray[np.bool_]
    label: NDArray[np.bool_]
    overlap: Ints


def _merits(gold: Spans, predicted: Spans, pairs: Pairs) -> _Merits:
    g, p = pairs.gold, pairs.predicted
    bounds = (gold.start[g] == predicted.start[p]) & (gold.end[g] == predicted.end[p])
    overlap = np.minimum(gold.end[g], predicted.end[p]) - np.maximum(gold.start[g], predicted.start[p])
    return _Merits(bounds, gold.label[g] == predicted.label[p], overlap)


def _settle(gold: Spans, predicted: Spans, pairs: Pairs) -> Pairs:
    """Choose among candidates: stars at once, tangles one by one."""
    if not len(pairs):
        return pairs
    merits = _merits(gold, predicted, pairs)
    gold_star = _is_star(pairs.gold, pairs.predicted)
    star = gold_star | _is_star(pairs.predicted, pairs.gold)
    centre = np.where(gold_star, pairs.gold, len(gold) + pairs.predicted)
    ranked = np.lexsort((pairs.predicted, pairs.gold, -merits.overlap, ~merits.label, ~merits.bounds, centre))
    ranked = ranked[star[ranked]]
    best = np.ones(len(ranked), dtype=bool)
    best[1:] = centre[ranked[1:]] != centre[ranked[:-1]]
    chosen = [pairs.keep(ranked[best])]
    chosen += [_untangle(pairs, merits, edges) for edges in _tangles(pairs, np.flatnonzero(~star))]
    return Pairs(
        np.concatenate([part.gold for part in chosen]), np.concatenate([part.predicted for part in chosen])
    )


def _is_star(centre: Ints, leaf: Ints) -> NDArray[np.bool_]:
    """Mark edges of components in which one span overlaps all others."""
    shared_leaf = np.bincount(leaf)[leaf] > 1
    return ~(np.bincount(centre, weights=shared_leaf)[centre] > 0)


def _tangles(pairs: Pairs, edges: Ints) -> list[Ints]:
    """Group edges by connected component."""
    root: dict[int, int] = {}

    def top(node: int) -> int:
        while root.setdefault(node, node) != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    ends = list(zip(pairs.gold[edges].tolist(), (-1 - pairs.predicted[edges]).tolist(), strict=True))
    for one, other in ends:
        root[top(one)] = top(other)
    groups: dict[int, list[int]] = {}
    for edge, (one, _) in zip(edges.tolist(), ends, strict=True):
        groups.setdefault(top(one), []).append(edge)
    return [np.array(group) for group in groups.values()]


def _untangle(pairs: Pairs, merits: _Merits, edges: Ints) -> Pairs:
    """Find the greatest pairing of one connected tangle."""
    golds, g = np.unique(pairs.gold[edges], return_inverse=True)
    predictions, p = np.unique(pairs.predicted[edges], return_inverse=True)
    side = min(len(golds), len(predictions))
    is_large = side * len(edges) > _INTEGER_WORK
    weights = _weights(merits, edges, g, p, len(golds), len(predictions), bits=_BITS if is_large else None)
    if len(edges) == len(golds) + len(predictions) - 1:
        tree = zip(g.tolist(), (p + len(golds)).tolist(), weights, strict=True)
        ends = np.sort(heaviest_tree_matching(len(golds) + len(predictions), list(tree)), axis=1)
        return Pairs(golds[ends[:, 0]], predictions[ends[:, 1] - len(golds)])
    if is_large:
        rows, columns = _sparse(g, p, weights, (len(golds), len(predictions)))
        return Pairs(golds[rows], predictions[columns])
    options: list[list[tuple[int, int]]] = [[] for _ in golds]
    for row, column, weight in zip(g.tolist(), p.tolist(), weights, strict=True):
        options[row].append((column, weight))
    kept = [(row, column) for row, column in enumerate(heaviest_assignment(options)) if column is not None]
    rows, columns = np.array(kept, dtype=np.int64).T
    return Pairs(golds[rows], predictions[columns])


def _weights(
    merits: _Merits, edges: Ints, g: Ints, p: Ints, n_gold: int, n_predicted: int, *, bits: int | None
) -> list[int]:
    """Combine merits into one integer per edge, so that sums compare lexicographically."""
    side, overlaps = min(n_gold, n_predicted), merits.overlap[edges]
    base, most = side + 1, int(overlaps.max())
    if bits:
        heaviest = ((int(merits.bounds[edges].any()) * base + 1) * base + 1) * (side * most + 1)
        overlaps = overlaps >> max(0, heaviest.bit_length() - bits)
    reach = side * int(overlaps.max()) + 1
    columns = (merits.bounds[edges], merits.label[edges], overlaps, g, p)
    weights = []
    for bounds, label, overlap, row, column in zip(*(part.tolist() for part in columns), strict=True):
        weight = ((bounds * base + 1) * base + label) * reach + overlap
        if max(n_gold, n_predicted) <= _SMALL:
            weight = (weight << n_gold) + (1 << (n_gold - 1 - row))
            weight = weight * n_predicted**n_gold + (n_predicted - 1 - column) * n_predicted ** (
                n_gold - 1 - row
            )
        weights.append(weight)
    return weights


def _sparse(g: Ints, p: Ints, weights: list[int], shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Assign each row a column, or one of its own at weight 0; 10,000 spans a side take less than 1 s."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    golds, predictions = shape
    own = np.arange(golds)
    values = np.concatenate((np.array(weights, dtype=float), np.zeros(golds))) + 1  # a stored 0 is no edge
    ends = np.concatenate((g, own)), np.concatenate((p, predictions + own))
    table = csr_array((values, ends), shape=(golds, predictions + golds))
    rows, columns = min_weight_full_bipartite_matching(table, maximize=True)
    real = columns < predictions
    return rows[real], columns[real]


def document_pairings(gold: Spans, predicted: Spans) -> Ints:
    """Compute the six integers of `PairingCounts` for every document.

    Parameters
    ----------
    gold, predicted : Spans

    Returns
    -------
    int64 ndarray of shape (documents, 6)
        gold, predicted, pairs, bounds, labels, both.

    Raises
    ------
    ValueError
        If the numbers of documents differ.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> a = spans_of_columns([0], [0], [4], [7], n_documents=1)
    >>> b = spans_of_columns([0], [0], [3], [7], n_documents=1)
    >>> PairingCounts(*document_pairings(a, b).sum(axis=0).tolist()).outcome("partial").f1
    0.5
    """
    gold.require_same_documents(predicted)
    pairs = pair_spans(gold, predicted)
    bounds, labels, _ = _merits(gold, predicted, pairs)
    where = gold.document[pairs.gold]
    parts = (gold.document, predicted.document, where, where[bounds], where[labels], where[bounds & labels])
    return np.stack([np.bincount(part, minlength=gold.n_documents) for part in parts], axis=1)
