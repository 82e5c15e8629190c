"""What a suite hands back: values with reasons, a table per class, a curve, facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from workers.metrics.counts import Counts
from workers.metrics.ratios import Floats, divide, f_score, precision, recall


class SpanOutcome(NamedTuple):
    """What became of the spans under one schema: COR, INC, PAR, MIS, SPU."""

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int

    @property
    def precision(self) -> float:
        """(COR + ½ PAR) / ACT; nan when nothing was predicted."""
        actual = self.correct + self.incorrect + self.partial + self.spurious
        return float(divide(self.correct + self.partial / 2, actual))

    @property
    def recall(self) -> float:
        """(COR + ½ PAR) / POS; nan when there was nothing to find."""
        possible = self.correct + self.incorrect + self.partial + self.missed
        return float(divide(self.correct + self.partial / 2, possible))

    @property
    def f1(self) -> float:
        """Harmonic mean, 2(COR + ½ PAR) / (ACT + POS); nan when both sides are empty."""
        both = 2 * (self.correct + self.incorrect + self.partial) + self.missed + self.spurious
        return float(divide(2 * self.correct + self.partial, both))


class Value(NamedTuple):
    """One figure; nan is undefined and *reason* says why (or what was done instead)."""

    value: float
    reason: str | None = None

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return not np.isnan(self.value)


class ClassRow(NamedTuple):
    """One class: its counts, and its figures (nan where undefined)."""

    label: str
    gold: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Curve:
    """A precision–recall curve, thinned; *moved* bounds how far a point was moved."""

    recall: Floats
    precision: Floats
    score: Floats
    moved: float
    points_before: int


@dataclass(frozen=True)
class Report:
    """Everything that a suite found out."""

    values: dict[str, Value]
    classes: dict[str, tuple[ClassRow, ...]] = field(default_factory=dict)
    curve: Curve | None = None
    counts: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, dict[str, SpanOutcome]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def value_of(number: float, *, reason: str) -> Value:
    """A value that keeps *reason* only when the number is nan.

    Parameters
    ----------
    number : float
        The figure.
    reason : str
        Why it would be undefined.

    Returns
    -------
    Value

    Examples
    --------
    >>> value_of(0.5, reason="nothing to find")
    Value(value=0.5, reason=None)
    >>> value_of(float("nan"), reason="nothing to find").reason
    'nothing to find'
    """
    number = float(number)
    return Value(number, reason if np.isnan(number) else None)


def class_rows(labels: Sequence[str], counts: Counts, *, beta: float = 1.0) -> tuple[ClassRow, ...]:
    """One row per class, in the order of *labels*; *beta* is that of the F figure.

    Parameters
    ----------
    labels : sequence of str
        Names, aligned with the counts.
    counts : Counts
        Per-class counts.
    beta : float, default 1.0

    Returns
    -------
    tuple of ClassRow; an undefined figure is nan.

    Examples
    --------
    >>> class_rows(["A"], Counts.of([2], [1], [0]))[0].precision.__round__(4)
    0.6667
    """
    columns = zip(
        labels,
        counts.gold.tolist(),
        counts.predicted.tolist(),
        counts.tp.tolist(),
        precision(counts.tp, counts.fp).tolist(),
        recall(counts.tp, counts.fn).tolist(),
        f_score(counts.tp, counts.fp, counts.fn, beta=beta).tolist(),
        strict=True,
    )
    return tuple(ClassRow(*row) for row in columns)
