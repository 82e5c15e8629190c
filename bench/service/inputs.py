"""Synthetic gold and predictions, fixed by a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.service.running import Service
from evalsvc.evaluation.benchmarks import creation
from tests.cast.benchmarks import freeze

SENTENCES, TOKENS, TYPES = 10_000, 20, ["PER", "LOC", "ORG", "MISC"]
PAIRS, FACTS = 5_174, 2_000
RELATIONS = [f"rel{n}" for n in range(24)]
MANY = [f"rel{n}" for n in range(650)]  # enough scores per line that all pairs take 100 MB
Lines = Iterator[dict[str, Any]]


def jsonl(lines: Lines) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def documents() -> Lines:
    rng = random.Random(1)
    for at in range(SENTENCES):
        tokens = [f"w{rng.randrange(20_000)}" for _ in range(TOKENS)]
        spans = [[start, start + 2, rng.choice(TYPES)] for start in (2, 8, 14) if rng.random() < 0.6]
        yield {"id": f"d{at}", "tokens": tokens, "spans": spans, "relations": []}


def predictions(seed: int) -> Lines:
    rng = random.Random(1_000 + seed)
    for at in range(SENTENCES):
        spans = [[s, s + rng.choice((1, 2)), rng.choice(TYPES)] for s in (2, 8, 14) if rng.random() < 0.6]
        yield {"id": f"d{at}", "spans": spans}


def pairs(n: int = PAIRS) -> Lines:
    rng = random.Random(2)
    for at in range(n):
        names = [rng.choice(RELATIONS)] if rng.random() < FACTS / PAIRS else []
        ends = {
            "h": {"id": f"h{at}", "name": "Aa", "pos": [0, 2]},
            "t": {"id": f"t{at}", "name": "Bb", "pos": [3, 5]},
        }
        yield {"id": f"s{at}", "text": "Aa Bb", **ends, "relations": names}


def claims(seed: int, n: int = PAIRS) -> Lines:
    rng = random.Random(2_000 + seed)
    for at in range(n):
        for relation in RELATIONS:
            yield {"h": f"h{at}", "t": f"t{at}", "relation": relation, "score": round(rng.random(), 6)}


def labels(seed: int, n: int) -> Lines:
    """Predict a relation for half of the sentences."""
    rng = random.Random(4_000 + seed)
    for at in range(n):
        yield {"id": f"s{at}", "label": rng.choice(RELATIONS) if rng.random() < 0.5 else "N/A"}


def scores(path: Path, *, seed: int, n: int = PAIRS) -> Path:
    """Write a file with every score of n sentences."""
    rng = random.Random(3_000 + seed)
    with path.open("w") as file:
        for at in range(n):
            file.write(json.dumps({"id": f"s{at}", "scores": {name: rng.random() for name in MANY}}) + "\n")
    return path


def create_board(
    service: Service,
    slug: str,
    gold: Lines,
    *,
    labels: list[str] = RELATIONS,
    unit: str = "bag",
    main: str = "ap",
) -> None:
    """Create a benchmark with one setting on this gold."""
    task = "entities" if unit == "document" else "relations"
    test_set = freeze(f"{slug}-gold", gold, by=service.olga, labels=labels, kind=task)
    negative = "" if task == "entities" else "N/A"
    benchmark = creation.create(
        title=slug, slug=slug, task=task, labels=labels, by=service.olga, negative=negative
    )
    main = "conll_micro_f1" if task == "entities" else main
    creation.add_setting(
        benchmark,
        key="main",
        title="Main",
        test_set=test_set,
        unit=unit,
        main=main,
        by=service.olga,
        disclosure="open",
    )
