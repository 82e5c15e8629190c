"""TACRED: one JSON array; tokens, ends inclusive, one relation a pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import decode_documents
from evalsvc.core.formats.json_lines import Identifier, identifier
from evalsvc.core.formats.pairs import json_array, lose_ids, only_label, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, token_starts
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import check_bounds

NEGATIVE = "no_relation"


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file."""
    yield f"{export.name}.json", json_array(_objects(documents, export))


def _objects(documents: Iterable[Document], export: Export) -> Iterator[dict[str, Any]]:
    for document, head, tail in pairs(documents):
        lose_ids(export, head, tail)
        (subj, subj_end), (obj, obj_end) = (document.in_tokens(*place(end)) for end in (head, tail))
        tags = ["O"] * len(document.tokens)
        tags[obj:obj_end] = [tail.type or "O"] * (obj_end - obj)
        tags[subj:subj_end] = [head.type or "O"] * (subj_end - subj)
        yield {
            "id": document.id,
            "docid": document.id,
            "relation": only_label(document, NEGATIVE, export),
            "token": document.tokens,
            "subj_start": subj,
            "subj_end": subj_end - 1,
            "obj_start": obj,
            "obj_end": obj_end - 1,
            "subj_type": head.type,
            "obj_type": tail.type,
            "stanford_ner": tags,
            # what a parser would say is not known; the columns must be there, as long as the tokens
            "stanford_pos": ["X"] * len(tags),
            "stanford_head": [0, *[1] * (len(tags) - 1)],
            "stanford_deprel": ["ROOT", *["dep"] * (len(tags) - 1)],
        }


class WireExample(msgspec.Struct):
    """What is read of an example."""

    id: Identifier
    token: list[str]
    subj_start: int
    subj_end: int
    obj_start: int
    obj_end: int
    relation: str | None = None
    subj_type: str = ""
    obj_type: str = ""


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with the subject as head."""
    for line, wire in decode_documents(source, WireExample, problems=problems, limits=limits):
        length, tokens = len(wire.token), tuple(wire.token)
        item_id = identifier(wire.id, line=line, field="id", problems=problems)
        places = (("subj", wire.subj_start, wire.subj_end, wire.subj_type),
                  ("obj", wire.obj_start, wire.obj_end, wire.obj_type))  # fmt: skip
        valid = [
            check_bounds(start, end + 1, length=length, line=line, field=f"{field}_start", problems=problems)
            for field, start, end, _ in places
        ]
        if item_id is None or not all(valid):
            continue
        starts = token_starts(tokens)
        head, tail = (
            Entity(
                None, " ".join(tokens[start : end + 1]), starts[start], starts[end] + len(tokens[end]), kind
            )
            for _, start, end, kind in places
        )
        labels = None if wire.relation is None else (wire.relation,)
        yield line, ItemLine(item_id, " ".join(tokens), tokens, head, tail, None, labels)


FORMAT = register(
    Format(
        "tacred",
        "TACRED (JSON)",
        "One JSON array; a sentence in tokens with subject, object and one relation each. "
        "Ends are inclusive.",
        '[{"id":"s1","token":["Ada","was","born","in","Turin","."],"subj_start":0,"subj_end":0,"obj_start":4,'
        '"obj_end":4,"subj_type":"PER","obj_type":"LOC","relation":"born_in"}]',
        roles=("items", "gold"),
        rank=12,
        recognise=lambda sample: {"token", "subj_start", "obj_start"} <= sample.keys,
        readers={"items": Reader(read)},
        writer=Writer(
            write,
            ("relations",),
            "tokens, ends inclusive",
            "One relation a pair, no ids of entities. The text becomes tokens. The columns of a parser are "
            "placeholders.",
        ),
        merge_by="id",
        marks="pairs",
        negatives=(NEGATIVE,),
    )
)
