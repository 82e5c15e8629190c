"""brat standoff: a text file and an annotation file per document; code points of the text as it lies.

An upload has both as one: the text, a line `-----ANN-----`, the annotations. The form and the command join
the two files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import read_whole
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
TEXT_BOUND = re.compile(r"(T\d+)\t(\S+) (\d{1,9}) (\d{1,9})(\S*(?: \d+)*)\t(.*)")
RELATION = re.compile(r"R\d+\t(\S+) Arg1:(T\d+) Arg2:(T\d+)\s*")
OTHER = "#AMN*E"  # notes, attributes, normalisations, sets, events
JOINT = "-----ANN-----"


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield two files per document, then the configuration."""
    names = (*export.types, *export.relations)
    export.lost["labels spelled in letters, digits, - and _"] += sum(_named(name) != name for name in names)
    for document in documents:
        name = file_name(document.id)
        yield f"{name}.txt", [document.text.encode()]
        yield f"{name}.ann", [_annotations(document).encode()]
    types = "".join(f"{_named(name)}\n" for name in export.types)
    ends = "Arg1:<ENTITY>, Arg2:<ENTITY>"
    relations = "".join(f"{_named(name)}\t{ends}\n" for name in export.relations)
    overlaps = f"<OVERLAP>\t{ends}, <OVL-TYPE>:<ANY>\n"
    configuration = f"[entities]\n{types}\n[relations]\n{relations}{overlaps}\n[events]\n\n[attributes]\n"
    yield "annotation.conf", [configuration.encode()]


def _named(label: str) -> str:
    return NOT_IN_NAMES.sub("_", label)


def file_name(item_id: str) -> str:
    """Return an id as the name of a file in any system."""
    name = quote(item_id, safe=" ()+,=@!'")
    return "%2E" + name[1:] if name.startswith(".") else name


def _annotations(document: Document) -> str:
    spans = [
        f"T{at}\t{_named(label)} {start} {end}\t{document.text[start:end].replace(chr(10), ' ')}\n"
        for at, (start, end, label) in enumerate(document.spans, 1)
    ]
    links = [
        f"R{at}\t{_named(name)} Arg1:T{head + 1} Arg2:T{tail + 1}\t\n"
        for at, (head, name, tail) in enumerate(document.links, 1)
    ]
    return "".join(spans + links)


def join(text: bytes, annotations: bytes) -> bytes:
    """Return the two files of a document as one, for the reader."""
    return text + f"\n{JOINT}\n".encode() + annotations


def read(
    source: Source, *, problems: Problems, name: str = "document", limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield the document; spans of several parts are refused by line."""
    data = read_whole(source, problems=problems, limits=limits)
    text, mark, annotations = _decoded(data, problems).partition(f"\n{JOINT}\n")
    if not mark:
        problems.stop(
            "unknown_format", value="one file", expected="the .txt and the .ann file of a document, together"
        )
    spans: list[Span] = []
    numbers: dict[str, int] = {}
    links: list[tuple[int, str, str, str]] = []
    for line, row in enumerate(annotations.split("\n"), 1):
        problems.lines_read = line
        if row.startswith("T"):
            _add_span(row, line, text, spans, numbers, problems)
        elif match := RELATION.fullmatch(row):
            links.append((line, match[1], match[2], match[3]))
        elif row.strip():
            code = "left_out_annotation" if row[0] in OTHER else "wrong_columns"
            problems.add(code, line=line, value=row, expected="T1, a tab, a span; R1, a tab, a relation")
    found: list[Link] = []
    for line, name_of, head, tail in links:
        if head in numbers and tail in numbers:
            found.append((numbers[head], name_of, numbers[tail]))
        else:
            problems.add("bad_reference", line=line, value=f"{head}, {tail}", expected="spans of this file")
    item_id = identifier(name, line=1, field="name", problems=problems)
    checked = checked_spans(spans, found, length=len(text), line=1, problems=problems)
    if checked is not None and item_id is not None and not problems.total:
        yield 1, ItemLine(item_id, text, spans=checked[0], relations=checked[1])


def _decoded(data: bytes, problems: Problems) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.stop("not_utf8", line=line, value=f"byte 0x{data[error.start]:02x}", expected="UTF-8")


def _add_span(
    row: str, line: int, text: str, spans: list[Span], numbers: dict[str, int], problems: Problems
) -> None:
    match = TEXT_BOUND.fullmatch(row.rstrip("\r"))
    if match is None:
        problems.add(
            "wrong_columns", line=line, value=row, expected="T1, a tab, label start end, a tab, words"
        )
        return
    key, label, start, end, more, words = match.groups()
    if more:
        hint = "Spans of one part are imported. Mark its parts, or all from first to last, as one span."
        problems.add("discontinuous_span", line=line, value=row, expected="one start and one end", hint=hint)
        return
    place = slice(int(start), int(end))
    if " ".join(text[place].split()) != " ".join(words.split()):
        hint = "Offsets count characters of the .txt as it lies; a line end of Windows counts two."
        problems.add("wrong_words", line=line, value=text[place], expected=words, hint=hint)
        return
    numbers[key] = len(spans)
    spans.append((int(start), int(end), label))


FORMAT = register(
    Format(
        "brat",
        "brat standoff (.txt and .ann)",
        "A text file and an annotation file of one document, chosen together. Spans of "
        "several parts are rejected.",
        f"Ada lives in Turin\n{JOINT}\nT1\tPER 0 3\tAda",
        roles=("items", "gold"),
        rank=5,
        recognise=lambda sample: JOINT in sample.lines,
        readers={"items": Reader(read, ("name",))},
        writer=Writer(
            write,
            ("entities", "joint"),
            "code points of the text as it lies",
            "Tokens become text. Labels are spelled in letters, digits, - and _.",
        ),
        merge_by="id",
        marks="spans",
    )
)
