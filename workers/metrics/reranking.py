"""Bootstrap and randomisation of ranked claims, sorted once and re-weighted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.metrics.bags import Claims, Facts, hits
from workers.metrics.counts import Ints, require_choice
from workers.metrics.ranking import (
    STATISTICS,
    Points,
    average_precision,
    best_point,
    block_ends,
    order_by_score,
)
from workers.metrics.ratios import Floats, divide
from workers.metrics.resampling import REPLICATES, draw, flips


@dataclass(frozen=True, eq=False)
class SortedClaims:
    """Claims by falling score, prepared for re-weighting.

    Only scores that some fact has are kept as points (*ends*, and *starts* just before them): all the others
    add nothing to a sum over gained recall.
    """

    pair: NDArray[np.intp]
    second: NDArray[np.bool_]
    hit_at: Ints
    hit_block: Ints
    starts: Ints
    ends: Ints
    score: Floats
    facts_of_pair: Ints

    def figure(self, weights: NDArray[np.integer], facts: float, name: str) -> float:
        """Compute a statistic with claim i taken weights[i] times."""
        claims_before = np.empty(len(weights) + 1, dtype=np.int64)
        claims_before[0] = 0
        np.cumsum(weights, out=claims_before[1:])
        hits_so_far = np.cumsum(np.bincount(self.hit_block, weights[self.hit_at], minlength=len(self.ends)))
        points = Points(self.score, claims_before[self.ends], hits_so_far, facts)
        if name == "auc":
            # trapezoids from the point just before each, or from the anchor
            hits_before = np.concatenate(([0], points.hits[:-1]))
            left = divide(hits_before, claims_before[self.starts], undefined=1.0)
            right = divide(points.hits, points.claims, undefined=0.0)
            return float(divide(np.dot(points.hits - hits_before, left + right) / 2, points.n_facts))
        return average_precision(points) if name == "ap" else best_point(points)[0]


def sort_claims(claims: Claims, facts: Facts, *, against: Claims | None = None) -> SortedClaims:
    """Sort claims once for all replicates.

    Parameters
    ----------
    claims : Claims
    facts : Facts
    against : Claims, optional
        A second system's, for a randomisation test.

    Returns
    -------
    SortedClaims

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0], [0], n_pairs=2, n_relations=1)
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.2, 0.9], n_pairs=2, n_relations=1)
    >>> sort_claims(claims, facts).figure(np.array([1, 1]), 1, "ap")
    0.5
    """
    systems = [claims] if against is None else [claims, against]
    score = np.concatenate([one.score for one in systems])
    order = order_by_score(score)
    hit_at = np.flatnonzero(np.concatenate([hits(one, facts) for one in systems])[order])
    ends = block_ends(score[order]) + 1
    used, block = np.unique(np.searchsorted(ends, hit_at, side="right"), return_inverse=True)
    return SortedClaims(
        pair=np.concatenate([one.pair for one in systems])[order].astype(np.intp),
        second=order >= len(claims),
        hit_at=hit_at,
        hit_block=block,
        starts=np.concatenate(([0], ends))[used],
        ends=ends[used],
        score=score[order][ends[used] - 1],
        facts_of_pair=np.bincount(facts.pair, minlength=facts.n_pairs),
    )


def bootstrap_ranking(
    ranked: SortedClaims,
    *,
    name: str = "ap",
    seed: int = 0,
    replicates: Iterable[int] = range(REPLICATES),
) -> Floats:
    """Compute a ranking statistic in every bootstrap replicate over pairs.

    Parameters
    ----------
    ranked : SortedClaims
        Of one system.
    name : {"ap", "auc", "max_f1"}, default "ap"
    seed : int, default 0
    replicates : iterable of int, default range(1000)

    Returns
    -------
    float64 ndarray
        nan where a replicate drew no fact.

    Raises
    ------
    ValueError
        If *name* is unknown.

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.2, 0.9], n_pairs=2, n_relations=1)
    >>> bootstrap_ranking(sort_claims(claims, facts), replicates=range(2)).tolist()
    [1.0, 1.0]
    """
    require_choice("name", name, STATISTICS)
    figures = []
    for r in replicates:
        drawn = draw(len(ranked.facts_of_pair), seed=seed, replicate=r)
        facts = float(np.dot(drawn, ranked.facts_of_pair))
        figures.append(ranked.figure(drawn.take(ranked.pair), facts, name))
    return np.array(figures)


def randomise_ranking(
    both: SortedClaims,
    *,
    name: str = "ap",
    seed: int = 0,
    replicates: Iterable[int] = range(REPLICATES),
) -> Floats:
    """Compute differences of a ranking statistic after random swaps of two systems.

    The claims about a pair are swapped together.

    Parameters
    ----------
    both : SortedClaims
        Of two systems, ``sort_claims(a, facts, against=b)``.
    name : {"ap", "auc", "max_f1"}, default "ap"
    seed : int, default 0
    replicates : iterable of int, default range(1000)

    Returns
    -------
    float64 ndarray

    Raises
    ------
    ValueError
        If *name* is unknown.

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.2, 0.9], n_pairs=2, n_relations=1)
    >>> randomise_ranking(sort_claims(claims, facts, against=claims), replicates=range(2)).tolist()
    [0.0, 0.0]
    """
    require_choice("name", name, STATISTICS)
    facts = float(both.facts_of_pair.sum())
    figures = []
    for r in replicates:
        left = flips(len(both.facts_of_pair), seed=seed, replicate=r)[both.pair] ^ both.second
        figures.append(
            both.figure((~left).astype(np.int64), facts, name)
            - both.figure(left.astype(np.int64), facts, name)
        )
    return np.array(figures)
