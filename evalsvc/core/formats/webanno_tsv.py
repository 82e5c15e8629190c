r"""WebAnno TSV 3.3, a file per document: tokens in rows, UTF-16 offsets.

Labels escape `\ [ ] | _ ; * -> tab newline` by a backslash. `[n]` numbers spans of several tokens, and spans
that share a token. A relation stands in the row of its target: its name, then the row of its source with the
numbers of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalsvc.core.formats.brat import file_name
from evalsvc.core.formats.documents import Document, Offsets
from evalsvc.core.formats.json_documents import read_whole, votes_reader
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import checked_spans

LONGEST = 10_000_000  # characters of a document
HEAD = "#FORMAT=WebAnno TSV 3.3\n"
SPECIAL = re.compile(r"->|[\\\[\]|_;*\t\n\r]")
IN_TEXT = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\x0c": "\\f", "\b": "\\b"}
ROW = re.compile(r"(\d+-\d+(?:\.\d+)?)\t(\d{1,9})-(\d{1,9})\t([^\t]*)(?:\t(.*))?")
CELL = re.compile(r"(.*?)(?:(?<!\\)\[(\d+)\])?", re.DOTALL)
FROM = re.compile(r"([\d.-]+)(?:\[(\d+)_(\d+)\])?")
ESCAPED = re.compile(r"\\(->|.)", re.DOTALL)
BACK = {"t": "\t", "n": "\n", "r": "\r", "f": "\x0c", "b": "\b"}
CONTROLS = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield a file per document, in folders as INCEpTION exports them."""
    for document in documents:
        name = PurePosixPath("annotation", f"{file_name(document.id)}.txt", "gold.tsv")
        yield str(name), [_table(document, export).encode()]


def _table(document: Document, export: Export) -> str:
    offsets = Offsets(document.text, "utf16")
    rows = {at: f"{number}-{at - first + 1}" for number, (first, end) in enumerate(document.sentences, 1)
            for at in range(first, end)}  # fmt: skip
    spans = document.token_spans
    at_token: dict[int, list[int]] = {}
    for number, (start, end, _) in enumerate(spans):
        for at in range(start, end):
            at_token.setdefault(at, []).append(number)
    numbered = [end - start > 1 or len(at_token[start]) > 1 for start, end, _ in spans]
    ids = {number: at for at, number in enumerate((n for n, each in enumerate(numbered) if each), 1)}
    links: dict[int, list[tuple[str, str]]] = {}
    for head, name, tail in document.links:
        source = rows[spans[head][0]]
        if head in ids or tail in ids:
            source += f"[{ids.get(head, 0)}_{ids.get(tail, 0)}]"
        links.setdefault(spans[tail][0], []).append((escaped(name), source))
    has_links, has_spans = bool(document.links), bool(spans)
    layers = ("#T_SP=custom.Span|label\n" if has_spans else "") + (
        "#T_RL=custom.Relation|label|BT_custom.Span\n" if has_links else ""
    )
    parts = [HEAD, layers, "\n"]
    covered = 0
    for first, end in document.sentences:
        start, stop = document.places[first][0], document.places[end - 1][1]
        covered += stop - start
        text = document.text[start:stop]
        shown = "\n".join("#Text=" + "".join(IN_TEXT.get(c, c) for c in line) for line in text.split("\n"))
        parts.append(f"\n{shown}\n")
        for at in range(first, end):
            begin, finish = (offsets.to_unit(place) for place in document.places[at])
            cells = [rows[at], f"{begin}-{finish}", document.tokens[at]]
            if has_spans:
                named = [
                    escaped(spans[n][2]) + (f"[{ids[n]}]" if n in ids else "") for n in at_token.get(at, ())
                ]
                cells.append("|".join(named) or "_")
            if has_links:
                here = links.get(at, [])
                cells += ["|".join(name for name, _ in here) or "_", "|".join(f for _, f in here) or "_"]
            parts.append("\t".join(cells) + "\t\n")
    export.lost["documents with text between sentences, such as blank lines"] += covered < len(document.text)
    return "".join(parts)


