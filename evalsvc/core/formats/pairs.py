"""What formats of one pair a line share: one label of several, a sentence with two marked mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.records import Entity
from evalsvc.core.formats.registry import Export

SECOND_LABELS = "further relations of a pair"


def pairs(documents: Iterable[Document]) -> Iterator[tuple[Document, Entity, Entity]]:
    """Yield the documents of given pairs, with head and tail."""
    for document in documents:
        if document.head is not None and document.tail is not None:
            yield document, document.head, document.tail


def only_label(document: Document, negative: str, export: Export) -> str:
    """Return the first relation of a pair, or the name of N/A; the others are lost."""
    export.lost[SECOND_LABELS] += max(len(document.labels) - 1, 0)
    return document.labels[0] if document.labels else negative


def lose_types(export: Export, *entities: Entity) -> None:
    export.lost["types of entities"] += sum(bool(entity.type) for entity in entities)


def lose_ids(export: Export, *entities: Entity) -> None:
    export.lost["ids of entities"] += sum(bool(entity.id) for entity in entities)


def place(entity: Entity) -> tuple[int, int]:
    assert entity.start is not None
    assert entity.end is not None
    return entity.start, entity.end


def overlap(one: Entity, other: Entity) -> bool:
    (start, end), (other_start, other_end) = place(one), place(other)
    return start < other_end and other_start < end


def mention(entity: Entity, at: tuple[int, int]) -> dict[str, Any]:
    """Return a mention as OpenNRE spells it, with its type if it has one."""
    parts = {"id": entity.id, "name": entity.name, "pos": list(at), "type": entity.type or None}
    return {key: part for key, part in parts.items() if part is not None}


def json_lines(objects: Iterable[Any]) -> Iterator[bytes]:
    return (msgspec.json.encode(each) + b"\n" for each in objects)


def json_array(objects: Iterable[Any]) -> Iterator[bytes]:
    """Yield one array, an object per line."""
    before = b"[\n"
    for each in objects:
        yield before + msgspec.json.encode(each)
        before = b",\n"
    yield b"\n]\n" if before != b"[\n" else b"[]\n"
