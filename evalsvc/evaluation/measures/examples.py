"""Worked examples: small gold and predictions, and what every measure of a family makes of them.

`manage.py document_measures` computes the figures with the command `score`, and writes them to a file beside
this one, because pages don't load the scorer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalsvc.core.web.formatting import DASH, measured
from evalsvc.evaluation.measures.menu import Measure

FIGURES = Path(__file__).with_name("example_figures.json")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """Gold and predictions of a task, options of `score`, and what the figures come from."""

    task: str
    gold: Sequence[Line]
    predictions: Sequence[Line]
    words: str
    options: tuple[str, ...] = ()


def _labels(names: str) -> list[Line]:
    return [{"id": f"s{at}", "label": name} for at, name in enumerate(names.split(), 1)]


def _pairs(facts: str) -> list[Line]:
    return [
        {"h": head, "t": tail, "relation": relation} | ({"score": float(score[0])} if score else {})
        for head, relation, tail, *score in (fact.split() for fact in facts.split(","))
    ]


_TOKENS = ["Ada", "Holm", "moved", "to", "New", "Turin", "in", "May"]
_MORE = ["Bo", "Lind", "stayed", "in", "Oslo"]
_SPANS: list[Line] = [
    {"id": "d1", "tokens": _TOKENS, "spans": [[0, 2, "PER"], [4, 6, "LOC"], [7, 8, "DATE"]]},
    {"id": "d2", "tokens": _MORE, "spans": [[0, 2, "PER"], [4, 5, "LOC"]]},
]
_PREDICTED_SPANS: list[Line] = [
    {"id": "d1", "spans": [[0, 2, "PER"], [5, 6, "LOC"]]},
    {"id": "d2", "spans": [[0, 2, "LOC"], [4, 5, "LOC"], [2, 3, "LOC"]]},
]
_JOINT: list[Line] = [
    dict(_SPANS[0]) | {"relations": [[0, "moved_to", 1]]},
    dict(_SPANS[1]) | {"relations": [[0, "stays_in", 1]]},
]
_SPANS_EXAMPLE = Example(
    "entities",
    _SPANS,
    _PREDICTED_SPANS,
    "Of five gold spans two are found as they are: Ada Holm (PER) and Oslo (LOC). New Turin has a wrong "
    "start, Bo Lind the wrong type, May is missed, and “stayed” is spurious.",
)
_JOINT_EXAMPLE = Example(
    "joint",
    _JOINT,
    [
        {"id": "d1", "spans": [[0, 2, "PER"], [5, 6, "LOC"]], "relations": [[0, "moved_to", 1]]},
        {"id": "d2", "spans": [[0, 2, "LOC"], [4, 5, "LOC"]], "relations": [[0, "stays_in", 1]]},
    ],
    "Both relations are found, but one of them between Ada Holm and Turin, whose start is wrong, the other "
    "from Bo Lind with the wrong type: strict counts none, boundaries the second, relaxed the first.",
)
_RANKED = Example(
    "bags",
    _pairs("Ida born_in Bergen, Ida lived_in Oslo, Bo works_for Lind, Cy born_in Rome"),
    _pairs(
        "Ida born_in Bergen .9, Ida lived_in Bergen .8, Ida lived_in Oslo .8, Bo works_for Lind .4, "
        "Cy lived_in Rome .3"
    ),
    "Of four facts three are claimed, at ranks 1, 2 to 3 (two claims with one score) and 4; a fourth, that "
    "Cy was born in Rome, is never claimed.",
    ("--profile", "both"),
)

EXAMPLES: dict[str, Example] = {
    "classification": Example(
        "classification",
        _labels("born_in born_in born_in works_for works_for part_of NA NA"),
        _labels("born_in born_in works_for works_for NA NA part_of NA"),
        "Correct, predicted and in the gold: born_in 2, 2, 3; works_for 1, 2, 2; part_of 0, 1, 1. NA is the "
        "negative class and not averaged. Micro F1 is 2·3 / (5 + 6).",
        ("--negative", "NA"),
    ),
    "semeval2010": Example(
        "classification",
        _labels("Cause-Effect(e1,e2) Cause-Effect(e2,e1) Member-Collection(e1,e2) Other"),
        _labels("Cause-Effect(e1,e2) Cause-Effect(e1,e2) Member-Collection(e1,e2) Member-Collection(e1,e2)"),
        "Cause-Effect: one of two examples has its direction right. Member-Collection: correct once, and "
        "claimed once for Other.",
        ("--negative", "Other"),
    ),
    "bags": _RANKED,
    "opennre": _RANKED,
    "conll": _SPANS_EXAMPLE,
    "muc": _SPANS_EXAMPLE,
    "wrf": _SPANS_EXAMPLE,
    "entity_texts": Example(
        "entities",
        _SPANS,
        [
            {"id": "d1", "entities": [["Ada Holm", "PER"], ["Turin", "LOC"], ["Ada Lind", "PER"]]},
            {"id": "d2", "abstain": True},
        ],
        "Of five gold answers only Ada Holm (PER) is given. Turin is in the text, but is not a gold answer. "
        "Ada Lind is not in the text. The system abstains from the second document.",
    ),
    "triple_texts": Example(
        "joint",
        _JOINT,
        [
            {"id": "d1", "triples": [["Ada Holm", "moved_to", "New Turin"]]},
            {"id": "d2", "triples": [["Bo Lind", "born_in", "Oslo"]]},
        ],
        "One triple is right. The other has the right ends and another relation.",
    ),
    "relation_strict": _JOINT_EXAMPLE,
    "relation_bounds": _JOINT_EXAMPLE,
    "relation_relaxed": _JOINT_EXAMPLE,
}
EXAMPLES["answers"] = EXAMPLES["entity_texts"]


@cache
def figures() -> dict[str, dict[str, float | None]]:
    """Return the figures of each example by family and measure; None where a measure is undefined."""
    found: dict[str, dict[str, float | None]] = json.loads(FIGURES.read_text())
    return found


def lines(family: str) -> tuple[list[str], list[str]]:
    """Return gold and predictions of an example as they are in files."""
    example = EXAMPLES[family]
    gold, predictions = (
        [json.dumps(line, ensure_ascii=False) for line in side]
        for side in (example.gold, example.predictions)
    )
    return gold, predictions


def in_example(measure: Measure) -> str:
    """Return the figure of a measure in its example, as boards show it."""
    value = figures().get(measure.family, {}).get(measure.key)
    return DASH if value is None else measured(value, measure)
