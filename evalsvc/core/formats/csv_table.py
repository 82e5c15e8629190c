"""CSV with a header: a row per document or pair; spans and relations as JSON in their cells.

A cell that a spreadsheet would run as a formula begins with an apostrophe, as in every table of the service.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalsvc.core.formats.csv_lines import FORMULAS, csv_line
from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.json_documents import read_whole
from evalsvc.core.formats.json_lines import identifier
from evalsvc.core.formats.pairs import pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, Link, Span
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import check_bounds, checked_spans

SPANS = ("id", "text", "spans", "relations")
MENTION = ("id", "name", "start", "end", "type")
PAIRS = ("id", "text", *(f"{end}_{name}" for end in ("head", "tail") for name in MENTION), "relations")


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file."""
    yield f"{export.name}.csv", _rows(documents)


def _rows(documents: Iterable[Document]) -> Iterator[bytes]:
    heads: tuple[str, ...] = ()
    for document in documents:
        cells: list[Any] = [document.id, document.text]
        if document.head is None:
            cells += map(_json, (document.spans, document.links))
            names: tuple[str, ...] = SPANS
        else:
            for _, head, tail in pairs([document]):
                for end in (head, tail):
                    cells += [end.id or "", end.name, *place(end), end.type]
            cells.append(_json(document.labels))
            names = PAIRS
        if not heads:
            heads = names
            yield _line(heads)
        yield _line(cells)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _line(cells: Iterable[Any]) -> bytes:
    return csv_line([_guarded(cell) for cell in cells])


def _guarded(cell: Any) -> Any:
    """Put an apostrophe before a formula, and before what reads like a guarded one."""
    if not isinstance(cell, str):
        return cell
    inner = cell.lstrip("'")
    return f"'{cell}" if inner.startswith(FORMULAS) else cell


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULAS) else cell


def read(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); spans count code points of the text."""
    data = read_whole(source, problems=problems, limits=limits)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.stop("not_utf8", line=line, value=f"byte 0x{data[error.start]:02x}", expected="UTF-8")
    csv.field_size_limit(limits.max_line_bytes)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    line, names = 1, tuple[str, ...]()
    try:
        for cells in rows:
            if not names:
                names = tuple(cells)
                if names not in (SPANS, PAIRS):
                    expected = f"a header with the columns {', '.join(SPANS)}, or {', '.join(PAIRS)}"
                    problems.stop("wrong_columns", line=1, value=",".join(cells), expected=expected)
            elif cells:
                item = _item(dict(zip(names, map(_unguarded, cells), strict=False)), names, line, problems)
                if item is not None:
                    yield line, item
            line = rows.line_num + 1
            problems.lines_read = rows.line_num
    except csv.Error as error:
        problems.stop("wrong_columns", line=line, value=str(error), expected="comma-separated values")
    if line <= 2:
        problems.stop("empty_file", value="only a header line", expected="at least one row below the header")


def _item(row: dict[str, str], names: tuple[str, ...], line: int, problems: Problems) -> ItemLine | None:
    if len(row) < len(names):
        problems.add("wrong_columns", line=line, value=str(len(row)), expected=f"{len(names)} columns")
        return None
    item_id = identifier(row["id"], line=line, field="id", problems=problems)
    text = row["text"]
    try:
        if names == SPANS:
            spans = msgspec.json.decode(row["spans"] or "[]", type=list[Span])
            links = msgspec.json.decode(row["relations"] or "[]", type=list[Link])
            checked = checked_spans(spans, links, length=len(text), line=line, problems=problems)
            if checked is None or item_id is None:
                return None
            return ItemLine(item_id, text, spans=checked[0], relations=checked[1])
        labels = msgspec.json.decode(row["relations"] or "[]", type=list[str])
        places = {end: (int(row[f"{end}_start"]), int(row[f"{end}_end"])) for end in ("head", "tail")}
    except ValueError as error:  # msgspec's too
        expected = 'spans [[0, 3, "PER"]] and relations [[0, "lives_in", 1]] as JSON, offsets as numbers'
        problems.add("wrong_type", line=line, value=str(error), expected=expected)
        return None
    valid = [
        check_bounds(start, end, length=len(text), line=line, field=name, problems=problems)
        for name, (start, end) in places.items()
    ]
    if item_id is None or not all(valid):
        return None
    head, tail = (_entity(row, name, places[name], line, problems) for name in ("head", "tail"))
    return ItemLine(item_id, text, None, head, tail, None, tuple(dict.fromkeys(labels)))


def _entity(row: dict[str, str], name: str, at: tuple[int, int], line: int, problems: Problems) -> Entity:
    words, given = row["text"][slice(*at)], row[f"{name}_name"]
    if given and given.casefold() != words.casefold():
        problems.add("other_words", line=line, field=f"{name}_start", value=words, expected=given)
    return Entity(row[f"{name}_id"] or None, given or words, *at, row[f"{name}_type"])


FORMAT = register(
    Format(
        "csv-documents",
        "CSV",
        "A header and a row per document or pair. Spans and relations are JSON in their cells.",
        'id,text,spans,relations\nd1,Ada lives in Turin,"[[0,3,""PER""],[13,18,""LOC""]]",'
        '"[[0,""lives_in"",1]]"',
        roles=("items", "gold"),
        rank=58,
        recognise=lambda sample: tuple(sample.lines[0].strip().split(",")) in (SPANS, PAIRS),
        readers={"items": Reader(read)},
        writer=Writer(
            write,
            ("relations", "entities", "joint"),
            "code points",
            "Tokens become text. A text that a spreadsheet would run begins with an apostrophe.",
        ),
        merge_by="id",
        has_header=True,
    )
)
