"""Records of items, predictions and votes, and their canonical lines."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

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


class EntityTextsPrediction(msgspec.Struct, frozen=True):
    """Entities of an item as (text, label), without offsets."""

    id: str
    entities: tuple[tuple[str, str], ...]


class TriplesPrediction(msgspec.Struct, frozen=True):
    """Relations of an item as (head, relation, tail), without offsets."""

    id: str
    triples: tuple[tuple[str, str, str], ...]


class Abstention(msgspec.Struct, frozen=True):
    """No answer to an item, by the system's own word."""

    id: str


PredictionLine = (
    LabelPrediction
    | LabelsPrediction
    | ScoresPrediction
    | BagPrediction
    | SpansPrediction
    | TagsPrediction
    | EntityTextsPrediction
    | TriplesPrediction
    | Abstention
)


class VoteLine(msgspec.Struct, frozen=True):
    """An annotator's answer to an item.

    `na` is an explicit N/A, not an empty answer. `text` is that of the file, if spans count its code points.
    """

    item: str
    annotator: str
    payload: Payload
    na: bool
    text: str | None = None


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


def canonical_line(value: object) -> bytes:
    """Return one object as one canonical line.

    Raises ValueError for a number that is not finite.
    """
    line = msgspec.json.encode(value, order="sorted")
    if b"null" in line and _has_unfinite(msgspec.to_builtins(value)):
        raise ValueError("a number that is not finite cannot be written as JSON")
    return line + b"\n"


def _has_unfinite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_unfinite, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_unfinite, value))


def item_object(item: ItemLine) -> dict[str, Any]:
    """Return an item as a JSON object.

    Offsets count tokens if the item has tokens.
    """
    tokens = item.tokens
    for entity in (item.head, item.tail):
        if tokens and entity is not None and entity.start is not None and not _token_offsets(entity, tokens):
            tokens = None  # a mention inside a token needs code points
    parts = {
        "id": item.id,
        "text": item.text if tokens is None else None,
        "tokens": tokens,
        "h": _mention(item.head, tokens),
        "t": _mention(item.tail, tokens),
        "spans": item.spans,
        "relations": item.relations,
    }
    return {key: part for key, part in parts.items() if part is not None}


def _mention(entity: Entity | None, tokens: tuple[str, ...] | None) -> dict[str, Any] | None:
    if entity is None:
        return None
    place = None if entity.start is None else (entity.start, entity.end)
    place = _token_offsets(entity, tokens) if place and tokens is not None else place
    parts = {"id": entity.id, "name": entity.name, "pos": place, "type": entity.type or None}
    return {key: part for key, part in parts.items() if part is not None}


def _token_offsets(entity: Entity, tokens: tuple[str, ...]) -> tuple[int, int] | None:
    starts = token_starts(tokens)
    ends = [start + len(token) for start, token in zip(starts, tokens, strict=True)]
    if entity.start in starts and entity.end in ends:
        return starts.index(entity.start), ends.index(entity.end) + 1
    return None
