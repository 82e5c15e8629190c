"""Figures of the runs of compared systems: curves, classes and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.models import Evaluation


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Figures of one run."""

    pk: int
    values: dict[str, float | None]
    classes: list[dict[str, Any]]
    curve: dict[str, Any]


def run_figures(comparison: Comparison) -> list[list[RunFigures]]:
    """Return the figures of each system's runs, in the order of the rows.

    None while the gold is hidden: which run is the median, and what a near-duplicate scored, would show.
    """
    if comparison.board.policy.hidden:
        return [[] for _ in comparison.rows]
    keys = {run.evaluation for runs in comparison.runs.values() for run in runs}
    found = {
        each.pk: RunFigures(
            each.pk,
            {score.measure: score.value for score in each.scores.all()},
            each.classes,
            each.detail.get("curve") or {},
        )
        for each in Evaluation.objects.filter(pk__in=keys).prefetch_related("scores")
    }
    return [[found[run.evaluation] for run in comparison.runs[row.system.pk]] for row in comparison.rows]
