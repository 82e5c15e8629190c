"""DocRED: one JSON array; entities with mentions in sentences, relations between entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import decode_documents, token_item
from evalsvc.core.formats.json_lines import Identifier
from evalsvc.core.formats.pairs import json_array
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the documents, then the relations."""
    yield f"{export.name}.json", json_array(_object(document, export) for document in documents)
    relations = {name: name for name in export.relations}
    yield "rel_info.json", [msgspec.json.encode(relations) + b"\n"]


def _object(document: Document, export: Export) -> dict[str, Any]:
    sentences = document.sentences
    vertices: dict[tuple[str, str], list[dict[str, Any]]] = {}
    entity_of, sentence_of = [], []
    for start, end, label in document.token_spans:
        number = next(at for at, sentence in enumerate(sentences) if start < sentence.end)
        first = sentences[number].first
        name = " ".join(document.tokens[start:end])
        mention = {"name": name, "sent_id": number, "pos": [start - first, end - first], "type": label}
        vertices.setdefault((name, label), []).append(mention)
        entity_of.append(list(vertices).index((name, label)))
        sentence_of.append(number)
    facts: dict[tuple[int, int, str], list[int]] = {}
    for head, name, tail in document.links:
        evidence = sorted({sentence_of[head], sentence_of[tail]})
        fact = (entity_of[head], entity_of[tail], name)
        export.lost["relations of mentions whose entities have the relation already"] += fact in facts
        facts.setdefault(fact, evidence)
    return {
        "title": document.id,
        "sents": [document.tokens[first:end] for first, end in sentences],
        "vertexSet": list(vertices.values()),
        "labels": [{"h": h, "t": t, "r": name, "evidence": at} for (h, t, name), at in facts.items()],
    }


class WireMention(msgspec.Struct):
    sent_id: int
    pos: tuple[int, int]
    type: str


class WireLabel(msgspec.Struct):
    h: int
    t: int
    r: str


class WireDocument(msgspec.Struct):
    title: Identifier
    sents: list[list[str]]
    vertexSet: list[list[WireMention]]
    labels: list[WireLabel] = []


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); a relation of entities is one of their first mentions."""
    for line, wire in decode_documents(source, WireDocument, problems=problems, limits=limits):
        starts = [0]
        for sentence in wire.sents:
            starts.append(starts[-1] + len(sentence))
        spans: list[Span] = []
        first, valid = [], True
        for at, mentions in enumerate(wire.vertexSet):
            first.append(len(spans))
            for mention in mentions:
                inside = 0 <= mention.sent_id < len(wire.sents)
                length = len(wire.sents[mention.sent_id]) if inside else 0
                if not 0 <= mention.pos[0] < mention.pos[1] <= length:
                    field, value = f"vertexSet[{at}]", f"sentence {mention.sent_id}, {list(mention.pos)}"
                    problems.add(
                        "bad_span", line=line, field=field, value=value, expected="a place in the sentence"
                    )
                    valid = False
                    continue
                begin = starts[mention.sent_id]
                spans.append((begin + mention.pos[0], begin + mention.pos[1], mention.type))
        links = _links(wire, first, line, problems) if valid else None
        tokens = [token for sentence in wire.sents for token in sentence]
        if links is not None:
            item = token_item(wire.title, tokens, spans, links, line=line, problems=problems)
            if item is not None:
                yield line, item


def _links(wire: WireDocument, first: list[int], line: int, problems: Problems) -> list[Link] | None:
    for label in wire.labels:
        if not (0 <= label.h < len(first) and 0 <= label.t < len(first)):
            expected = f"numbers of entities, below {len(first)}"
            value = f"{label.h}, {label.t}"
            problems.add("bad_reference", line=line, field="labels", value=value, expected=expected)
            return None
    return [(first[label.h], label.r, first[label.t]) for label in wire.labels]


FORMAT = register(
    Format(
        "docred",
        "DocRED (JSON)",
        "One JSON array of documents in sentences of tokens; entities with mentions, "
        "relations between entities.",
        '[{"title":"d1","sents":[["Ada","lives","in","Turin"]],"vertexSet":[[{"name":"Ada","sent_id":0,'
        '"pos":[0,1],"type":"PER"}],[{"name":"Turin","sent_id":0,"pos":[3,4],"type":"LOC"}]],'
        '"labels":[{"h":0,"t":1,"r":"lives_in","evidence":[0]}]}]',
        roles=("items", "gold"),
        rank=14,
        recognise=lambda sample: {"sents", "vertexSet"} <= sample.keys,
        readers={"items": Reader(read)},
        writer=Writer(
            write,
            ("entities", "joint"),
            "tokens of the sentence, ends exclusive",
            "The text becomes tokens; paragraphs are the sentences. Spans with the same words and "
            "label become "
            "mentions of one entity, and relations are between entities.",
        ),
        merge_by="id",
        marks="spans",
    )
)
