"""Results of a suite: values with reasons, class tables, curve, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from workers.metrics.counts import Counts
from workers.metrics.ratios import Floats, divide, scores
from workers.metrics.words import WordCounts


class SpanOutcome(NamedTuple):
    """Counts of spans under one schema: COR, INC, PAR, MIS, SPU."""

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int

    @property
    def actual(self) -> int:
        """ACT, the number of predicted spans."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def possible(self) -> int:
        """POS, the number of gold spans."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def precision(self) -> float:
        """(COR + ½ PAR) / ACT; nan without predictions."""
        return float(divide(self.correct + self.partial / 2, self.actual))

    @property
    def recall(self) -> float:
        """(COR + ½ PAR) / POS; nan without gold spans."""
        return float(divide(self.correct + self.partial / 2, self.possible))

    @property
    def f1(self) -> float:
        """2(COR + ½ PAR) / (ACT + POS); nan without spans."""
        return float(divide(2 * self.correct + self.partial, self.actual + self.possible))


class LabelOutcome(NamedTuple):
    """Counts and figures of one label under one schema.

    COR, INC, PAR and MIS count gold spans of the label, SPU predicted ones. POS is the number of its gold
    spans, ACT of its predicted spans, whatever they are paired with.
    """

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int
    possible: int
    actual: int
    precision: float
    recall: float
    f1: float


class Value(NamedTuple):
    """One figure; nan is undefined.

    *reason* explains an undefined figure, or one computed differently.
    """

    value: float
    reason: str | None = None

    @property
    def defined(self) -> bool:
        """True if the figure is a number."""
        return not np.isnan(self.value)


class ClassRow(NamedTuple):
    """Counts and figures of one class; nan where undefined."""

    label: str
    gold: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Curve:
    """A thinned precision–recall curve; *moved* bounds the error."""

    recall: Floats
    precision: Floats
    score: Floats
    moved: float
    points_before: int


@dataclass(frozen=True)
class Report:
    """All results of a suite."""

    values: dict[str, Value]
    classes: dict[str, tuple[ClassRow, ...]] = field(default_factory=dict)
    curve: Curve | None = None
    counts: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, dict[str, LabelOutcome]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    words: WordCounts | None = None


def value_of(number: float, *, reason: str) -> Value:
    """Make a value; *reason* is kept only if the number is nan.

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
    >>> value_of(0.5, reason="no gold labels")
    Value(value=0.5, reason=None)
    >>> value_of(float("nan"), reason="no gold labels").reason
    'no gold labels'
    """
    number = float(number)
    return Value(number, reason if np.isnan(number) else None)


def class_rows(labels: Sequence[str], counts: Counts, *, beta: float = 1.0) -> tuple[ClassRow, ...]:
    """Make one row per class, in the order of *labels*.

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
        *(column.tolist() for column in scores(counts.tp, counts.fp, counts.fn, beta=beta)),
        strict=True,
    )
    return tuple(ClassRow(*row) for row in columns)