def escaped(label: str) -> str:
    """Return a label as a cell."""
    return SPECIAL.sub(lambda match: CONTROLS.get(match[0], "\\" + match[0]), label)


def unescaped(cell: str) -> str:
    return ESCAPED.sub(lambda match: BACK.get(match[1], match[1]), cell)


class _Row(NamedTuple):
    line: int
    unit: str
    start: int
    end: int
    words: str
    cells: list[str]


def read(
    source: Source, *, problems: Problems, name: str = "document", limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield the document. Text between sentences is not in the file: it becomes line ends."""
    lines = _lines(source, problems, limits)
    furthest = min(LONGEST, sum(map(len, lines)))  # a short file makes no long text
    item_id = identifier(name, line=1, field="name", problems=problems)
    layers: list[tuple[str, list[str]]] = []
    text, units, rows = "", 0, list[_Row]()
    waiting: list[str] = []
    for number, line in enumerate(lines, 1):
        problems.lines_read = number
        if line.startswith(("#T_SP=", "#T_RL=", "#T_CH=")):
            layers.append((line[3:5], line[6:].split("|")))
        elif line.startswith("#Text="):
            waiting.append(unescaped(line[6:]))
        elif line[:1].isdigit():
            match = ROW.fullmatch(line)
            if match is None:
                expected = "sentence-token, start-end, the token, and a cell per feature, separated by tabs"
                problems.add("wrong_columns", line=number, value=line, expected=expected)
                continue
            start, end = int(match[2]), int(match[3])
            if waiting:
                sentence = "\n".join(waiting)
                waiting = []
                if not units <= start <= furthest:  # line ends fill what is between
                    problems.add(
                        "bad_span", line=number, value=line, expected="sentences in order, near each other"
                    )
                    start = units
                text += "\n" * (start - units) + sentence
                units = start + len(sentence.encode("utf-16-le")) // 2
            cells = (match[5] or "").removesuffix("\t").split("\t")
            rows.append(_Row(number, match[1], start, end, match[4], cells))
    if problems.total or item_id is None:
        return
    item = _item(item_id, text, _columns(layers, problems), rows, problems)
    if item is not None:
        yield 1, item


def _columns(layers: list[tuple[str, list[str]]], problems: Problems) -> list[tuple[str, str]]:
    """Return the kind and feature of each column; those without labels or ends have no kind."""
    columns = []
    for kind, (_, *features) in layers:
        names = [name for given, (name, *_) in layers if given == kind]
        if kind != "CH" and len(names) > 1:
            hint = "Export the document again with one layer of spans and one of relations."
            expected = "one layer of each kind"
            problems.stop("several_layers", value=", ".join(names), expected=expected, hint=hint)
        ends = {feature for feature in features if feature.startswith("BT_")}
        label = label_feature(set(features) - ends, problems) if features else ""
        kept = ends | {label}
        columns += [(kind if feature in kept else "", feature) for feature in features or [""]]
    return columns


def label_feature(names: Iterable[str], problems: Problems) -> str:
    """Return the feature of a layer that has its labels."""
    features = sorted(names)
    usual = [name for name in ("label", "value") if name in features] or features
    if len(features) > 1 and usual == features:
        expected = "one feature, or one that is called label or value"
        problems.stop("several_layers", value=", ".join(features), expected=expected)
    return usual[0] if usual else "label"


def _lines(source: Source, problems: Problems, limits: Limits) -> list[str]:
    data = read_whole(source, problems=problems, limits=limits)
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.stop("not_utf8", line=line, value=f"byte 0x{data[error.start]:02x}", expected="UTF-8")
    if not lines[0].startswith("#FORMAT=WebAnno TSV 3"):
        problems.stop("unknown_format", line=1, value=lines[0], expected="#FORMAT=WebAnno TSV 3.3")
    return [line.removesuffix("\r") for line in lines]


def _item(
    item_id: str, text: str, columns: list[tuple[str, str]], rows: list[_Row], problems: Problems
) -> ItemLine | None:
    layers = _Layers(text, columns, problems)
    for row in rows:
        layers.take(row)
    at = {key: number for number, key in enumerate(layers.spans)}
    for line, head, _, tail in layers.links:
        if not {head, tail} <= at.keys():
            problems.add("bad_reference", line=line, value=f"{head}, {tail}", expected="spans of this file")
    if problems.total:
        return None
    links: list[Link] = [(at[head], name, at[tail]) for _, head, name, tail in layers.links]
    spans: list[Span] = [(start, end, label) for start, end, label in layers.spans.values()]
    checked = checked_spans(spans, links, length=len(text), line=1, problems=problems)
    return None if checked is None else ItemLine(item_id, text, spans=checked[0], relations=checked[1])


class _Layers:
    """Spans by the number or the row they have, and relations between these."""

    def __init__(self, text: str, columns: list[tuple[str, str]], problems: Problems) -> None:
        self.text, self.columns, self.problems = text, columns, problems
        self.offsets = Offsets(text, "utf16")
        self.spans: dict[str, list[Any]] = {}
        self.links: list[tuple[int, str, str, str]] = []

    def take(self, row: _Row) -> None:
        """Add the spans and relations of a row, whose words are checked."""
        start, end = self.offsets.from_unit(row.start), self.offsets.from_unit(row.end)
        if start is None or end is None or self.text[start:end] != row.words:
            value, hint = self.text[start or 0 : end or 0], "Offsets count UTF-16 units."
            self.problems.add("wrong_words", line=row.line, value=value, expected=row.words, hint=hint)
            return
        names, sources = list[str](), list[str]()
        for (kind, feature), cell in zip(self.columns, row.cells, strict=False):
            parts = [] if cell == "_" else re.split(r"(?<!\\)\|", cell)
            if kind == "SP":
                for part in parts:
                    match = CELL.fullmatch(part)
                    assert match is not None
                    label = "" if match[1] == "*" else unescaped(match[1])  # an escaped one is a label
                    span = self.spans.setdefault(match[2] or row.unit, [start, end, label])
                    span[1] = max(span[1], end)
            elif kind == "RL" and feature.startswith("BT_"):
                sources = parts
            elif kind == "RL":
                names = [unescaped(part) for part in parts]
        for name, source in zip(names, sources, strict=False):
            self._link(row, name, source)

    def _link(self, row: _Row, name: str, source: str) -> None:
        match = FROM.fullmatch(source)
        if match is None:
            expected = "1-2, or 1-2[3_4]"
            self.problems.add("bad_reference", line=row.line, value=source, expected=expected)
            return
        head = match[1] if match[2] in (None, "0") else match[2]
        tail = row.unit if match[3] in (None, "0") else match[3]
        self.links.append((row.line, head, name, tail))


FORMAT = register(
    Format(
        "webanno-tsv",
        "WebAnno TSV 3 (INCEpTION)",
        "A document per file: tokens in rows, with spans and relations in columns. Offsets "
        "count UTF-16 units.",
        "#FORMAT=WebAnno TSV 3.3",
        roles=("items", "gold", "votes"),
        rank=56,
        recognise=lambda sample: sample.lines[0].startswith("#FORMAT=WebAnno TSV 3"),
        readers={"items": Reader(read, ("name",)), "votes": Reader(votes_reader(read), ("name", "item"))},
        writer=Writer(
            write,
            ("entities", "joint"),
            "UTF-16 units",
            "Tokens become text, and text outside of sentences is lost; paragraphs are the sentences. A "
            "document without text has no rows.",
        ),
        merge_by="id",
        marks="spans",
    )
)
