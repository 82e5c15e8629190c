"""SemEval-2010 Task 8: answers, keys and marked sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.pairs import lose_ids, lose_types, only_label, overlap, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, LabelPrediction
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.tag_schemes import share_tagged
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

NUMBERED = re.compile(r"(\d{1,18})\t(.*)")
ANSWER = re.compile(r"(\d{1,18})[ \t]+(\S+)[ \t]*")
MARKS = re.compile(r"</?e[12]>")
MARKED_LINE = re.compile(r"\d+\t.*<e[12]>.*")
NEGATIVE = "Other"
DIRECTED = re.compile(r"\(e1,e2\)$|\(e2,e1\)$")
LINE_ENDS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
BLANK = re.compile(r"\s+")
ORDERS = ["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"]


def read_answers(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, LabelPrediction]]:
    """Yield (line, prediction) of lines with an id and a relation."""
    for line, text in read_lines(source, problems=problems, limits=limits):
        if text and not text.isspace():
            match = ANSWER.fullmatch(text)
            if match:
                yield line, LabelPrediction(match[1], match[2])
            else:
                problems.add("wrong_columns", line=line, value=text, expected="an id, a tab, a relation")


def read_key(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of an answer key, which is gold without text."""
    for line, answer in read_answers(source, problems=problems, limits=limits):
        yield line, ItemLine(answer.id, None, relations=(answer.label,))


def read_sentences(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with e1 as head and e2 as tail.

    A block is a numbered sentence, its relation (absent in unlabelled files), a comment, and a blank line.
    """
    block: list[tuple[int, str]] = []
    for line, text in read_lines(source, problems=problems, limits=limits):
        if block and NUMBERED.fullmatch(text):
            yield from _item(block, problems)
            block = []
        if text.strip():
            block.append((line, text))
    if block:
        yield from _item(block, problems)


def _item(block: list[tuple[int, str]], problems: Problems) -> Iterator[tuple[int, ItemLine]]:
    line, first = block[0]
    numbered = NUMBERED.fullmatch(first)
    if numbered is None:
        problems.add("bad_block", line=line, value=first, expected="an id, a tab and the sentence in quotes")
        return
    labels = [(at, text.strip()) for at, text in block[1:] if not text.startswith("Comment")]
    relations = tuple(text for _, text in labels)
    if len(relations) > 1 or any(" " in relation for relation in relations):
        problems.add("bad_block", line=line + 1, value=relations[-1], expected="one relation, then a comment")
        return
    entities = _entities(numbered[2], line, problems)
    if entities is not None:
        text, head, tail = entities
        lines = tuple(at for at, _ in labels)
        yield line, ItemLine(numbered[1], text, None, head, tail, None, relations or None, lines)


def _entities(quoted: str, line: int, problems: Problems) -> tuple[str, Entity, Entity] | None:
    marked = quoted.strip()
    marked = marked[1:-1] if len(marked) > 1 and marked[0] == marked[-1] == '"' else marked
    if MARKS.findall(marked) not in ORDERS:
        expected = "one <e1>…</e1> and one <e2>…</e2> that do not overlap"
        problems.add("entity_not_in_text", line=line, value=marked, expected=expected)
        return None
    text = MARKS.sub("", marked)
    head, tail = _entity(marked, text, "e1"), _entity(marked, text, "e2")
    for entity, name in ((head, "e1"), (tail, "e2")):
        if not entity.name.strip():
            problems.add("bad_span", line=line, field=name, value=marked, expected="words between the tags")
            return None
    return text, head, tail


def _entity(marked: str, text: str, name: str) -> Entity:
    start = len(MARKS.sub("", marked[: marked.index(f"<{name}>")]))
    end = len(MARKS.sub("", marked[: marked.index(f"</{name}>")]))
    return Entity(None, text[start:end], start, end)


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file; e1 is the mention that comes first, the direction stands in the label."""
    yield f"{export.name}.txt", _blocks(documents, export)


def _blocks(documents: Iterable[Document], export: Export) -> Iterator[bytes]:
    number = 0
    for document, head, tail in pairs(documents):
        if overlap(head, tail):
            export.lost["pairs that overlap"] += 1
        elif LINE_ENDS.search(document.text):
            export.lost["sentences of several lines"] += 1
        else:
            number += 1
            label = only_label(document, NEGATIVE, export)
            is_first = place(head) < place(tail)
            if DIRECTED.search(label):  # a label that says which is e1: the head
                is_first = True
                marks = [("e1", head), ("e2", tail)]
            else:
                marks = [("e1" if is_first else "e2", head), ("e2" if is_first else "e1", tail)]
                if label != NEGATIVE:
                    label += "(e1,e2)" if is_first else "(e2,e1)"
            text, ids = document.text, BLANK.sub(" ", document.id)
            for mark, entity in sorted(marks, key=lambda each: place(each[1]), reverse=True):
                start, end = place(entity)
                text = f"{text[:start]}<{mark}>{text[start:end]}</{mark}>{text[end:]}"
            lose_types(export, head, tail)
            lose_ids(export, head, tail)
            yield f'{number}\t"{text}"\n{label}\nComment: {ids}\n\n'.encode()


SENTENCES = register(
    Format(
        "semeval-test",
        "SemEval-2010 Task 8 sentences",
        "A numbered sentence with e1 and e2, its relation, a comment, and a blank line.",
        '8001\t"The <e1>letter</e1> was about <e2>tides</e2>."',
        roles=("items", "gold"),
        rank=70,
        recognise=lambda sample: not sample.keys and bool(MARKED_LINE.fullmatch(sample.lines[0])),
        readers={"items": Reader(read_sentences)},
        writer=Writer(
            write,
            ("relations",),
            "marks in the text",
            "Ids (they become comments), types and ids of entities, overlapping pairs, sentences of "
            "several lines, further "
            "relations of a pair. The direction becomes part of the label.",
        ),
        merge_by="id",
        marks="pairs",
        negatives=("Other",),
    )
)
ANSWERS = register(
    Format(
        "semeval-answers",
        "SemEval-2010 Task 8 answers",
        "An id and a relation with its direction per line.",
        "8001\tMessage-Topic(e1,e2)",
        roles=("gold", "predictions", "suggestions"),
        rank=80,
        recognise=lambda sample: (
            not sample.keys
            and all(ANSWER.fullmatch(line) for line in sample.lines)
            and share_tagged(sample.lines) < 1
        ),
        readers={"items": Reader(read_key), "predictions": Reader(read_answers)},
        task="relations",
        negatives=("Other",),
        example_line=lambda id, label, tag: f"{id}\t{label}" if id.isdigit() else None,
    )
)
