"""Sets of labels per item, without scores: counts per label, and items whose whole set is right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workers.metrics.bags import Facts
from workers.metrics.counts import Counts
from workers.metrics.encoding import shared
from workers.metrics.ratios import divide


class SetCounts(NamedTuple):
    """Counts per label, and how many of the items have exactly the gold set (the empty set is N/A)."""

    counts: Counts
    exact: int
    items: int

    @property
    def exact_share(self) -> float:
        """Share of items whose set is exactly right; nan without items."""
        return float(divide(self.exact, self.items))


def set_counts(gold: Facts, predicted: Facts) -> SetCounts:
    """Compare label sets item by item.

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
    >>> said = facts_of_columns([0], [0], n_pairs=2, n_relations=2)
    >>> set_counts(gold, said).exact_share
    0.5
    """
    if (gold.n_pairs, gold.n_relations) != (predicted.n_pairs, predicted.n_relations):
        raise ValueError("gold and predicted are of different settings, expected as many items and labels")
    found, right = shared(gold.cells, predicted.cells)
    off = np.zeros(gold.n_pairs, dtype=bool)
    off[gold.pair[~found]] = True
    off[predicted.pair[~right]] = True
    correct = np.bincount(gold.cells[found] % gold.n_relations, minlength=gold.n_relations)
    counts = Counts.from_totals(correct, predicted.per_relation, gold.per_relation, items=len(gold))
    return SetCounts(counts, int(np.count_nonzero(~off)), gold.n_pairs)
