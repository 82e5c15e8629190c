"""Three simulated relation systems: what each has learned, and the scores that follow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from random import Random
from typing import Any

from evalsvc.demo.corpus import Sentence
from evalsvc.demo.relations import KEYS, fits

RUNS = (1, 2, 3, 4, 5)
OWN_NOISE, RUN_NOISE, RUN_SHIFT = 1.3, 0.35, 0.06
"""Deviations: what a system gets wrong in all its runs, in one run, and how far a run leans."""
UNFIT = -6.0
"""The pull on a relation whose head or tail is of another kind."""


@dataclass(frozen=True, slots=True)
class System:
    """A system by what moves its scores, in log odds."""

    key: str
    title: str
    description: str
    stated: float
    """Added when the sentence states the relation."""
    sourced: float
    """Added when the source labels claim it of the pair."""
    rest: float
    """Where a fitting relation without either stands."""
    special: dict[str, float] = field(default_factory=dict)
    """Relations learned better or worse: `stated` for them."""
    implied: float = -0.8
    """Added when the sentence only implies what it states."""


SYSTEMS: tuple[System, ...] = (
    System(
        "markers",
        "Markers",
        "A fine-tuned encoder with entity markers; it has hardly seen the rare relations.",
        stated=3.9,
        sourced=0.2,
        rest=-2.6,
        special={"place_of_death": 0.5, "founded_by": 0.9, "parent_of": 0.2, "advised_by": 0.2},
    ),
    System(
        "prompted",
        "Prompted",
        "A prompted language model without training: even across relations, generous on common ones.",
        stated=2.2,
        sourced=0.0,
        rest=-1.7,
        special={"place_of_death": 4.2, "founded_by": 4.0, "parent_of": 4.6, "advised_by": 4.4},
    ),
    System(
        "memory",
        "Memory",
        "A bag model trained on distant supervision: it has learned what the source labels say of a pair.",
        stated=1.0,
        sourced=2.5,
        rest=-2.3,
    ),
)


def _pulled(system: System, sentence: Sentence, relation: str) -> float:
    """The log odds of a relation before any noise."""
    if relation not in fits(sentence.signature):
        return UNFIT
    odds = system.rest + (system.sourced if relation in sentence.source else 0.0)
    if relation in sentence.relations:
        odds += system.special.get(relation, system.stated) + (system.implied if sentence.implicit else 0.0)
    return odds


def _score(odds: float) -> float:
    """A probability with four digits, never 0 or 1."""
    return min(0.9999, max(0.0001, round(1 / (1 + exp(-odds)), 4)))


def predictions(
    system: System, run: int, sentences: Sequence[Sentence], *, seed: int
) -> Iterator[dict[str, Any]]:
    """One line per sentence: its id and a score for every relation."""
    shift = Random(f"{seed} {system.key} run {run}").gauss(0, RUN_SHIFT)
    for sentence in sentences:
        own = Random(f"{seed} {system.key} {sentence.id}")
        moved = Random(f"{seed} {system.key} {run} {sentence.id}")
        scores = {
            relation: _score(
                _pulled(system, sentence, relation) + own.gauss(0, OWN_NOISE) + moved.gauss(shift, RUN_NOISE)
            )
            for relation in KEYS
        }
        yield {"id": sentence.id, "scores": scores}
