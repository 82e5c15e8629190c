"""SpERT: one JSON array; tokens, ends exclusive, relations by the index of their spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import decode_documents, token_item
from evalsvc.core.formats.json_lines import Identifier
from evalsvc.core.formats.pairs import json_array
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the documents, then the types."""
    yield f"{export.name}.json", json_array(_object(document) for document in documents)
    types = {name: {"short": name, "verbose": name} for name in export.types}
    relations = {name: {"short": name, "verbose": name, "symmetric": False} for name in export.relations}
    yield "types.json", [msgspec.json.encode({"entities": types, "relations": relations}) + b"\n"]


def _object(document: Document) -> dict[str, Any]:
    spans = document.token_spans
    return {
        "tokens": document.tokens,
        "entities": [{"type": label, "start": start, "end": end} for start, end, label in spans],
        "relations": [{"type": name, "head": head, "tail": tail} for head, name, tail in document.links],
        "orig_id": document.id,
    }


class WireSpan(msgspec.Struct):
    type: str
    start: int
    end: int


class WireLink(msgspec.Struct):
    type: str
    head: int
    tail: int


class WireDocument(msgspec.Struct):
    tokens: list[str]
    entities: list[WireSpan]
    relations: list[WireLink] = []
    orig_id: Identifier | None = None


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); a document without an id is named after its number."""
    wires = decode_documents(source, WireDocument, problems=problems, limits=limits)
    for number, (line, wire) in enumerate(wires, 1):
        spans = [(span.start, span.end, span.type) for span in wire.entities]
        links = [(link.head, link.type, link.tail) for link in wire.relations]
        name = number if wire.orig_id is None else wire.orig_id
        item = token_item(name, wire.tokens, spans, links, line=line, problems=problems)
        if item is not None:
            yield line, item


FORMAT = register(
    Format(
        "spert",
        "SpERT (JSON)",
        "One JSON array of documents in tokens. Relations name their spans by index.",
        '[{"tokens":["Ada","lives","in","Turin"],"entities":[{"type":"PER","start":0,"end":1},'
        '{"type":"LOC","start":3,"end":4}],"relations":[{"type":"lives_in","head":0,"tail":1}],"orig_id":"d1"}]',
        roles=("items", "gold"),
        rank=13,
        recognise=lambda sample: {"tokens", "entities", "relations"} <= sample.keys,
        readers={"items": Reader(read)},
        writer=Writer(write, ("entities", "joint"), "tokens, ends exclusive", "The text becomes tokens."),
        merge_by="id",
        marks="spans",
    )
)
