"""Canonical JSON Lines: the same content always gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from evalsvc.core.formats.records import Entity, ItemLine, token_starts


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
    """Return whether all mentions have token offsets.

    Code points must be used for a mention inside a token.
    """
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
