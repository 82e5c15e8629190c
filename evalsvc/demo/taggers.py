"""Three simulated entity systems: how often each misses, cuts, mislabels or invents a span."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from evalsvc.demo.entities import LABELS, Span, TokenSentence

AGREE = 0.85
"""How much of what a system does it does in all its runs."""


@dataclass(frozen=True, slots=True)
class Tagger:
    """A system by its error rates; rates per label are of spans, `invented` is per sentence."""

    key: str
    title: str
    description: str
    right: dict[str, float]
    missed: float
    """Of the wrong ones: overlooked. The others are cut or carry another label, in equal parts."""
    invented: dict[str, float]


TAGGERS: tuple[Tagger, ...] = (
    Tagger(
        "tagger",
        "Tagger",
        "A fine-tuned sequence tagger: at home with people and places, lost with organisations.",
        right={"person": 0.95, "place": 0.94, "organisation": 0.26},
        missed=0.5,
        invented={"person": 0.03, "place": 0.04, "organisation": 0.02},
    ),
    Tagger(
        "reader",
        "Reader",
        "A prompted language model: even across labels, careless with bounds.",
        right={"person": 0.8, "place": 0.79, "organisation": 0.89},
        missed=0.4,
        invented={"person": 0.1, "place": 0.1, "organisation": 0.02},
    ),
    Tagger(
        "gazetteer",
        "Gazetteer",
        "Lists of names looked up word by word: few inventions, many gaps.",
        right={"person": 0.62, "place": 0.78, "organisation": 0.45},
        missed=0.8,
        invented={"person": 0.02, "place": 0.08, "organisation": 0.01},
    ),
)


def _spoiled(tagger: Tagger, span: Span, rng: Random) -> Span | None:
    """A span got wrong: overlooked, cut by a word, or under another label."""
    start, end, label = span
    if rng.random() < tagger.missed:
        return None
    if end - start > 1 and rng.random() < 0.5:
        return (start + 1, end, label) if rng.random() < 0.5 else (start, end - 1, label)
    return (
        start,
        end,
        "place" if label == "organisation" else "organisation" if label == "place" else "place",
    )


def _invented(tagger: Tagger, sentence: TokenSentence, rng: Random) -> Iterator[Span]:
    """Words outside all names, marked nevertheless."""
    inside = {n for start, end, _ in sentence.spans for n in range(start, end)}
    free = [n for n, token in enumerate(sentence.tokens) if n not in inside and token.isalpha()]
    words = iter(rng.sample(free, min(len(free), len(LABELS))))
    for label, word in zip(LABELS, words, strict=False):
        if rng.random() < tagger.invented[label]:
            yield (word, word + 1, label)


def entity_predictions(
    tagger: Tagger, run: int, sentences: Sequence[TokenSentence], *, seed: int
) -> Iterator[dict[str, Any]]:
    """One line per sentence: its id and the spans the system marks, in tokens."""
    for sentence in sentences:
        own = Random(f"{seed} {tagger.key} {sentence.id}")
        moved = Random(f"{seed} {tagger.key} {run} {sentence.id}")
        marked: list[Span] = []
        for span in sentence.spans:
            fixed, drawn = own.random(), moved.random()
            luck = fixed if moved.random() < AGREE else drawn
            kept = span if luck < tagger.right[span[2]] else _spoiled(tagger, span, own)
            marked += [kept] if kept else []
        marked += _invented(tagger, sentence, own if moved.random() < AGREE else moved)
        yield {"id": sentence.id, "spans": [list(span) for span in sorted(marked)]}
