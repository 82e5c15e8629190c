"""Four simulated annotators, each of whom errs in a way that is stated."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from evalsvc.demo.corpus import Sentence
from evalsvc.demo.relations import LIKELY, SECOND, fits

OPEN = 0.07
"""The share of items that fewer than four have answered so far."""
CAREFUL, HASTY = 0.04, 0.12
READS_MORE, READS_IN = 0.35, 0.15
LITERAL = 0.85


@dataclass(frozen=True, slots=True)
class Vote:
    """One annotator's answer to one item; no labels is N/A."""

    item: str
    annotator: str
    labels: tuple[str, ...]


def _slip(sentence: Sentence, rng: Random) -> tuple[str, ...]:
    """A wrong answer of the plain kind: nothing where there is something, else another fitting relation."""
    others = [key for key in fits(sentence.signature) if key not in sentence.relations]
    if sentence.relations and (not others or rng.random() < 0.6):
        return sentence.relations[1:]
    return (rng.choice(others),)


def careful(sentence: Sentence, rng: Random) -> tuple[str, ...]:
    """Slips on 4 % of the items."""
    return _slip(sentence, rng) if rng.random() < CAREFUL else sentence.relations


def hasty(sentence: Sentence, rng: Random) -> tuple[str, ...]:
    """Slips on 12 % of the items."""
    return _slip(sentence, rng) if rng.random() < HASTY else sentence.relations


def reads_in(sentence: Sentence, rng: Random) -> tuple[str, ...]:
    """Adds the relation that likely holds too, and finds a likely one where there is none."""
    if not sentence.relations:
        return (LIKELY[sentence.signature],) if rng.random() < READS_IN else ()
    second = SECOND.get(sentence.relations[0])
    if second and second not in sentence.relations and rng.random() < READS_MORE:
        return (*sentence.relations, second)
    return sentence.relations


def literal(sentence: Sentence, rng: Random) -> tuple[str, ...]:
    """Says N/A to most of what is only implied."""
    return () if sentence.implicit and rng.random() < LITERAL else sentence.relations


ANNOTATORS: dict[str, tuple[str, Callable[[Sentence, Random], tuple[str, ...]]]] = {
    "mirela": ("Mirela Aspenhall", careful),
    "jorund": ("Jørund Tavares", hasty),
    "adaeze": ("Adaeze Lindqvale", reads_in),
    "caetano": ("Caetano Skogmar", literal),
}
"""User name → full name and habit."""


def relation_votes(sentences: Sequence[Sentence], *, seed: int) -> Iterator[Vote]:
    """The votes in the order they came in: annotator by annotator, some items not answered by all yet."""
    rng = Random(f"votes {seed}")
    missing = {
        s.id: rng.sample(sorted(ANNOTATORS), rng.choice((1, 1, 2, 3)))
        for s in rng.sample(list(sentences), round(OPEN * len(sentences)))
    }
    for annotator, (_, habit) in ANNOTATORS.items():
        for sentence in sentences:
            labels = habit(sentence, rng)
            if annotator not in missing.get(sentence.id, ()):
                yield Vote(sentence.id, annotator, labels)
