"""Ranks of facts among claims, from sorted scores instead of sorted claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.counts import Ints
from workers.metrics.ranking import Points, block_ends, check_scores, order_by_score
from workers.metrics.ratios import Floats

_FEW_TIES = 64


@dataclass(frozen=True, eq=False)
class FactRanks:
    """Ranks of the claims that are facts, by falling score.

    *before* counts claims with a higher score, *upto* those with at least its score; *rank* counts from 1,
    ties in input order. *ascending* holds the scores of all claims.
    """

    ascending: Floats
    before: Ints
    upto: Ints
    rank: Ints
    n_facts: int

    def __len__(self) -> int:
        return len(self.ascending)

    def score_at(self, rank: ArrayLike) -> Floats:
        """Return the score at a rank, counted from 1."""
        return self.ascending[len(self) - np.asarray(rank)]

    def facts_within(self, rank: ArrayLike) -> Ints:
        """Count the facts among the first *rank* claims."""
        return np.searchsorted(self.rank, rank, side="right")

    def points(self) -> Points:
        """Return the points that figures of the curve depend on.

        They are one per distinct score of a fact, the point just before it, the first and the last."""
        total = len(self)
        if not total:
            none = np.zeros(0, dtype=np.int64)
            return Points(np.zeros(0), none, none, self.n_facts)
        top = total - int(np.searchsorted(self.ascending, self.ascending[-1]))
        claims = np.unique(np.concatenate(([top, total], self.before[self.before > 0], self.upto)))
        return Points(
            self.score_at(claims), claims, np.searchsorted(self.upto, claims, side="right"), self.n_facts
        )


def rank_facts(score: ArrayLike, hit: ArrayLike, *, n_facts: int) -> FactRanks:
    """Rank the claims that are facts.

    Sorting numbers takes a fifth of the time of sorting claims by them, and facts are few: their places are
    looked up. Only where a fact shares its score are the claims of that score put in order.

    Parameters
    ----------
    score : array_like of float, shape (claims,)
        Finite.
    hit : array_like of bool, shape (claims,)
        Whether the claim is a fact.
    n_facts : int
        Number of all facts, including those without a claim.

    Returns
    -------
    FactRanks

    Raises
    ------
    ValueError
        As `ranking.rank`.

    Examples
    --------
    >>> ranks = rank_facts([0.5, 0.9, 0.5, 0.1], [False, False, True, True], n_facts=2)
    >>> ranks.rank.tolist(), ranks.before.tolist(), ranks.upto.tolist()
    ([3, 4], [1, 3], [3, 4])
    """
    scores, hits = check_scores(score, hit, n_facts=n_facts)
    ascending = np.sort(scores)
    rows = np.flatnonzero(hits)
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    before = len(scores) - np.searchsorted(ascending, scores[rows], side="right")
    upto = len(scores) - np.searchsorted(ascending, scores[rows], side="left")
    shared = upto - before > 1
    rank = before + 1
    if shared.any():
        rank[shared] += _places_in_ties(scores, rows[shared])
    return FactRanks(ascending, before, upto, rank, n_facts)


def _places_in_ties(scores: Floats, rows: Ints) -> Ints:
    """Count earlier claims of the same score, for each given row."""
    tied = scores[rows]
    values = tied[block_ends(tied)]
    if len(values) > _FEW_TIES:
        order = order_by_score(scores)
    else:
        tied_scores = np.zeros(len(scores), dtype=bool)
        for value in values:
            tied_scores |= scores == value
        members = np.flatnonzero(tied_scores)
        order = members[np.argsort(-scores[members], kind="stable")]
    ranked = scores[order]
    first = np.zeros(len(order), dtype=np.int64)
    starts = np.append(0, block_ends(ranked)[:-1] + 1)
    first[starts] = starts
    place = np.arange(len(order)) - np.maximum.accumulate(first)
    sequence = np.argsort(order)
    return place[sequence[np.searchsorted(order, rows, sorter=sequence)]]
