"""Scored claims about pairs, and the facts they are checked against.

A pair is a bag (all sentences of an ordered pair of entities) or a single sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Counts, Ints, integers, require_choice
from workers.metrics.encoding import distinct, repeated
from workers.metrics.ratios import Floats, f_score

AGGREGATIONS = ("ONE", "AVG")
CUTS = (100, 200, 300)
_TABLE_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class Claims:
    """Scored (pair, relation) triples, each once, in input order.

    The negative class is not a relation here.
    """

    pair: NDArray[np.integer]
    relation: NDArray[np.integer]
    score: Floats
    n_pairs: int
    n_relations: int

    def __len__(self) -> int:
        return len(self.score)


def claims_of_columns(
    pair: ArrayLike, relation: ArrayLike, score: ArrayLike, *, n_pairs: int, n_relations: int
) -> Claims:
    """Make claims from three columns.

    Parameters
    ----------
    pair, relation : array_like of int, shape (claims,)
        Codes; N/A is not a relation here.
    score : array_like of float, shape (claims,)
        Finite; higher is more certain.
    n_pairs, n_relations : int
        Size of the setting and of the positive inventory.

    Returns
    -------
    Claims

    Raises
    ------
    ValueError
        If lengths differ, a code is out of range, a score is not finite, or a (pair, relation) is repeated;
        the message names the row.

    Examples
    --------
    >>> claims_of_columns([0, 0], [1, 1], [0.5, 0.4], n_pairs=1, n_relations=2)
    Traceback (most recent call last):
    ValueError: row 1 repeats pair 0, relation 1; expected each pair and relation once
    """
    columns = _checked((pair, relation), (n_pairs, n_relations))
    scores = np.asarray(score, dtype=np.float64)
    if len(scores) != len(columns[0]):
        raise ValueError(
            f"there are {len(columns[0])} claims and {len(scores)} scores, expected equal numbers"
        )
    finite = np.isfinite(scores)
    if not finite.all():
        at = int(np.argmin(finite))
        raise ValueError(f"row {at} has the score {scores[at]}, expected a finite number")
    claims = Claims(columns[0], columns[1], scores, n_pairs, n_relations)
    _reject_repeats(claims)
    return claims


def _checked(columns: tuple[ArrayLike, ArrayLike], sizes: tuple[int, int]) -> list[NDArray[np.integer]]:
    checked = []
    for name, column, size in zip(("pair", "relation"), columns, sizes, strict=True):
        codes = np.asarray(column)
        codes = codes if codes.dtype.kind in "iu" else integers(codes)
        wrong = (codes < 0) | (codes >= size)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"row {at} has {name} {codes[at]}, expected a code from 0 to {size - 1}")
        checked.append(codes)
    if len(checked[0]) != len(checked[1]):
        raise ValueError(
            f"there are {len(checked[0])} pairs and {len(checked[1])} relations, expected equal numbers"
        )
    return checked


def _cells(pair: NDArray[np.integer], relation: NDArray[np.integer], n_relations: int) -> Ints:
    return pair.astype(np.int64) * n_relations + relation


def _reject_repeats(claims: Claims) -> None:
    cells = _cells(claims.pair, claims.relation, claims.n_relations)
    if claims.n_pairs * claims.n_relations <= _TABLE_CELLS:
        taken = np.zeros(claims.n_pairs * claims.n_relations, dtype=bool)
        taken[cells] = True
        if np.count_nonzero(taken) == len(cells):
            return
    again = repeated(cells)
    if again.any():
        at = int(np.argmax(again))
        where = f"pair {claims.pair[at]}, relation {claims.relation[at]}"
        raise ValueError(f"row {at} repeats {where}; expected each pair and relation once")


@dataclass(frozen=True, eq=False)
class Facts:
    """Gold (pair, relation) cells, each once, sorted."""

    cells: Ints
    n_pairs: int
    n_relations: int

    def __len__(self) -> int:
        return len(self.cells)

    def require_same_size(self, other: Facts | Claims) -> None:
        """Raise unless *other* has as many pairs and relations."""
        sizes = [(side.n_pairs, side.n_relations) for side in (self, other)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"sizes (pairs, relations) are {sizes[0]} and {sizes[1]}, expected equal sizes")

    @property
    def per_relation(self) -> Ints:
        """Number of facts of each relation."""
        return np.bincount(self.cells % self.n_relations, minlength=self.n_relations)

    @property
    def pair(self) -> Ints:
        """Pair of each fact."""
        return self.cells // self.n_relations


def facts_of_columns(pair: ArrayLike, relation: ArrayLike, *, n_pairs: int, n_relations: int) -> Facts:
    """Make facts from two columns; a repeated fact counts once.

    Parameters
    ----------
    pair, relation : array_like of int
    n_pairs, n_relations : int

    Returns
    -------
    Facts

    Raises
    ------
    ValueError
        If lengths differ or a code is out of range.

    Examples
    --------
    >>> len(facts_of_columns([0, 0], [1, 1], n_pairs=1, n_relations=2))
    1
    """
    pairs, relations = _checked((pair, relation), (n_pairs, n_relations))
    return Facts(distinct(_cells(pairs, relations, n_relations)), n_pairs, n_relations)


def hits(claims: Claims, facts: Facts) -> NDArray[np.bool_]:
    """Mark the claims that are facts.

    Parameters
    ----------
    claims : Claims
    facts : Facts

    Returns
    -------
    bool ndarray of shape (claims,)

    Raises
    ------
    ValueError
        If the numbers of pairs or relations differ.

    Examples
    --------
    >>> facts = facts_of_columns([0], [1], n_pairs=1, n_relations=2)
    >>> hits(claims_of_columns([0, 0], [0, 1], [0.1, 0.2], n_pairs=1, n_relations=2), facts).tolist()
    [False, True]
    """
    facts.require_same_size(claims)
    cells = _cells(claims.pair, claims.relation, claims.n_relations)
    size = facts.n_pairs * facts.n_relations
    if size <= _TABLE_CELLS:
        table = np.zeros(size, dtype=bool)
        table[facts.cells] = True
        return table[cells]
    return np.isin(cells, facts.cells)


def bag_claims(sentences: Claims, bag: ArrayLike, *, aggregation: str, n_bags: int) -> Claims:
    """Aggregate sentence scores per bag: ONE is the maximum, AVG the mean.

    The mean is over sentences of the bag that score the relation; others do not count as 0. Means that
    differ by no more than the rounding of floats are equal, in whatever order the sentences stand.

    Parameters
    ----------
    sentences : Claims
        Whose "pair" is the sentence.
    bag : array_like of int, shape (sentences,)
        The bag of every sentence.
    aggregation : {"ONE", "AVG"}
    n_bags : int

    Returns
    -------
    Claims
        In the order in which cells first appear.

    Raises
    ------
    ValueError
        If *aggregation* is unknown or a bag is out of range.

    Examples
    --------
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.25, 0.75], n_pairs=2, n_relations=1)
    >>> [bag_claims(claims, [0, 0], aggregation=how, n_bags=1).score.tolist() for how in AGGREGATIONS]
    [[0.75], [0.5]]
    """
    require_choice("aggregation", aggregation, AGGREGATIONS)
    owner, _ = _checked((bag, np.zeros(len(np.asarray(bag)), dtype=np.int64)), (n_bags, 1))
    cells = _cells(owner[sentences.pair], sentences.relation, sentences.n_relations)
    _, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
    order = np.lexsort((sentences.score, inverse))  # so that no sum depends on the order of the file
    edges = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    merge = np.maximum.reduceat if aggregation == "ONE" else _means
    merged = merge(sentences.score[order], edges) if len(edges) else np.zeros(0)
    sequence = np.argsort(first)
    kept = cells[first[sequence]]
    width = sentences.n_relations
    return Claims(kept // width, kept % width, merged[sequence], n_bags, width)


def _means(scores: Floats, edges: Ints) -> Floats:
    """Return the mean score of each group; means that only rounding can tell apart are made equal."""
    sizes = np.diff(edges, append=len(scores))
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(scores, edges) / sizes
    if not np.isfinite(means).all():  # a sum of great scores overflows
        means = np.nan_to_num(np.add.reduceat(scores / np.repeat(sizes, sizes), edges))
    # bounds the rounding of scores, sum and quotient; a single score is its own mean
    slack = 3 * np.finfo(np.float64).eps * (sizes - 1) * np.maximum.reduceat(np.abs(scores), edges)
    return _join(means, slack)


def _join(values: Floats, slack: Floats) -> Floats:
    """Give values with overlapping intervals (value ± slack) the greatest of them, in input order."""
    order = np.lexsort((values, values - slack))
    reach = np.maximum.accumulate((values + slack)[order])
    apart = (values - slack)[order][1:] > reach[:-1]
    groups = np.concatenate([[0], np.cumsum(apart)])
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1])
    joined = np.empty_like(values)
    joined[order] = np.maximum.reduceat(values[order], starts)[groups]
    return joined


def threshold_counts(claims: Claims, hit: NDArray[np.bool_], gold: Ints, *, threshold: float) -> Counts:
    """Count claims at or above a threshold per relation.

    Parameters
    ----------
    claims : Claims
    hit : bool ndarray
        Which claims are facts.
    gold : int64 ndarray of shape (relations,)
        Facts per relation.
    threshold : float

    Returns
    -------
    Counts

    Examples
    --------
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.25, 0.75], n_pairs=2, n_relations=1)
    >>> threshold_counts(claims, np.array([True, True]), np.array([2]), threshold=0.5).fn.tolist()
    [1]
    """
    chosen = claims.score >= threshold
    size = claims.n_relations
    claimed = np.bincount(claims.relation[chosen], minlength=size)
    correct = np.bincount(claims.relation[chosen & hit], minlength=size)
    return Counts.from_totals(correct, claimed, gold)


def macro_all_f1(counts: Counts) -> float:
    """Average F1 over every relation of the inventory; absent relations score 0.

    Parameters
    ----------
    counts : Counts

    Returns
    -------
    float
        nan for an empty inventory.

    Examples
    --------
    >>> macro_all_f1(Counts.of([1, 0], [0, 0], [0, 0]))
    0.5
    """
    if not len(counts.tp):
        return float("nan")
    return float(np.nan_to_num(f_score(counts.tp, counts.fp, counts.fn)).mean())
