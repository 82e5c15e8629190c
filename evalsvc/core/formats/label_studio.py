"""Label Studio: one JSON array of tasks; code points, an annotation per person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import decode_documents
from evalsvc.core.formats.json_lines import Identifier, identifier
from evalsvc.core.formats.jsonl_votes import FirstVotes
from evalsvc.core.formats.pairs import json_array, mention, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, Link, Span, VoteLine, payload
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

NEGATIVE = "no_relation"


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the tasks, each with the gold as its annotation, then the labelling interface."""
    is_pairs = False

    def tasks() -> Iterator[dict[str, Any]]:
        nonlocal is_pairs
        for number, document in enumerate(documents, 1):
            is_pairs = is_pairs or document.head is not None
            yield _task(number, document)

    yield f"{export.name}.json", json_array(tasks())
    interface = _pair_interface(export) if is_pairs else _span_interface(export)
    yield f"{export.name}-config.xml", [interface.encode()]


def _task(number: int, document: Document) -> dict[str, Any]:
    data: dict[str, Any] = {"text": document.text, "doc_id": document.id}
    if document.head is not None:
        data["id"] = document.id
        for _, head, tail in pairs([document]):
            data |= {"h": mention(head, place(head)), "t": mention(tail, place(tail))}
            data |= {"h_name": head.name, "t_name": tail.name}
        result = [_region("r0", "relation", "choices", {"choices": list(document.labels) or [NEGATIVE]})]
    else:
        result = [
            _region(
                f"s{at}",
                "label",
                "labels",
                {"start": start, "end": end, "text": document.text[start:end], "labels": [label]},
            )
            for at, (start, end, label) in enumerate(document.spans)
        ]
        result += [
            {
                "type": "relation",
                "from_id": f"s{head}",
                "to_id": f"s{tail}",
                "direction": "right",
                "labels": [name],
            }
            for head, name, tail in document.links
        ]
    annotation = {"id": number, "result": result, "was_cancelled": False, "ground_truth": True}
    return {"id": number, "data": data, "annotations": [annotation], "predictions": []}


def _region(key: str, name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": key, "from_name": name, "to_name": "text", "type": kind, "origin": "manual", "value": value}


def _span_interface(export: Export) -> str:
    relations = "".join(f"    <Relation value={quoteattr(name)}/>\n" for name in export.relations)
    labels = "".join(f"    <Label value={quoteattr(name)}/>\n" for name in export.types)
    relations = f"  <Relations>\n{relations}  </Relations>\n" if relations else ""
    return (
        f'<View>\n{relations}  <Labels name="label" toName="text">\n{labels}  </Labels>\n'
        '  <Text name="text" value="$text" granularity="symbol"/>\n</View>\n'
    )


def _pair_interface(export: Export) -> str:
    names = dict.fromkeys([*export.relations, NEGATIVE])
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in names)
    return (
        '<View>\n  <Text name="text" value="$text"/>\n  <Header value="$h_name → $t_name"/>\n'
        f'  <Choices name="relation" toName="text" choice="multiple">\n{choices}  </Choices>\n</View>\n'
    )


# ---- reading ----------------------------------------------------------------------------------------
class WireMention(msgspec.Struct):
    pos: tuple[int, int]
    name: str = ""
    id: Identifier | None = None
    type: str = ""


class WireData(msgspec.Struct):
    text: str
    doc_id: Identifier | None = None
    id: Identifier | None = None
    h: WireMention | None = None
    t: WireMention | None = None


class WireValue(msgspec.Struct):
    start: int | None = None
    end: int | None = None
    text: str | None = None
    labels: list[str] = []
    choices: list[str] = []


class WireResult(msgspec.Struct):
    type: str
    id: str = ""
    value: WireValue | None = None
    from_id: str = ""
    to_id: str = ""
    direction: str = "right"
    labels: list[str] = []


class WireAnnotation(msgspec.Struct):
    result: list[WireResult] = []
    was_cancelled: bool = False
    ground_truth: bool = False
    completed_by: int | str | dict[str, Any] | None = None


class WireTask(msgspec.Struct):
    data: WireData
    id: Identifier | None = None
    annotations: list[WireAnnotation] = []


def _tasks(source: Source, problems: Problems, limits: Limits) -> Iterator[tuple[int, str, WireTask]]:
    for line, task in decode_documents(source, WireTask, problems=problems, limits=limits):
        name = next((each for each in (task.data.id, task.data.doc_id, task.id) if each is not None), line)
        item_id = identifier(name, line=line, field="data.id", problems=problems)
        if item_id is not None:
            yield line, item_id, task


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with the annotation marked as ground truth, or the only one."""
    for line, item_id, task in _tasks(source, problems, limits):
        item = _item(task, item_id, line, problems)
        if item is not None:
            yield line, item


def read_gold(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) as `read`; report tasks with several annotations of which none is the gold."""
    for line, item_id, task in _tasks(source, problems, limits):
        given, truths = _annotations(task)
        if given and not truths:
            expected = "one, or one that is marked as ground_truth"
            problems.add(
                "several_answers",
                line=line,
                field="annotations",
                value=f"{len(given)} annotations",
                expected=expected,
            )
            continue
        item = _item(task, item_id, line, problems)
        if item is not None:
            yield line, item


