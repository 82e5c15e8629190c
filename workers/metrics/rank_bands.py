"""Rank bands of systems, and disagreements between weighting schemes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.systems import holm


def rank_bands(better: ArrayLike) -> list[tuple[int, int]]:
    """Compute 1 + significantly better systems, to n − significantly worse ones.

    Parameters
    ----------
    better : array_like of bool, shape (n, n)
        better[i, j]: system i is significantly better than system j.

    Returns
    -------
    list of (first, last)
        The ranks that each system may hold.

    Raises
    ------
    ValueError
        If the table is not square.

    Examples
    --------
    >>> rank_bands([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    [(1, 2), (1, 2), (3, 3)]
    """
    table: NDArray[np.bool_] = np.asarray(better, dtype=bool)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"the table has shape {table.shape}, expected one row and one column per system")
    first, last = 1 + table.sum(axis=0), len(table) - table.sum(axis=1)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def significantly_better(
    scores: Sequence[float], p: Mapping[tuple[int, int], float], *, level: float = 0.05
) -> NDArray[np.bool_]:
    """Mark significantly better systems, by Holm over all given pairs.

    Parameters
    ----------
    scores : sequence of float
        The main measure, higher better.
    p : mapping of (i, j) to float
        Raw two-sided p-values of pairs; nan where there was no test.
    level : float, default 0.05

    Returns
    -------
    bool ndarray of shape (n, n)
        [i, j] is True when i scores higher and the adjusted p is below *level*.

    Examples
    --------
    >>> significantly_better([0.9, 0.5], {(0, 1): 0.01}).tolist()
    [[False, True], [False, False]]
    """
    table = np.zeros((len(scores), len(scores)), dtype=bool)
    for (i, j), adjusted in zip(p, holm(list(p.values())), strict=True):
        if adjusted < level and scores[i] != scores[j]:
            table[(i, j) if scores[i] > scores[j] else (j, i)] = True
    return table


def disagreements(scores: Mapping[str, Sequence[float]]) -> list[tuple[int, int, str, str]]:
    """List pairs of systems that two schemes put in opposite order.

    Parameters
    ----------
    scores : mapping of scheme to sequence of float
        One figure per system and scheme; nan is never compared.

    Returns
    -------
    list of (i, j, scheme, other)
        By *scheme* i is better, by *other* j is.

    Examples
    --------
    >>> disagreements({"micro": [0.8, 0.7], "macro": [0.5, 0.6]})
    [(0, 1, 'micro', 'macro')]
    """
    pairs = []
    for (name, one), (other, two) in combinations(scores.items(), 2):
        for i, j in combinations(range(len(one)), 2):
            if (one[i] - one[j]) * (two[i] - two[j]) < 0:
                pairs.append((i, j, name, other) if one[i] > one[j] else (j, i, name, other))
    return pairs
