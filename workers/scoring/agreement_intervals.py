"""Agreement coefficients with intervals from the same draws of items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.metrics.agreement import (
    COEFFICIENTS,
    NO_PAIRS,
    AnswerTable,
    GroupedAnswers,
    agreement,
    coefficient,
    group_answers,
)
from workers.metrics.masi import MOST_SETS, MasiAlpha, SetAnswers
from workers.metrics.ratios import Floats
from workers.metrics.resampling import draw, percentile_interval

REPLICATES = 1_000
CELLS_AT_ONCE = 12_000_000  # items times questions in memory at once: less than 200 MB of groups
TOO_MANY = f"more than {MOST_SETS:,} different answers: too many for an interval"
Figure = dict[str, Any]
Weighted = Callable[[Floats], float]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Question:
    """Answers to one question; `members` are labels of set categories."""

    answers: AnswerTable
    positive: int | None = None
    members: NDArray[np.bool_] | None = None


@dataclass(eq=False)
class QuestionSample:
    """A question with grouped items, values and the figures of draws."""

    positive: int | None
    groups: GroupedAnswers
    figures: Mapping[str, Weighted]
    values: dict[str, Figure]
    drawn: dict[str, list[float]]


def intervals(makers: Sequence[Callable[[], Question]], *, n_items: int, progress: Progress) -> list[Figure]:
    """Return each question's figures; questions in memory share the draws."""
    results: list[Figure] = []
    n = max(1, CELLS_AT_ONCE // max(n_items, 1))
    for at in range(0, len(makers), n):
        samples = [_sample(make()) for make in makers[at : at + n]]
        report = partial(_report, progress, at, n, len(makers))
        _resample([sample for sample in samples if sample.figures], n_items, report)
        results += [_result(sample) for sample in samples]
    return results


def _sample(question: Question) -> QuestionSample:
    groups = group_answers(question.answers)
    values: dict[str, Figure] = {
        name: {"value": value.value} | ({} if value.defined else {"reason": value.reason or NO_PAIRS})
        for name, value in agreement(groups.answers).items()
    }
    figures: dict[str, Weighted] = {
        name: partial(_coefficient, groups.answers, name) for name in COEFFICIENTS if groups.answers.modal
    }
    if question.members is not None:
        alpha = MasiAlpha(SetAnswers(groups.answers, question.members))
        values["alpha_masi"] = {"value": alpha()}
        if alpha.kept is None:
            values["alpha_masi"]["reason"] = TOO_MANY
        elif figures:
            figures["alpha_masi"] = alpha
    return QuestionSample(question.positive, groups, figures, values, {name: [] for name in figures})


def _coefficient(answers: AnswerTable, name: str, weights: Floats) -> float:
    return coefficient(answers, name, weights=weights)


def _resample(samples: Sequence[QuestionSample], n_items: int, report: Callable[[int], None]) -> None:
    """Draw the same items for every question, counted by groups."""
    for replicate in range(REPLICATES if samples else 0):
        weights = draw(n_items, seed=0, replicate=replicate).astype(np.float64)
        for sample in samples:
            totals = sample.groups.totals(weights, drawn=n_items)
            for name, figure in sample.figures.items():
                sample.drawn[name].append(figure(totals))
        if replicate % 20 == 0:
            report(replicate)


def _report(progress: Progress, at: int, n: int, total: int, replicate: int) -> None:
    done = at + min(n, total - at) * replicate / REPLICATES
    progress(round(1_000 * done / total), 1_000, "resampling the items")


def _result(sample: QuestionSample) -> Figure:
    """Return values with 95 % intervals over items, or reasons."""
    result: Figure = {} if sample.positive is None else {"answers": sample.positive}
    for name, value in sample.values.items():
        ends = percentile_interval(sample.drawn.get(name, []), level=0.95)
        result[name] = value | {
            "value": number(value["value"]),
            "low": number(ends.low),
            "high": number(ends.high),
        }
    return result


def number(value: float) -> float | None:
    """Return the number, or None for nan, which JSON does not have."""
    return None if math.isnan(value) else float(value)
