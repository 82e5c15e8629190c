"""SemEval-2010 Task 8: answer lines, keys, and the full file with tagged sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, LabelPrediction
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

NUMBERED = re.compile(r"(\d{1,18})\t(.*)")
ANSWER = re.compile(r"(\d{1,18})[ \t]+(\S+)[ \t]*")
TAGS = re.compile(r"</?e[12]>")
ORDERS = ["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"]


def read_answers(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, LabelPrediction]]:
    """Yield (line, answer) of lines that hold an id and a relation."""
    for line, text in read_lines(source, problems=problems, limits=limits):
        if text and not text.isspace():
            match = ANSWER.fullmatch(text)
            if match:
                yield line, LabelPrediction(match[1], match[2])
            else:
                problems.add("wrong_columns", line=line, found=text, expected="an id, a tab, a relation")


def read_key(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of an answer key: gold labels without text."""
    for line, answer in read_answers(source, problems=problems, limits=limits):
        yield line, ItemLine(answer.id, None, relations=(answer.label,))


def read_sentences(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of the full file: head is e1, tail is e2, tags and outer quotes removed.

    A block is a numbered sentence, then its relation (absent in unlabelled files), then a comment, then a
    blank line.
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
        problems.add("bad_block", line=line, found=first, expected="an id, a tab and the sentence in quotes")
        return
    said = [text.strip() for _, text in block[1:] if not text.startswith("Comment")]
    if len(said) > 1 or any(" " in relation for relation in said):
        problems.add("bad_block", line=line + 1, found=said[-1], expected="one relation, then a comment")
        return
    entities = _entities(numbered[2], line, problems)
    if entities is not None:
        text, head, tail = entities
        yield line, ItemLine(numbered[1], text, None, head, tail, None, tuple(said) if said else None)


def _entities(quoted: str, line: int, problems: Problems) -> tuple[str, Entity, Entity] | None:
    marked = quoted.strip()
    marked = marked[1:-1] if len(marked) > 1 and marked[0] == marked[-1] == '"' else marked
    if TAGS.findall(marked) not in ORDERS:
        expected = "one <e1>…</e1> and one <e2>…</e2>, side by side"
        problems.add("entity_not_in_text", line=line, found=marked, expected=expected)
        return None
    text = TAGS.sub("", marked)
    head, tail = _entity(marked, text, "e1"), _entity(marked, text, "e2")
    for entity, name in ((head, "e1"), (tail, "e2")):
        if not entity.name.strip():
            problems.add("bad_span", line=line, field=name, found=marked, expected="words between the tags")
            return None
    return text, head, tail


def _entity(marked: str, text: str, name: str) -> Entity:
    start = len(TAGS.sub("", marked[: marked.index(f"<{name}>")]))
    end = len(TAGS.sub("", marked[: marked.index(f"</{name}>")]))
    return Entity(None, text[start:end], start, end)
