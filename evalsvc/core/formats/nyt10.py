"""NYT10, tab-separated: head id, tail id, head, tail, relation, sentence, ###END###."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import ne

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.pairs import lose_types, overlap, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, content_id
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines
from evalsvc.core.formats.text_spans import find_name, locate

END = "###END###"
NEGATIVE = "NA"
BLANK = re.compile(r"\s+")
COLUMNS = ("head id", "tail id", "head", "tail", "relation", "sentence", END)


def read_nyt10(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with one label; repeats are not merged.

    A mention is at the first occurrence of its name. This corpus joins words by underscores in names and
    sentences; files made from others join those of names only.
    """
    for line, text in read_lines(source, problems=problems, limits=limits):
        if text and not text.isspace():
            item = _item(text, line, problems)
            if item is not None:
                yield line, item


def _item(text: str, line: int, problems: Problems) -> ItemLine | None:
    fields = text.split("\t")
    if len(fields) != len(COLUMNS) or fields[-1].strip() != END or not all(fields):
        expected = f"{len(COLUMNS)} columns separated by tabs: {', '.join(COLUMNS)}"
        problems.add("wrong_columns", line=line, value=text, expected=expected)
        return None
    head_id, tail_id, *names, relation, sentence, _ = fields
    head_name, tail_name = (_spelled(name, sentence) for name in names)
    head = locate(sentence, head_name, entity_id=head_id, line=line, field="head", problems=problems)
    # One problem per line, because lines are counted.
    tail = head and locate(sentence, tail_name, entity_id=tail_id, line=line, field="tail", problems=problems)
    if head is None or tail is None:
        return None
    return ItemLine(content_id(sentence, head, tail), sentence, None, head, tail, None, (relation,))


def _spelled(name: str, sentence: str) -> str:
    """Return the name as the sentence spells it: some files join the words of names only."""
    apart = name.replace("_", " ")
    is_apart = apart != name and find_name(sentence, name) is None and find_name(sentence, apart)
    return apart if is_apart else name


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file, a line per label; words of a mention are joined by underscores, as in the corpus."""
    yield f"{export.name}.txt", _lines(documents, export)


def _lines(documents: Iterable[Document], export: Export) -> Iterator[bytes]:
    for document, head, tail in pairs(documents):
        if overlap(head, tail):
            export.lost["pairs that overlap"] += 1
            continue
        places = [document.in_tokens(*place(entity)) for entity in (head, tail)]
        words = [BLANK.sub("_", token) for token in document.tokens]
        names = ["_".join(words[start:end]) for start, end in places]
        for (start, end), name in sorted(zip(places, names, strict=True), reverse=True):
            words[start:end] = [name]
        sentence = " ".join(words)
        first = [_starts(sentence, name) for name in names]
        at = [sum(len(word) + 1 for word in words[: _shifted(places, side)]) for side in (0, 1)]
        export.lost["mentions whose words occur earlier in the sentence"] += sum(map(ne, first, at))
        lose_types(export, head, tail)
        ids = [BLANK.sub("_", entity.key) for entity in (head, tail)]
        for label in document.labels or (NEGATIVE,):
            yield "\t".join([*ids, *names, label, sentence, END]).encode() + b"\n"


def _starts(sentence: str, name: str) -> int:
    match = find_name(sentence, name)
    return match.start if match else -1


def _shifted(places: Sequence[tuple[int, int]], side: int) -> int:
    """Return the number of the word that a mention has become."""
    (start, _), (other, other_end) = places[side], places[1 - side]
    return start - (other_end - other - 1 if other < start else 0)


FORMAT = register(
    Format(
        "nyt10",
        "NYT10",
        "Tab-separated: head id, tail id, head, tail, relation, sentence, end mark.",
        f"m.01\tm.02\tada\tturin\tborn_in\tada was born in turin .\t{END}",
        roles=("items", "gold"),
        rank=60,
        recognise=lambda sample: not sample.keys and sample.lines[0].rstrip().endswith(END),
        readers={"items": Reader(read_nyt10)},
        writer=Writer(
            write,
            ("relations",),
            "none: names are looked up in the sentence",
            "Ids, offsets, types of entities, overlapping pairs. The text becomes tokens, and "
            "mentions are joined by "
            "underscores.",
        ),
        repeats_items=True,
        marks="pairs",
    )
)
