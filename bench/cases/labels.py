"""Single-label classification of strings against scikit-learn's report."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from bench.cases.entities import Report, same_figures
from bench.cases.inputs import SEED
from bench.harness import Case, Goal, Side
from workers.metrics.encoding import label_codes
from workers.metrics.suites import classification_suite

ITEMS = 200_000
LABELS = ["no_relation", *[f"relation:{number}_of_place" for number in range(41)]]
LabelPair = tuple[list[str], list[str]]


def make_labels(n: int) -> LabelPair:
    """Make long-tailed gold and predictions, 80 % of them correct."""
    rng = random.Random(SEED)
    weights = [1 / (1 + rank) for rank in range(len(LABELS))]
    gold = rng.choices(LABELS, weights, k=n)
    other = rng.choices(LABELS, weights, k=n)
    predicted = [name if rng.random() < 0.8 else wrong for name, wrong in zip(gold, other, strict=True)]
    # distinct string objects, as a reader makes them
    return ["".join(list(name)) for name in gold], ["".join(list(name)) for name in predicted]


def scikit_learn(n: int = ITEMS) -> Case:
    return Case(
        key="scikit-learn",
        title=f"Classification report on {n:,} string labels of 42 classes, against scikit-learn",
        goals=(Goal("ratio", least=10, unit="×"),),
        ours=Side("ours", lambda: make_labels(n), ours),
        theirs=Side("scikit-learn", lambda: make_labels(n), theirs),
        floor=Side("one dict look-up a label", lambda: make_labels(n), look_up),
        same=same_figures,
        versions=("scikit-learn", "numpy"),
    )


def ours(data: LabelPair) -> Report:
    gold, predicted = (label_codes(side, LABELS) for side in data)
    report = classification_suite(gold, predicted, labels=LABELS)
    rows = {
        row.label: (row.precision, row.recall, row.f1, row.gold) for row in report.classes["classification"]
    }
    for key, name in (("macro_all", "macro avg"), ("weighted", "weighted avg")):
        figures = [report.values[f"{key}_{kind}"].value for kind in ("precision", "recall", "f1")]
        rows[name] = (*figures, len(gold))
    return rows | {"accuracy": (report.values["accuracy"].value,)}


def theirs(data: LabelPair) -> Report:
    from sklearn.metrics import classification_report

    report: dict[str, Any] = classification_report(*data, output_dict=True, zero_division=0)
    accuracy = report.pop("accuracy")
    rows = {
        name: (row["precision"], row["recall"], row["f1-score"], row["support"])
        for name, row in report.items()
    }
    return rows | {"accuracy": (accuracy,)}


def look_up(data: LabelPair) -> int:
    code = {name: at for at, name in enumerate(LABELS)}
    return sum(
        len(np.fromiter(map(code.__getitem__, side), dtype=np.int32, count=len(side))) for side in data
    )
