"""doccano: a document per line, offsets in UTF-16 units or grapheme clusters.

A file does not say which: doccano draws in UTF-16 units, and in grapheme clusters if its project counts so;
offsets that were imported into it are kept as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.documents import UNITS, Document, Offsets, Unit
from evalsvc.core.formats.json_documents import decode_documents
from evalsvc.core.formats.json_lines import Identifier, identifier
from evalsvc.core.formats.jsonl_votes import FirstVotes
from evalsvc.core.formats.pairs import json_lines, mention, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, Link, Span, VoteLine, payload
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

NEGATIVE = "no_relation"
WIDENED = "spans that begin or end within a grapheme cluster (they have all of it)"


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file: entities and relations by id, or categories of pairs."""
    yield f"{export.name}.jsonl", json_lines(_objects(documents, export))


def _objects(documents: Iterable[Document], export: Export) -> Iterator[dict[str, Any]]:
    spans = links = 0
    for number, document in enumerate(documents, 1):
        export.lost["documents without text, which doccano refuses"] += not document.text.strip()
        line: dict[str, Any] = {"id": number, "text": document.text, "doc_id": document.id}
        offsets = Offsets(document.text, export.unit)
        if document.head is not None:
            for _, head, tail in pairs([document]):
                ends = [_place(offsets, *place(end), export) for end in (head, tail)]
                line |= {"id_": document.id, "h": mention(head, ends[0]), "t": mention(tail, ends[1])}
                yield line | {"label": document.labels or (NEGATIVE,), "Comments": []}
        else:
            places = [_place(offsets, start, end, export) for start, end, _ in document.spans]
            entities = [
                {"id": spans + at, "label": label, "start_offset": start, "end_offset": end}
                for at, ((start, end), (*_, label)) in enumerate(zip(places, document.spans, strict=True), 1)
            ]
            relations = [
                {"id": links + at, "from_id": spans + 1 + head, "to_id": spans + 1 + tail, "type": name}
                for at, (head, name, tail) in enumerate(document.links, 1)
            ]
            spans, links = spans + len(entities), links + len(relations)
            yield line | {"entities": entities, "relations": relations, "Comments": []}


def _place(offsets: Offsets, start: int, end: int, export: Export) -> tuple[int, int]:
    export.lost[WIDENED] += offsets.widens(start, end)
    return offsets.place(start, end)


class WireEntity(msgspec.Struct):
    label: str
    start_offset: int
    end_offset: int
    id: int | None = None


class WireRelation(msgspec.Struct):
    from_id: int
    to_id: int
    type: str


class WireMention(msgspec.Struct):
    pos: tuple[int, int]
    name: str = ""
    id: Identifier | None = None
    type: str = ""


class WireDocument(msgspec.Struct):
    text: str
    id: Identifier | None = None
    doc_id: Identifier | None = None
    id_: Identifier | None = None
    label: list[str | tuple[int, int, str]] | None = None
    entities: list[WireEntity] | None = None
    relations: list[WireRelation] = []
    h: WireMention | None = None
    t: WireMention | None = None


