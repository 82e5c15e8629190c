"""Ranked claims: average precision, area, best F1, precision at N."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints
from workers.metrics.ratios import Floats, divide

STATISTICS = ("ap", "auc", "max_f1")


@dataclass(frozen=True, eq=False)
class Ranking:
    """Claims by falling score, ties in input order; *order* gives input rows."""

    score: Floats
    hit: NDArray[np.bool_]
    order: Ints
    n_facts: int

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True, eq=False)
class Points:
    """One point per distinct score: claims so far, and facts among them."""

    score: Floats
    claims: NDArray[np.number]
    hits: NDArray[np.number]
    n_facts: float

    @property
    def precision(self) -> Floats:
        """Facts among the claims so far, per claim."""
        return np.asarray(divide(self.hits, self.claims))

    @property
    def gained(self) -> NDArray[np.number]:
        """Facts added by each point."""
        return np.diff(self.hits, prepend=0)

    @property
    def recall(self) -> Floats:
        """Share of all facts reached, including facts never scored."""
        return np.asarray(divide(self.hits, self.n_facts))


def rank(score: ArrayLike, hit: ArrayLike, *, n_facts: int) -> Ranking:
    """Sort claims stably by falling score.

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
    Ranking

    Raises
    ------
    ValueError
        If a score is not finite (names the row), or more claims hit than there are facts.

    Examples
    --------
    >>> rank([0.1, 0.9], [False, True], n_facts=1).order.tolist()
    [1, 0]
    """
    scores, hits = check_scores(score, hit, n_facts=n_facts)
    order = order_by_score(scores)
    return Ranking(scores[order], hits[order], order, n_facts)


def check_scores(score: ArrayLike, hit: ArrayLike, *, n_facts: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Check scores and hits and convert them to arrays.

    Parameters
    ----------
    score, hit, n_facts
        As in `rank`.

    Returns
    -------
    float64 ndarray, bool ndarray

    Raises
    ------
    ValueError
        If a score is not finite (names the row), or more claims hit than there are facts.

    Examples
    --------
    >>> check_scores([0.5], [1], n_facts=1)[1].tolist()
    [True]
    """
    scores, hits = np.asarray(score, dtype=np.float64), np.asarray(hit, dtype=bool)
    finite = np.isfinite(scores)
    if not finite.all():
        at = int(np.argmin(finite))
        raise ValueError(f"score[{at}] is {scores[at]}, expected a finite number")
    if np.count_nonzero(hits) > n_facts:
        raise ValueError(f"{np.count_nonzero(hits)} claims hit {n_facts} facts: a claim is repeated")
    return scores, hits


def order_by_score(score: Floats) -> Ints:
    """Return row numbers by falling score, ties in input order.

    Twice as quick as a stable sort: only rows inside runs of equal scores are put in order afterwards.

    Parameters
    ----------
    score : float ndarray

    Returns
    -------
    int64 ndarray

    Examples
    --------
    >>> order_by_score(np.array([0.5, 0.9, 0.5])).tolist()
    [1, 0, 2]
    """
    order = np.argsort(-score)
    ranked = score[order]
    same = np.append(False, ranked[1:] == ranked[:-1])
    tied = same.copy()
    tied[:-1] |= same[1:]
    at = np.flatnonzero(tied)
    if len(at):
        run = np.cumsum(~same[at])
        order[at] = np.sort(run * len(score) + order[at]) % len(score)
    return order


def block_ends(score: Floats) -> Ints:
    """Return the ends of runs of equal scores.

    Parameters
    ----------
    score : float ndarray, sorted

    Returns
    -------
    int64 ndarray
        Positions of the last claim of every run.

    Examples
    --------
    >>> block_ends(np.array([0.9, 0.5, 0.5])).tolist()
    [0, 2]
    """
    if not len(score):
        return np.zeros(0, dtype=np.int64)
    return np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)


