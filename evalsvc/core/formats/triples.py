"""Gold as triples: relations of entity pairs, without text."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evalsvc.core.formats.json_lines import Identifier, decode_lines, identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, content_id
from evalsvc.core.formats.registry import Format, Reader, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


class NamedEntity(msgspec.Struct, forbid_unknown_fields=True):
    """An entity with a name, and an id if it has one."""

    name: str
    id: Identifier | None = None


class WireTriple(msgspec.Struct, forbid_unknown_fields=True):
    """A triple as JSON."""

    h: NamedEntity | Identifier
    t: NamedEntity | Identifier
    relation: str


def read_triples(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with a pair and one of its relations.

    Lines of the same pair have the same id.
    """
    for line, wire in decode_lines(source, WireTriple, problems=problems, limits=limits):
        head = _entity(wire.h, "h", line, problems)
        tail = _entity(wire.t, "t", line, problems)
        if not wire.relation:
            problems.add("wrong_type", line=line, field="relation", expected="the name of a relation")
        elif head is not None and tail is not None:
            name = content_id("", head, tail)
            yield line, ItemLine(name, None, head=head, tail=tail, relations=(wire.relation,))


def _entity(value: NamedEntity | Identifier, field: str, line: int, problems: Problems) -> Entity | None:
    if not isinstance(value, NamedEntity):
        name = identifier(value, line=line, field=field, problems=problems)
        return None if name is None else Entity(None, name)
    name = identifier(value.name, line=line, field=f"{field}.name", problems=problems)
    if name is None or value.id is None:
        return None if name is None else Entity(None, name)
    entity_id = identifier(value.id, line=line, field=f"{field}.id", problems=problems)
    return None if entity_id is None else Entity(entity_id, name)


FORMAT = register(
    Format(
        "triples",
        "Triples (JSONL)",
        "One relation of an entity pair per line, without text: gold for bags. Lines of a pair are one item.",
        '{"h":"Q1","relation":"born_in","t":"Q2"}',
        roles=("gold",),
        rank=15,
        recognise=lambda sample: sample.keys == {"h", "t", "relation"},
        readers={"items": Reader(read_triples)},
        repeats_items=True,
        marks="pairs",
    )
)
