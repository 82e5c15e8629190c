"""Records that files are read into: items, predictions and votes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypedDict

import msgspec

Span = tuple[int, int, str]
Link = tuple[int, str, int]


class Payload(TypedDict):
    """An answer of any project kind; N/A is two empty lists."""

    spans: list[list[int | str]]
    relations: list[str] | list[list[int | str]]


class Entity(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mention; its offsets count code points of the text.

    They are None without a text.
    """

    id: str | None
    name: str
    start: int | None = None
    end: int | None = None
    type: str = ""

    @property
    def key(self) -> str:
        """Return the id, or the name if the file has no ids."""
        return self.name if self.id is None else self.id


class ItemLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence or document with its mentions and labels.

    `spans` count `tokens` if present, otherwise code points of `text`. `relations` are triples (span, name,
    span) in items with spans, otherwise names. `label_lines` are the lines of the spans, or else of the
    relations, in formats that spread an item over lines.
    """

    id: str
    text: str | None
    tokens: tuple[str, ...] | None = None
    head: Entity | None = None
    tail: Entity | None = None
    spans: tuple[Span, ...] | None = None
    relations: tuple[str, ...] | tuple[Link, ...] | None = None
    label_lines: tuple[int, ...] = ()

    @property
    def length(self) -> int | None:
        """Return the number of tokens, or of code points without tokens."""
        if self.tokens is not None:
            return len(self.tokens)
        return None if self.text is None else len(self.text)

    @property
    def pair(self) -> tuple[str, str] | None:
        """Return the entity pair, which is the bag of the item."""
        return None if self.head is None or self.tail is None else (self.head.key, self.tail.key)


class LabelPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The label of an item."""

    id: str
    label: str


class LabelsPrediction(msgspec.Struct, frozen=True):
    """The labels of an item."""

    id: str
    labels: tuple[str, ...]


class ScoresPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scores of labels for an item."""

    id: str
    scores: dict[str, float]


class BagPrediction(msgspec.Struct, frozen=True):
    """The score of a relation for an entity pair."""

    head: str
    tail: str
    relation: str
    score: float


class SpansPrediction(msgspec.Struct, frozen=True):
    """Labelled spans of an item, and relations between them."""

    id: str
    spans: tuple[Span, ...]
    relations: tuple[Link, ...] = ()


class TagsPrediction(msgspec.Struct, frozen=True):
    """A tag for each token of an item.

    `lines` are those of the tokens.
    """

    id: str
    tags: tuple[str, ...]
    tokens: tuple[str, ...] | None = None
    lines: Sequence[int] = ()


PredictionLine = (
    LabelPrediction | LabelsPrediction | ScoresPrediction | BagPrediction | SpansPrediction | TagsPrediction
)


class VoteLine(msgspec.Struct, frozen=True):
    """An annotator's answer to an item.

    `na` is an explicit N/A, not an empty answer.
    """

    item: str
    annotator: str
    payload: Payload
    na: bool


def payload(*, spans: tuple[Span, ...] = (), relations: tuple[str, ...] | tuple[Link, ...] = ()) -> Payload:
    """Return an answer in the shape shared by all project kinds."""
    names = [name for name in relations if isinstance(name, str)]
    links: list[list[int | str]] = [list(link) for link in relations if not isinstance(link, str)]
    return {"spans": [list(span) for span in spans], "relations": links or names}


def content_id(text: str, head: Entity | None = None, tail: Entity | None = None) -> str:
    """Return an id made from the content, the same for repeated items."""
    parts = [text]
    for entity in (head, tail):
        parts += ["" if entity is None else f"{entity.key}\x1f{entity.start}\x1f{entity.end}"]
    return hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:20]


def token_starts(tokens: tuple[str, ...]) -> list[int]:
    """Return the starts of tokens joined by single spaces."""
    starts, at = [], 0
    for token in tokens:
        starts.append(at)
        at += len(token) + 1
    return starts
