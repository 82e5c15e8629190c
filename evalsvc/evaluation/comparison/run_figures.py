"""Figures of the runs of compared systems: curves, classes and scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotation.testset import label_titles
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.measures.families import CLASS_FAMILIES, RELATION_CLASSES
from evalsvc.evaluation.measures.inventory import ENTITY, RELATION
from evalsvc.evaluation.models import Evaluation, Setting


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Figures of one run; `macro_flip` is how far one hit in the rarest class moves macro F."""

    pk: int
    values: dict[str, float | None]
    classes: list[dict[str, Any]]
    curve: dict[str, Any]
    macro_flip: float | None = None


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
            (each.detail.get("counts") or {}).get("macro_flip"),
        )
        for each in Evaluation.objects.filter(pk__in=keys).prefetch_related("scores")
    }
    return [[found[run.evaluation] for run in comparison.runs[row.system.pk]] for row in comparison.rows]


# ---- classes -------------------------------------------------------------------------------------
THIN = 20  # items of the gold below which a class is marked, and not tested


def class_titles(setting: Setting) -> dict[str, str]:
    """Return the titles of the classes that are compared: relations, of entities alone their types."""
    part = RELATION if setting.kind == "joint" else ENTITY
    return label_titles(label for label in setting.benchmark.labels if label.get("part", part) == part)


def class_rows(setting: Setting, classes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows per class with an F1, of the first family that a score has."""
    families = RELATION_CLASSES if setting.kind == "joint" else CLASS_FAMILIES[setting.kind]
    rows = list(classes)
    present = {row["family"] for row in rows}
    family = next((name for name in families if name in present), "")
    titles = class_titles(setting)
    return [
        row for row in rows if row["family"] == family and row["label"] in titles and row["f1"] is not None
    ]
