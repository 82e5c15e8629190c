"""Gold as a scorer needs it: labels and pairs of relation lines, wherever in the text the mentions stand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from evalsvc.core.formats.json_blocks import Block, Irregular, decoded, has_keys, read_blocks
from evalsvc.core.formats.json_lines import Identifier, all_plain, decode, keys_of, plain
from evalsvc.core.formats.jsonl_items import Mention, WireItem, item_of
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, content_id
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


def read_gold(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of gold lines, the house's own and OpenNRE's; problems are reported.

    The text of relation lines and the places in it are not kept and not checked: no measure of relations
    reads them, and published gold may come without. Lines with spans are read with all care.
    """
    decoder = msgspec.json.Decoder(WireItem)
    for block in read_blocks(source, problems=problems, limits=limits):
        wires = decoded(block, decoder, limits=limits)
        if wires is not None and not has_keys(block, sum(map(keys_of, wires))):
            wires = None
        for line, wire in _numbered(block, wires, decoder, problems, limits):
            item = _quick(wire) or item_of(wire, line=line, problems=problems, require_text=False)
            if item is not None:
                yield line, item


def _numbered(
    block: Block,
    wires: list[WireItem] | None,
    decoder: msgspec.json.Decoder[WireItem],
    problems: Problems,
    limits: Limits,
) -> Iterator[tuple[int, WireItem]]:
    if wires is not None:
        yield from enumerate(wires, block.first)
        return
    for line, text in block.texts(problems=problems, limits=limits):
        wire = decode(decoder, text, line=line, problems=problems)
        if wire is not None:
            yield line, wire


class _Name(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    name: msgspec.Raw
    pos: msgspec.Raw


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    relations: list[str]
    h: _Name
    t: _Name


class _Text(_Line, forbid_unknown_fields=True, gc=False):
    text: msgspec.Raw


class _Tokens(_Line, forbid_unknown_fields=True, gc=False):
    tokens: msgspec.Raw


# Each has one and the same number of keys in every line.
LINES: tuple[tuple[msgspec.json.Decoder[Any], int], ...] = (
    (msgspec.json.Decoder(_Text), 11),
    (msgspec.json.Decoder(_Tokens), 11),
    (msgspec.json.Decoder(_Line), 10),
)


class Part(NamedTuple):
    """Some gold lines, column by column."""

    ids: list[str]
    labels: list[list[str]]
    pairs: list[tuple[str, str]]


def read_parts(source: Source, *, pairs: bool, problems: Problems, limits: Limits = LIMITS) -> Iterator[Part]:
    """Yield the columns of a file of relation lines with ids; raises `Irregular` at anything unusual.

    Without `pairs` the column of pairs is empty.
    """
    for block in read_blocks(source, problems=problems, limits=limits):
        found = _lines(block, limits)
        both = [(line.h.id, line.t.id) for line in found] if pairs else []
        part = Part([line.id for line in found], [line.relations for line in found], both)
        names = part.ids + [name for pair in both for name in pair]
        if not all_plain(names) or "" in chain.from_iterable(part.labels):
            raise Irregular
        yield part


def _lines(block: Block, limits: Limits) -> list[_Line]:
    for decoder, keys in LINES:
        found = decoded(block, decoder, limits=limits)
        if found is not None and has_keys(block, keys * len(found)):
            return found
    raise Irregular


def _quick(wire: WireItem) -> ItemLine | None:
    """The item of a relation line in its usual form; None for any other."""
    relations: Any = wire.relations
    if relations is UNSET:
        relations = () if wire.relation is UNSET else (wire.relation,)
    head, tail, name = wire.h, wire.t, wire.id
    if (
        head is UNSET
        or tail is UNSET
        or wire.anno_relation_list is not UNSET
        or wire.spans is not UNSET
        or not all(type(one) is str and one for one in relations)
    ):
        return None
    entities = _entity(head), _entity(tail)
    if entities[0] is None or entities[1] is None:
        return None
    if name is UNSET:
        if wire.text is UNSET or entities[0].start is None or entities[1].start is None:
            return None
        name = content_id(wire.text, *entities)
    if type(name) is not str or not plain(name):
        return None
    return ItemLine(name, None, None, entities[0], entities[1], None, tuple(relations))


def _entity(mention: Mention) -> Entity | None:
    given: Identifier | None = None if mention.id is UNSET else mention.id
    if (
        mention.name is UNSET
        or not mention.name
        or not (given is None or (type(given) is str and plain(given)))
    ):
        return None
    return Entity(given, mention.name, *(mention.pos if mention.pos is not UNSET else ()))