def read(
    source: Source, *, problems: Problems, unit: Unit | None = None, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with offsets in code points.

    A unit must be stated where the same offsets are different places in different units.
    """
    for line, wire in decode_documents(source, WireDocument, problems=problems, limits=limits):
        name = next((each for each in (wire.doc_id, wire.id_, wire.id) if each is not None), line)
        item_id = identifier(name, line=line, field="id", problems=problems)
        if item_id is None:
            continue
        places = _Places(wire.text, unit, line, problems)
        item = _pair(wire, item_id, places) if wire.h and wire.t else _spans(wire, item_id, places)
        if item is not None:
            yield line, item


class _Places:
    """Offsets of a line, turned into code points; every slice is checked."""

    def __init__(self, text: str, unit: Unit | None, line: int, problems: Problems) -> None:
        self.text, self.line, self.problems = text, line, problems
        units = UNITS if unit is None else (unit,)
        self.units = [Offsets(text, each) for each in units]

    def place(self, start: int, end: int, *, field: str, name: str = "") -> tuple[int, int] | None:
        places = [(offsets.from_unit(start), offsets.from_unit(end)) for offsets in self.units]
        found = set(places)
        if len(found) > 1:
            slices = ", ".join(f"{unit} {self._words(*at)}" for unit, at in zip(UNITS, places, strict=True))
            self.problems.stop(
                "no_unit", line=self.line, field="unit", value=f"[{start}, {end}): {slices}",
                expected="the unit whose words are those of the span",
                hint="The file doesn't say what its offsets count. doccano draws in UTF-16 units unless its "
                "project counts grapheme clusters; offsets imported into it stay as they were.",
            )  # fmt: skip
        first, last = found.pop()
        if first is None or last is None or not 0 <= first < last <= len(self.text):
            value, expected = f"[{start}, {end})", "a place in the text, in the stated unit"
            self.problems.add("bad_span", line=self.line, field=field, value=value, expected=expected)
            return None
        words = self.text[first:last]
        if name and name != words:
            self.problems.add("other_words", line=self.line, field=field, value=words, expected=name)
        elif words != words.strip() or _cuts_word(self.text, first, last):
            hint = "Perhaps its offsets have another unit."
            self.problems.add("cut_word", line=self.line, field=field, value=words, hint=hint)
        return first, last

    def _words(self, first: int | None, last: int | None) -> str:
        whole = first is not None and last is not None and first < last
        return f"“{self.text[first:last]}”" if whole else "no place in the text"


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Return whether a span begins or ends within a word."""
    inner = [text[at - 1 : at + 1] for at in (start, end) if 0 < at < len(text)]
    return any(both.isalpha() and both.upper() != both.lower() for both in inner)


def _pair(wire: WireDocument, item_id: str, places: _Places) -> ItemLine | None:
    ends = []
    for field, wired in (("h", wire.h), ("t", wire.t)):
        assert wired is not None
        at = places.place(*wired.pos, field=f"{field}.pos", name=wired.name)
        if at is None:
            return None
        key = None if wired.id is None else str(wired.id)
        ends.append(Entity(key, wired.name or wire.text[slice(*at)], *at, wired.type))
    labels = tuple(dict.fromkeys(name for name in wire.label or () if isinstance(name, str)))
    return ItemLine(item_id, wire.text, None, ends[0], ends[1], None, labels)


def _spans(wire: WireDocument, item_id: str, places: _Places) -> ItemLine | None:
    rows = [(e.start_offset, e.end_offset, e.label) for e in wire.entities or ()]
    rows += [row for row in wire.label or () if not isinstance(row, str)] if wire.entities is None else []
    spans: list[Span] = []
    for at, (start, end, label) in enumerate(rows):
        place_of = places.place(start, end, field=f"span {at + 1}")
        if place_of is None:
            return None
        spans.append((*place_of, label))
    numbers = {entity.id: at for at, entity in enumerate(wire.entities or ())}
    links: list[Link] = []
    for link in wire.relations:
        if link.from_id not in numbers or link.to_id not in numbers:
            value = f"{link.from_id}, {link.to_id}"
            places.problems.add(
                "bad_reference", line=places.line, field="relations", value=value, expected="ids of entities"
            )
            return None
        links.append((numbers[link.from_id], link.type, numbers[link.to_id]))
    checked = checked_spans(spans, links, length=len(wire.text), line=places.line, problems=places.problems)
    if checked is None:
        return None
    relations = None if wire.entities is None else checked[1]
    return ItemLine(item_id, wire.text, None, spans=checked[0], relations=relations)


def read_votes(
    source: Source,
    *,
    problems: Problems,
    unit: Unit | None = None,
    name: str = "",
    empty: str = "no-vote",
    limits: Limits = LIMITS,
) -> Iterator[tuple[int, VoteLine]]:
    """Yield the answers of the person that the file is named after, as doccano names the files of a project.

    A document without a label may be an answer or not: `empty` decides.
    """
    first_votes = FirstVotes(problems)
    for line, item in read(source, problems=problems, unit=unit, limits=limits):
        labels, spans = item.relations or (), item.spans or ()
        if not (labels or spans) and empty == "no-vote":
            problems.add("empty_cell", line=line)
        elif first_votes.is_first(item.id, name, line=line):
            is_pair = item.head is not None
            relations = tuple(each for each in labels if each != NEGATIVE) if is_pair else labels
            answer = payload(spans=spans, relations=relations)  # type: ignore[arg-type]
            text = None if is_pair else item.text
            yield line, VoteLine(item.id, name, answer, not (relations if is_pair else spans), text)


FORMAT = register(
    Format(
        "doccano",
        "doccano (JSONL)",
        "A document per line, with entities and relations by id, or with labels. What its "
        "offsets count must be "
        "stated where it matters: UTF-16 units, grapheme clusters or code points. As answers, a file is "
        "of the person it is named after.",
        '{"id":1,"text":"Ada lives in Turin","entities":[{"id":1,"label":"PER",'
        '"start_offset":0,"end_offset":3},'
        '{"id":2,"label":"LOC","start_offset":13,"end_offset":18}],'
        '"relations":[{"id":1,"from_id":1,"to_id":2,"type":"lives_in"}]}',
        roles=("items", "gold", "votes"),
        rank=18,
        recognise=lambda sample: (
            "text" in sample.keys and ({"entities", "relations"} <= sample.keys or "Comments" in sample.keys)
        ),
        readers={
            "items": Reader(read, ("unit",)),
            "votes": Reader(read_votes, ("unit", "name", "empty")),
        },
        writer=Writer(
            write,
            ("relations", "entities", "joint"),
            "UTF-16 units, grapheme clusters or code points, as chosen",
            "Tokens become text. doccano refuses documents without text, and drops overlapping spans "
            "unless its project allows them.",
            options=("unit",),
        ),
        merge_by="id",
        negatives=(NEGATIVE,),
    )
)
