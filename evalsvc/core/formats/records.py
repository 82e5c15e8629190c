"""What the formats turn into: items, predictions and votes, all frozen."""

from __future__ import annotations

import hashlib
from typing import TypedDict

import msgspec

Span = tuple[int, int, str]
Link = tuple[int, str, int]


class Payload(TypedDict):
    """One answer of any project kind; N/A is two empty lists."""

    spans: list[list[int | str]]
    relations: list[str] | list[list[int | str]]


class Entity(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named mention; start and end are code points of the item's text, unknown where there is no text."""

    id: str | None
    name: str
    start: int | None = None
    end: int | None = None
    type: str = ""

    @property
    def key(self) -> str:
        """What pairs are made of: the id, or the name where the file gives no ids."""
        return self.name if self.id is None else self.id


class ItemLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sentence with what it is asked about and the labels it came with.

    `spans` count tokens where `tokens` are given, code points of `text` otherwise. `relations` are names
    when head and tail (or nothing) are given, triples (span, name, span) when spans are.
    """

    id: str
    text: str | None
    tokens: tuple[str, ...] | None = None
    head: Entity | None = None
    tail: Entity | None = None
    spans: tuple[Span, ...] | None = None
    relations: tuple[str, ...] | tuple[Link, ...] | None = None

    @property
    def length(self) -> int | None:
        """How far spans may reach: tokens, or code points."""
        if self.tokens is not None:
            return len(self.tokens)
        return None if self.text is None else len(self.text)

    @property
    def pair(self) -> tuple[str, str] | None:
        """The bag this item belongs to."""
        return None if self.head is None or self.tail is None else (self.head.key, self.tail.key)

    def code_point_spans(self) -> tuple[Span, ...]:
        """Give the spans in code points of the text, whatever unit they came in."""
        if self.tokens is None or not self.spans:
            return self.spans or ()
        starts = token_starts(self.tokens)
        return tuple(
            (starts[s], starts[e - 1] + len(self.tokens[e - 1]), label) for s, e, label in self.spans
        )


class LabelPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    label: str


class LabelsPrediction(msgspec.Struct, frozen=True):
    id: str
    labels: tuple[str, ...]


class ScoresPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    scores: dict[str, float]


class BagPrediction(msgspec.Struct, frozen=True):
    head: str
    tail: str
    relation: str
    score: float


class SpansPrediction(msgspec.Struct, frozen=True):
    id: str
    spans: tuple[Span, ...]
    relations: tuple[Link, ...] = ()


class TagsPrediction(msgspec.Struct, frozen=True):
    id: str
    tags: tuple[str, ...]
    tokens: tuple[str, ...] | None = None


PredictionLine = (
    LabelPrediction | LabelsPrediction | ScoresPrediction | BagPrediction | SpansPrediction | TagsPrediction
)


class VoteLine(msgspec.Struct, frozen=True):
    """One annotator's answer to one item; `na` is true where N/A was said, not merely nothing."""

    item: str
    annotator: str
    payload: Payload
    na: bool


def payload(*, spans: tuple[Span, ...] = (), relations: tuple[str, ...] | tuple[Link, ...] = ()) -> Payload:
    """Put an answer into the one shape that all kinds share."""
    names = [name for name in relations if isinstance(name, str)]
    links: list[list[int | str]] = [list(link) for link in relations if not isinstance(link, str)]
    return {"spans": [list(span) for span in spans], "relations": links or names}


def content_id(text: str, head: Entity | None = None, tail: Entity | None = None) -> str:
    """Name an item that has no id after its content, so that its repeats share the name."""
    parts = [text]
    for entity in (head, tail):
        parts += ["" if entity is None else f"{entity.key}\x1f{entity.start}\x1f{entity.end}"]
    return hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:20]


def token_starts(tokens: tuple[str, ...]) -> list[int]:
    """Where each token begins in the text of tokens joined by single spaces."""
    starts, at = [], 0
    for token in tokens:
        starts.append(at)
        at += len(token) + 1
    return starts
