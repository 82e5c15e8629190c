"""Canonical lines out: sorted keys, no spaces, UTF-8, one line end; the same content is the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from evalsvc.core.formats.records import (
    BagPrediction,
    Entity,
    ItemLine,
    LabelPrediction,
    LabelsPrediction,
    PredictionLine,
    ScoresPrediction,
    SpansPrediction,
    VoteLine,
    token_starts,
)
from evalsvc.core.formats.tag_schemes import Scheme, spans_to_tags


def canonical_line(value: object) -> bytes:
    """Write one object as one line; a number that is not finite has no JSON and is refused (ValueError)."""
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
    """An item as the house writes it: tokens where there are tokens, offsets in the same unit."""
    tokens = item.tokens if _on_tokens(item) else None
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


def _on_tokens(item: ItemLine) -> bool:
    """A mention that begins or ends inside a token can be written in code points only."""
    mentions = [
        entity for entity in (item.head, item.tail) if entity is not None and entity.start is not None
    ]
    return item.tokens is not None and all(_token_offsets(entity, item.tokens) for entity in mentions)


def _mention(entity: Entity | None, tokens: tuple[str, ...] | None) -> dict[str, Any] | None:
    if entity is None:
        return None
    place = None if entity.start is None else (entity.start, entity.end)
    place = _token_offsets(entity, tokens) if place and tokens is not None else place
    parts = {"id": entity.id, "name": entity.name, "pos": place}
    return {key: part for key, part in parts.items() if part is not None}


def _token_offsets(entity: Entity, tokens: tuple[str, ...]) -> tuple[int, int] | None:
    starts = token_starts(tokens)
    ends = [start + len(token) for start, token in zip(starts, tokens, strict=True)]
    if entity.start in starts and entity.end in ends:
        return starts.index(entity.start), ends.index(entity.end) + 1
    return None


def opennre_objects(item: ItemLine, *, negative: str) -> Iterator[dict[str, Any]]:
    """An item in OpenNRE's spelling: one object for each relation, the negative class where there is none."""
    bare = {key: part for key, part in item_object(item).items() if key not in ("relations", "id", "tokens")}
    tokens = {} if "text" in bare else {"token": item.tokens}
    for relation in item.relations or (negative,):
        yield {**bare, **tokens, "relation": relation}


def prediction_object(prediction: PredictionLine) -> dict[str, Any]:
    """A prediction in the form it came in."""
    match prediction:
        case BagPrediction(head=head, tail=tail, relation=relation, score=score):
            return {"h": head, "t": tail, "relation": relation, "score": score}
        case LabelPrediction(id=name, label=label):
            return {"id": name, "label": label}
        case LabelsPrediction(id=name, labels=labels):
            return {"id": name, "labels": labels}
        case ScoresPrediction(id=name, scores=scores):
            return {"id": name, "scores": scores}
        case SpansPrediction(id=name, spans=spans, relations=relations):
            return {"id": name, "spans": spans} | ({"relations": relations} if relations else {})
        case _:
            return {"id": prediction.id, "tags": prediction.tags}


def vote_object(vote: VoteLine) -> dict[str, Any]:
    """A vote as the house writes it; N/A is said."""
    spans, relations = vote.payload["spans"], vote.payload["relations"]
    bare: dict[str, Any] = {"item": vote.item, "annotator": vote.annotator}
    if vote.na:
        return {**bare, "na": True}
    links = [relation for relation in relations if not isinstance(relation, str)]
    if spans or links:
        return {**bare, "spans": spans} | ({"relations": links} if links else {})
    return {**bare, "labels": relations}


def write_items(items: Iterable[ItemLine]) -> Iterator[bytes]:
    return (canonical_line(item_object(item)) for item in items)


def write_opennre(items: Iterable[ItemLine], *, negative: str) -> Iterator[bytes]:
    return (canonical_line(line) for item in items for line in opennre_objects(item, negative=negative))


def write_predictions(predictions: Iterable[PredictionLine]) -> Iterator[bytes]:
    return (canonical_line(prediction_object(prediction)) for prediction in predictions)


def write_votes(votes: Iterable[VoteLine]) -> Iterator[bytes]:
    return (canonical_line(vote_object(vote)) for vote in votes)


def write_conll(items: Iterable[ItemLine], *, scheme: Scheme) -> Iterator[bytes]:
    """Token and tag a line, a blank line after each sentence; needs tokens and spans that do not overlap."""
    for item in items:
        if item.tokens is None:
            raise ValueError(f"item {item.id} has no tokens")
        tags = spans_to_tags(item.spans or (), len(item.tokens), scheme)
        rows = [f"{token}\t{tag}\n" for token, tag in zip(item.tokens, tags, strict=True)]
        yield "".join([*rows, "\n"]).encode()
