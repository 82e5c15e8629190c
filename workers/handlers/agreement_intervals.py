"""Coefficients of many questions to the same answers, their intervals from the same draws of items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.jobs.lease import Progress
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
AT_ONCE = 12_000_000  # items times questions that are held at once: less than 200 MB of kinds
TOO_MANY = f"more than {MOST_SETS:,} different answers: too many for an interval"
Figure = dict[str, Any]
Weighted = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Question:
    """What every answer says of one thing; `members` are the labels of categories that are sets."""

    answers: AnswerTable
    yes: int | None = None
    members: NDArray[np.bool_] | None = None


@dataclass(eq=False)
class Asked:
    """A question under way: the kinds of its items, its values, and what the draws made of them."""

    yes: int | None
    kinds: GroupedAnswers
    figures: Mapping[str, Weighted]
    told: dict[str, Figure]
    drawn: dict[str, list[float]] = field(default_factory=dict)


def answered(makers: Sequence[Callable[[], Question]], *, n_items: int, progress: Progress) -> list[Figure]:
    """Each question's figures, in order; all that memory holds at once share the draws."""
    found: list[Figure] = []
    n = max(1, AT_ONCE // max(n_items, 1))
    for at in range(0, len(makers), n):
        some = [_asked(make()) for make in makers[at : at + n]]
        _resample(
            [one for one in some if one.figures], n_items, partial(_report, progress, at, n, len(makers))
        )
        found += [_figures(one) for one in some]
    return found


def _asked(question: Question) -> Asked:
    kinds = group_answers(question.answers)
    values = agreement(kinds.answers)
    told: dict[str, Figure] = {
        name: {"value": one.value} | ({} if one.defined else {"reason": one.reason or NO_PAIRS})
        for name, one in values.items()
    }
    figures: dict[str, Weighted] = {
        name: partial(_coefficient, kinds.answers, name) for name in COEFFICIENTS if kinds.answers.modal
    }
    if question.members is not None:
        alpha = MasiAlpha(SetAnswers(kinds.answers, question.members))
        told["alpha_masi"] = {"value": alpha()}
        if alpha.kept is None:
            told["alpha_masi"]["reason"] = TOO_MANY
        elif figures:
            figures["alpha_masi"] = alpha
    return Asked(question.yes, kinds, figures, told, {name: [] for name in figures})


def _coefficient(answers: AnswerTable, name: str, weights: Floats) -> float:
    return coefficient(answers, name, weights=weights)


def _resample(asked: Sequence[Asked], n_items: int, report: Callable[[int], None]) -> None:
    """The same items for every question of a replicate; of each the kinds are counted, not the items."""
    if not asked:
        return
    for replicate in range(REPLICATES):
        weights = draw(n_items, seed=0, replicate=replicate).astype(np.float64)
        for one in asked:
            totals = one.kinds.totals(weights, drawn=n_items)
            for name, figure in one.figures.items():
                one.drawn[name].append(figure(totals))
        if replicate % 20 == 0:
            report(replicate)


def _report(progress: Progress, at: int, n: int, of: int, replicate: int) -> None:
    done = at + min(n, of - at) * replicate / REPLICATES
    progress(round(1_000 * done / of), 1_000, "resampling the items")


def _figures(asked: Asked) -> Figure:
    """Values with their 95 % intervals over items, or the reason why there is none."""
    given = {} if asked.yes is None else {"answers": asked.yes}
    return given | {name: _figure(one, asked.drawn.get(name, [])) for name, one in asked.told.items()}


def _figure(one: Figure, drawn: Sequence[float]) -> Figure:
    ends = percentile_interval(drawn, level=0.95)
    return one | {"value": number(one["value"]), "low": number(ends.low), "high": number(ends.high)}


def number(value: float) -> float | None:
    """As JSON can hold it."""
    return None if math.isnan(value) else float(value)