def points(ranking: Ranking) -> Points:
    """Make one point per distinct score, independent of the order of ties.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    Points

    Examples
    --------
    >>> curve = points(rank([0.9, 0.5, 0.5], [True, False, True], n_facts=2))
    >>> curve.hits.tolist(), curve.claims.tolist()
    ([1, 2], [1, 3])
    """
    ends = block_ends(ranking.score)
    hits = np.cumsum(ranking.hit, dtype=np.int64)[ends]
    return Points(ranking.score[ends], ends + 1, hits, ranking.n_facts)


def average_precision(curve: Points) -> float:
    """Compute average precision, Σ (R_k − R_{k−1})·P_k.

    Parameters
    ----------
    curve : Points

    Returns
    -------
    float
        nan without facts; 0 without claims.

    Examples
    --------
    >>> average_precision(points(rank([0.9, 0.5], [True, False], n_facts=2)))
    0.5
    """
    return float(divide(np.dot(curve.gained, np.nan_to_num(curve.precision)), curve.n_facts))


def anchored_auc(curve: Points) -> float:
    """Compute the area by trapezoids, from (recall 0, precision 1).

    Parameters
    ----------
    curve : Points

    Returns
    -------
    float
        nan without facts; 0 without claims.

    Examples
    --------
    >>> anchored_auc(points(rank([0.9, 0.5], [True, True], n_facts=2)))
    1.0
    """
    if not curve.n_facts:
        return float("nan")
    return float(_trapezoids(curve).sum() / curve.n_facts)


def area_under_ties(curve: Points) -> float:
    """Compute the share of the trapezoid area under tied scores.

    A constant score draws one line from precision 1 to that of all claims. With every fact claimed, ties
    alone reach an area of (1 + precision of all claims) / 2.

    Parameters
    ----------
    curve : Points

    Returns
    -------
    float
        nan without an area.

    Examples
    --------
    >>> area_under_ties(points(rank([0.5, 0.5], [True, False], n_facts=1)))
    1.0
    >>> area_under_ties(points(rank([0.9, 0.5], [True, True], n_facts=2)))
    0.0
    """
    areas = _trapezoids(curve)
    tied = np.diff(curve.claims, prepend=0) > 1
    return float(divide(areas[tied].sum(), areas.sum()))


def _trapezoids(curve: Points) -> Floats:
    """Return the area under each step of the curve, in facts."""
    height = np.concatenate(([1.0], np.nan_to_num(curve.precision)))
    return np.asarray(curve.gained * (height[1:] + height[:-1]) / 2)


def best_point(curve: Points) -> tuple[float, int]:
    """Return the greatest F1 and the first point that has it.

    F1 = 2·hits / (claims + facts).

    Parameters
    ----------
    curve : Points

    Returns
    -------
    f1 : float
        nan without facts or without claims.
    position : int
        −1 when undefined.

    Examples
    --------
    >>> best_point(points(rank([0.9, 0.5], [True, False], n_facts=1)))
    (1.0, 0)
    """
    if not curve.n_facts or not len(curve.hits):
        return float("nan"), -1
    f1 = 2 * curve.hits / (curve.claims + curve.n_facts)
    at = int(np.argmax(f1))
    return float(f1[at]), at


def precision_at(curve: Points, n: int) -> float:
    """Compute precision of the first *n* claims; ties count in proportion.

    Parameters
    ----------
    curve : Points
    n : int
        At least 1.

    Returns
    -------
    float
        nan when there are fewer than *n* claims.

    Raises
    ------
    ValueError
        If *n* is less than 1.

    Examples
    --------
    >>> precision_at(points(rank([0.5, 0.5], [True, False], n_facts=1)), 1)
    0.5
    """
    if n < 1:
        raise ValueError(f"n is {n}, expected 1 or more")
    if not len(curve.claims) or n > curve.claims[-1]:
        return float("nan")
    at = int(np.searchsorted(curve.claims, n))
    claims, hits = (int(part[at - 1]) if at else 0 for part in (curve.claims, curve.hits))
    share = (n - claims) / (int(curve.claims[at]) - claims)
    return (hits + share * (int(curve.hits[at]) - hits)) / n
