"""A hidden phase with 400 sentences of three relations, and files of a team."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.benchmarks import LABELS, BenchmarkCast, Line, freeze, gold_sentence
from tests.cast.replay import replayed
from workers.runner import run_next

NEGATIVE = "N/A"


def gold_labels(items: int, *, seed: int = 1) -> dict[str, str]:
    """Labels by id; about a third is negative."""
    drawn = random.Random(seed)
    return {f"s{at}": drawn.choice([*LABELS, *LABELS, NEGATIVE]) for at in range(items)}


def gold_lines(gold: Mapping[str, str]) -> list[Line]:
    return [
        gold_sentence(name, f"Q{name}", "T", *([] if label == NEGATIVE else [label]))
        for name, label in gold.items()
    ]


@replayed
def hidden_phase(
    cast: BenchmarkCast, gold: Mapping[str, str], *, unit: str = "sentence", **fields: Any
) -> Benchmark:
    """A benchmark whose only setting hides its gold."""
    rules = {
        name: fields.pop(name)
        for name in ("default_quotas", "per_day", "missing", "options")
        if name in fields
    }
    benchmark = cast.benchmark("hid", **rules)
    creation.add_setting(
        benchmark,
        key="test",
        title="Test",
        test_set=freeze("hidden-gold", gold_lines(gold), by=cast.olga),
        unit=unit,
        by=cast.olga,
        phase="test",
        **{"main": "micro_f1"} | fields,
    )
    return benchmark


def labels_file(labels: Mapping[str, str]) -> list[Line]:
    return [{"id": name, "label": label} for name, label in labels.items()]


def wrong(gold: Mapping[str, str], share: float, *, seed: int = 2) -> dict[str, str]:
    """The gold with a share of its labels replaced."""
    drawn = random.Random(seed)
    names = set(drawn.sample(sorted(gold), round(share * len(gold))))
    return {
        name: drawn.choice([each for each in (*LABELS, NEGATIVE) if each != label])
        if name in names
        else label
        for name, label in gold.items()
    }


@replayed
def scored(cast: BenchmarkCast, benchmark: Benchmark, labels: Mapping[str, str], **fields: Any) -> Submission:
    """Submit labels and score them."""
    submission = cast.submit(benchmark, labels_file(labels), **fields)
    while run_next("score"):
        pass
    submission.refresh_from_db()
    return submission


def setting_of(benchmark: Benchmark) -> Setting:
    return benchmark.settings.get()
