"""Division with nan for 0/0, and precision, recall and F on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def divide(numerator: ArrayLike, denominator: ArrayLike, *, undefined: float = np.nan) -> Any:
    """Divide element by element; *undefined* where the denominator is 0.

    Parameters
    ----------
    numerator, denominator : array_like
        Numbers of any broadcastable shapes.
    undefined : float, default nan
        Result where the denominator is 0.

    Returns
    -------
    float64 ndarray, or a float64 scalar for scalar input

    Examples
    --------
    >>> divide([1, 3, 0], [2, 4, 0]).tolist()
    [0.5, 0.75, nan]
    >>> float(divide(0, 0, undefined=0.0))
    0.0
    """
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    result = np.full(np.broadcast_shapes(top.shape, bottom.shape), float(undefined))
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result[()]


def precision(tp: ArrayLike, fp: ArrayLike) -> Any:
    """Compute precision, tp / (tp + fp); nan without predictions.

    Parameters
    ----------
    tp, fp : array_like of int
        Correct and wrong predictions.

    Returns
    -------
    float64 ndarray or scalar in [0, 1]

    Examples
    --------
    >>> precision([3, 0], [1, 0]).tolist()
    [0.75, nan]
    """
    return divide(tp, np.add(tp, fp))


def recall(tp: ArrayLike, fn: ArrayLike) -> Any:
    """Compute recall, tp / (tp + fn); nan without gold labels.

    Parameters
    ----------
    tp, fn : array_like of int
        Hits and missed gold labels.

    Returns
    -------
    float64 ndarray or scalar in [0, 1]

    Examples
    --------
    >>> recall([3, 0], [3, 0]).tolist()
    [0.5, nan]
    """
    return divide(tp, np.add(tp, fn))


def f_score(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, *, beta: float = 1.0) -> Any:
    """Compute F_β from counts (van Rijsbergen 1979).

    F_β = (1+β²)·tp / ((1+β²)·tp + β²·fn + fp).

    Parameters
    ----------
    tp, fp, fn : array_like of int
        Counts of one class, or of many.
    beta : float, default 1.0
        Weight of recall against precision; above 0.

    Returns
    -------
    float64 ndarray or scalar in [0, 1]; nan without gold labels and predictions.

    Raises
    ------
    ValueError
        If *beta* is not a finite number above 0.

    Examples
    --------
    >>> f_score([2, 0], [1, 0], [1, 0]).round(4).tolist()
    [0.6667, nan]
    """
    if not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta is {beta!r}, expected a finite number above 0")
    square = beta * beta
    hit = (1 + square) * np.asarray(tp, dtype=np.float64)
    return divide(hit, hit + square * np.asarray(fn) + np.asarray(fp))


class Scores(NamedTuple):
    """Precision, recall and F_β, of one class or an array of many."""

    precision: Any
    recall: Any
    f1: Any


def scores(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, *, beta: float = 1.0) -> Scores:
    """Compute precision, recall and F_β from the same counts.

    Parameters
    ----------
    tp, fp, fn : array_like of int
    beta : float, default 1.0

    Returns
    -------
    Scores

    Examples
    --------
    >>> scores(3, 1, 0).precision.item(), scores(3, 1, 0).recall.item()
    (0.75, 1.0)
    """
    return Scores(precision(tp, fp), recall(tp, fn), f_score(tp, fp, fn, beta=beta))
