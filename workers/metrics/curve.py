"""Thinning of precision–recall curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workers.metrics.ranking import Points
from workers.metrics.ratios import Floats
from workers.metrics.report import Curve

MOST_POINTS = 2_000
TOLERANCE = 5e-4


def thin(curve: Points, *, most: int = MOST_POINTS, tolerance: float = TOLERANCE) -> Curve:
    """Thin a precision–recall curve to at most *most* points.

    Every point left out lies within *tolerance* of the line drawn (Ramer 1972, Douglas and Peucker 1973).
    Only if that leaves too many points is the tolerance doubled; ``moved`` is the final tolerance.

    Parameters
    ----------
    curve : Points
    most : int, default 2000
    tolerance : float, default 5e-4
        In units of recall and precision.

    Returns
    -------
    Curve
        Empty when the curve has no facts or no claims.

    Examples
    --------
    >>> from workers.metrics.ranking import points, rank
    >>> thin(points(rank([3, 2, 1], [True, True, True], n_facts=3))).recall.round(2).tolist()
    [0.33, 1.0]
    """
    total = len(curve.hits)
    if not total or not curve.n_facts:
        empty = np.zeros(0)
        return Curve(empty, empty, empty, 0.0, total)
    # Both ends of every stretch without a new fact: between them precision only falls.
    new = np.diff(np.asarray(curve.hits), prepend=-1) != 0
    corners = np.flatnonzero(new | np.append(new[1:], True))
    x, y = curve.recall[corners], curve.precision[corners]
    kept = _simplified(x, y, tolerance)
    while np.count_nonzero(kept) > most:
        tolerance *= 2
        kept = _simplified(x, y, tolerance)
    return Curve(x[kept], y[kept], curve.score[corners[kept]], tolerance, total)


def _simplified(x: Floats, y: Floats, tolerance: float) -> NDArray[np.bool_]:
    kept = np.zeros(len(x), dtype=bool)
    kept[[0, -1]] = True
    stack = [(0, len(x) - 1)]
    while stack:
        low, high = stack.pop()
        if high - low < 2:
            continue
        away = _distance(x[low : high + 1], y[low : high + 1])
        at = low + int(np.argmax(away))
        if away[at - low] > tolerance:
            kept[at] = True
            stack += [(low, at), (at, high)]
    return kept


def _distance(x: Floats, y: Floats) -> Floats:
    """Distance of each point from the segment between the ends."""
    across, up = x[-1] - x[0], y[-1] - y[0]
    length = across * across + up * up
    along = ((x - x[0]) * across + (y - y[0]) * up) / length if length else np.zeros_like(x)
    along = np.clip(along, 0.0, 1.0)
    return np.hypot(x - x[0] - along * across, y - y[0] - along * up)
