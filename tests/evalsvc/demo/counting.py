"""Plain counting, written apart from the library of measures: F1 and average precision."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

Fact = tuple[Hashable, ...]
"""What is judged; the last part is its class."""


def f1(tp: int, fp: int, fn: int) -> float:
    return 2 * tp / (2 * tp + fp + fn)


def micro_and_macro(gold: set[Any], claimed: set[Any], *, classes: Iterable[str]) -> tuple[float, float]:
    per_class = []
    for name in classes:
        g, c = {x for x in gold if x[-1] == name}, {x for x in claimed if x[-1] == name}
        per_class.append((len(g & c), len(c - g), len(g - c)))
    tp, fp, fn = (sum(counts) for counts in zip(*per_class, strict=True))
    return f1(tp, fp, fn), sum(f1(*counts) for counts in per_class) / len(per_class)


def average_precision(gold: set[Any], scores: Mapping[Any, float]) -> float:
    """One fact after the other by score, ties by name: the scores are fine enough for ties to be rare."""
    hits, total = 0, 0.0
    for rank, fact in enumerate(sorted(scores, key=lambda fact: (-scores[fact], fact)), 1):
        if fact in gold:
            hits += 1
            total += hits / rank
    return total / len(gold)
