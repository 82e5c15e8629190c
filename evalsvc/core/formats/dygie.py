"""SciERC and DyGIE++: a document per line; tokens of the whole document, ends inclusive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import decode_documents, token_item
from evalsvc.core.formats.json_lines import Identifier
from evalsvc.core.formats.pairs import json_lines
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file."""
    yield f"{export.name}.jsonl", json_lines(_object(document, export) for document in documents)


def _object(document: Document, export: Export) -> dict[str, Any]:
    sentences, spans = document.sentences, document.token_spans
    at = [_sentence_of(span, document) for span in spans]
    ner: list[list[Any]] = [[] for _ in sentences]
    relations: list[list[Any]] = [[] for _ in sentences]
    for (start, end, label), number in zip(spans, at, strict=True):
        ner[number].append([start, end - 1, label])
    for head, name, tail in document.links:
        (start, end, _), (other, other_end, _) = spans[head], spans[tail]
        if at[head] == at[tail]:
            relations[at[head]].append([start, end - 1, other, other_end - 1, name])
        else:
            export.lost["relations across sentences"] += 1
    bounds = Counter(span[:2] for span in spans)
    linked = {span for head, _, tail in document.links for span in (head, tail)}
    export.lost["linked spans with the bounds of another (relations can't tell them apart)"] += sum(
        bounds[spans[at][:2]] > 1 for at in linked
    )
    return {
        "doc_key": document.id,
        "dataset": export.name,
        "sentences": [document.tokens[first:end] for first, end in sentences],
        "ner": ner,
        "relations": relations,
        "clusters": [],
    }


def _sentence_of(span: Span, document: Document) -> int:
    return next(number for number, (_, end) in enumerate(document.sentences) if span[0] < end)


class WireDocument(msgspec.Struct):
    doc_key: Identifier
    sentences: list[list[str]]
    ner: list[list[tuple[Any, ...]]] = []
    relations: list[list[tuple[Any, ...]]] = []


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); a relation is between the first spans of its bounds."""
    for line, wire in decode_documents(source, WireDocument, problems=problems, limits=limits):
        tokens = [token for sentence in wire.sentences for token in sentence]
        try:
            spans = [msgspec.convert(span[:3], Span) for sentence in wire.ner for span in sentence]
            bounds = [
                msgspec.convert(link[:5], tuple[int, int, int, int, str])
                for s in wire.relations
                for link in s
            ]
        except msgspec.ValidationError as error:
            problems.add(
                "wrong_type",
                line=line,
                field="ner or relations",
                value=str(error),
                expected="[start, end, label] and [start, end, start, end, relation]",
            )
            continue
        first: dict[tuple[int, int], int] = {}
        for number, (start, end, _) in enumerate(spans):
            first.setdefault((start, end), number)
        missing = next((b for b in bounds if b[:2] not in first or b[2:4] not in first), None)
        if missing is not None:
            problems.add(
                "bad_reference",
                line=line,
                field="relations",
                value=str(list(missing)),
                expected="the bounds of spans in ner",
            )
            continue
        links: list[Link] = [(first[b[:2]], b[4], first[b[2:4]]) for b in bounds]
        exclusive: list[Span] = [(start, end + 1, label) for start, end, label in spans]
        item = token_item(wire.doc_key, tokens, exclusive, links, line=line, problems=problems)
        if item is not None:
            yield line, item


FORMAT = register(
    Format(
        "dygie",
        "SciERC and DyGIE++ (JSONL)",
        "A document per line, in sentences of tokens. Offsets count tokens of the document; "
        "ends are inclusive.",
        '{"doc_key":"d1","sentences":[["Ada","lives","in","Turin"]],"ner":[[[0,0,"PER"],[3,3,"LOC"]]],'
        '"relations":[[[0,0,3,3,"lives_in"]]]}',
        roles=("items", "gold"),
        rank=16,
        recognise=lambda sample: {"doc_key", "sentences"} <= sample.keys,
        readers={"items": Reader(read)},
        writer=Writer(
            write,
            ("entities", "joint"),
            "tokens of the document, ends inclusive",
            "The text becomes tokens; paragraphs are the sentences. Relations across sentences "
            "are lost, and those "
            "of spans with the same bounds can't be told apart.",
        ),
        merge_by="id",
        marks="spans",
    )
)
