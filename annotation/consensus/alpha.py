"""Krippendorff's α of complete answers as nominal values. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def nominal_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return α over the values of each unit; None where nothing could differ.

    Units with a single value count for nothing, as there is nothing to compare it with.
    """
    counts, differing = Counter[Hashable](), 0.0
    for values in units:
        if (m := len(values)) > 1:
            own = Counter(values)
            counts.update(own)
            differing += (m * m - sum(n * n for n in own.values())) / (m - 1)
    n = counts.total()
    by_chance = n * n - sum(c * c for c in counts.values())
    return 1 - differing * (n - 1) / by_chance if by_chance else None
