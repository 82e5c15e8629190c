"""The entity corpus: short reports in tokens, their spans, and three simulated annotators."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from evalsvc.demo.grammar import Mention, deck, patterns, rendered
from evalsvc.demo.names import World, world
from evalsvc.demo.phrases.reports import REPORTS

LABELS = ("person", "organisation", "place")
TOKEN = re.compile(r"’s\b|\d+(?:,\d+)*|\w+(?:-\w+)*|[^\w\s]")
SIZE = 140
OPEN = 0.06
"""The share of sentences that fewer than three have answered so far."""

Span = tuple[int, int, str]
"""First token, the token after the last, label."""


@dataclass(frozen=True, slots=True)
class TokenSentence:
    """One sentence with its tokens, where they stand in the text, and its true spans."""

    id: str
    text: str
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class SpanVote:
    """One annotator's answer to one sentence; no spans is an answer too."""

    item: str
    annotator: str
    spans: tuple[Span, ...]


def label_of(mention: Mention) -> str:
    """A company is an organisation here."""
    return "organisation" if mention.entity.kind == "company" else mention.entity.kind


def _tokenised(number: int, text: str, mentions: Sequence[Mention]) -> TokenSentence:
    offsets = tuple(match.span() for match in TOKEN.finditer(text))
    starts = {start: n for n, (start, _) in enumerate(offsets)}
    ends = {end: n + 1 for n, (_, end) in enumerate(offsets)}
    spans = tuple((starts[m.start], ends[m.end], label_of(m)) for m in mentions)
    return TokenSentence(f"e{number:03d}", text, tuple(text[s:e] for s, e in offsets), offsets, spans)


def _written(world: World, rng: Random) -> Iterator[TokenSentence]:
    reports, seen = deck(patterns(REPORTS), rng), set[str]()
    while len(seen) < SIZE:
        text, mentions = rendered(next(reports), {}, world, rng)
        if text not in seen:
            seen.add(text)
            yield _tokenised(len(seen), text, mentions)


def entity_corpus(seed: int) -> list[TokenSentence]:
    """The sentences of the entity demo, with ids `e001` and on."""
    return list(_written(world(seed), Random(f"entities {seed}")))


def steady(sentence: TokenSentence, rng: Random) -> tuple[Span, ...]:
    """Overlooks one span in fifty."""
    return tuple(span for span in sentence.spans if rng.random() >= 0.02)


def trims(sentence: TokenSentence, rng: Random) -> tuple[Span, ...]:
    """Cuts the last word off one longer name in ten; of organisations, off every second."""
    cut = {"person": 0.08, "place": 0.1, "organisation": 0.5}
    return tuple(
        (start, end - 1, label) if end - start > 1 and rng.random() < cut[label] else (start, end, label)
        for start, end, label in sentence.spans
    )


def mixes(sentence: TokenSentence, rng: Random) -> tuple[Span, ...]:
    """Takes one organisation in three for a place, and one place in forty for an organisation."""
    turned = {"organisation": (0.35, "place"), "place": (0.025, "organisation"), "person": (0.0, "person")}
    return tuple(
        (start, end, turned[label][1] if rng.random() < turned[label][0] else label)
        for start, end, label in sentence.spans
    )


SPAN_ANNOTATORS: dict[str, tuple[str, Callable[[TokenSentence, Random], tuple[Span, ...]]]] = {
    "mirela": ("Mirela Aspenhall", steady),
    "jorund": ("Jørund Tavares", trims),
    "adaeze": ("Adaeze Lindqvale", mixes),
}
"""User name → full name and habit."""


def span_votes(sentences: Sequence[TokenSentence], *, seed: int) -> Iterator[SpanVote]:
    """The votes in the order they came in: annotator by annotator, some sentences not answered by all yet."""
    rng = Random(f"span votes {seed}")
    missing = {
        s.id: rng.sample(sorted(SPAN_ANNOTATORS), rng.choice((1, 1, 2)))
        for s in rng.sample(list(sentences), round(OPEN * len(sentences)))
    }
    for annotator, (_, habit) in SPAN_ANNOTATORS.items():
        for sentence in sentences:
            spans = habit(sentence, rng)
            if annotator not in missing.get(sentence.id, ()):
                yield SpanVote(sentence.id, annotator, spans)