def _annotations(task: WireTask) -> tuple[list[WireAnnotation], list[WireAnnotation]]:
    """Return those not skipped, and those of them that are the gold."""
    given = [each for each in task.annotations if not each.was_cancelled]
    return given, [each for each in given if each.ground_truth] or (given if len(given) == 1 else [])


def _item(task: WireTask, item_id: str, line: int, problems: Problems) -> ItemLine | None:
    """Return the item with its gold, if it has some, or None after a report."""
    _, truths = _annotations(task)
    answer = _answer(truths[0], task.data.text, line, problems) if truths else None
    if truths and answer is None:
        return None
    spans, links, labels = answer or ((), (), ())
    data = task.data
    if data.h is None or data.t is None:
        found = (spans, links) if answer else (None, None)
        return ItemLine(item_id, data.text, spans=found[0], relations=found[1])
    head, tail = (_entity(each, data.text, line, problems) for each in (data.h, data.t))
    if head is None or tail is None:
        return None
    return ItemLine(item_id, data.text, None, head, tail, None, labels if answer else None)


def read_votes(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote) of every annotation that was not skipped."""
    first_votes = FirstVotes(problems)
    for line, item_id, task in _tasks(source, problems, limits):
        for annotation in task.annotations:
            answer = None if annotation.was_cancelled else _answer(annotation, task.data.text, line, problems)
            if answer is None:
                continue
            by = annotation.completed_by
            by = by.get("email") or by.get("id") if isinstance(by, dict) else by
            who = identifier(
                by if isinstance(by, str | int) else "", line=line, field="completed_by", problems=problems
            )
            if who is None or not first_votes.is_first(item_id, who, line=line):
                continue
            spans, links, labels = answer
            is_pair = task.data.h is not None
            names = tuple(name for name in labels if name != NEGATIVE)
            given = payload(relations=names) if is_pair else payload(spans=spans, relations=links)
            text = None if is_pair else task.data.text
            yield line, VoteLine(item_id, who, given, not (names if is_pair else spans), text)


def _entity(wire: WireMention, text: str, line: int, problems: Problems) -> Entity | None:
    start, end = wire.pos
    if not 0 <= start < end <= len(text):
        value, expected = f"[{start}, {end})", f"0 ≤ start < end ≤ {len(text):,}"
        problems.add("bad_span", line=line, field="data.h or t", value=value, expected=expected)
        return None
    return Entity(
        None if wire.id is None else str(wire.id), wire.name or text[start:end], start, end, wire.type
    )


Answer = tuple[tuple[Span, ...], tuple[Link, ...], tuple[str, ...]]


def _answer(annotation: WireAnnotation, text: str, line: int, problems: Problems) -> Answer | None:
    """Return spans, relations between them and choices, or None after a report."""
    spans: list[Span] = []
    numbers: dict[str, int] = {}
    choices: list[str] = []
    for result in annotation.result:
        value = result.value or WireValue()
        if result.type == "choices":
            choices += value.choices
        elif result.type == "labels" and value.start is not None and value.end is not None:
            words = text[value.start : value.end]
            if value.text is not None and value.text != words:
                problems.add("other_words", line=line, field="value.text", value=words, expected=value.text)
            for label in value.labels:
                numbers.setdefault(result.id, len(spans))
                spans.append((value.start, value.end, label))
    links: list[Link] = []
    for result in annotation.result:
        if result.type == "relation":
            ends = (result.from_id, result.to_id)
            ends = ends if result.direction != "left" else (ends[1], ends[0])
            if not set(ends) <= numbers.keys():
                problems.add(
                    "bad_reference",
                    line=line,
                    field="relation",
                    value=", ".join(ends),
                    expected="ids of regions",
                )
                return None
            links += [(numbers[ends[0]], name, numbers[ends[1]]) for name in result.labels]
    checked = checked_spans(spans, links, length=len(text), line=line, problems=problems)
    return None if checked is None else (*checked, tuple(dict.fromkeys(choices)))


FORMAT = register(
    Format(
        "label-studio",
        "Label Studio (JSON)",
        "One JSON array of tasks. Every annotation is a person's answer; skipped ones are left out.",
        '[{"id":1,"data":{"text":"Ada lives in Turin","doc_id":"d1"},'
        '"annotations":[{"completed_by":1,"result":'
        '[{"id":"a","type":"labels","value":{"start":0,"end":3,"text":"Ada","labels":["PER"]}}]}]}]',
        roles=("items", "gold", "votes"),
        rank=11,
        recognise=lambda sample: "data" in sample.keys and bool({"annotations", "predictions"} & sample.keys),
        readers={
            "items": Reader(read),
            "gold": Reader(read_gold, keeps_text=True),
            "votes": Reader(read_votes),
        },
        writer=Writer(
            write,
            ("relations", "entities", "joint"),
            "code points",
            "Tokens become text; the gold has no person.",
        ),
        merge_by="id",
        negatives=(NEGATIVE,),
    )
)
