"""CoNLL columns.

A line has a token and its tag; a blank line ends a sentence. Columns are separated by tabs, or by spaces if
the line has no tab. The first column is the token, the last one the tag unless another is chosen
(`column=-2` is the gold tag of token, gold, predicted). Sentences are numbered from 1, and the number is the
id. Lines that begin with -DOCSTART- are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import ne
from typing import NamedTuple

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, TagsPrediction
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.tag_schemes import (
    Repair,
    Scheme,
    decode_tags,
    encode_tags,
    expected_tags,
    first_bad_tag,
    report_broken,
    share_tagged,
)
from evalsvc.core.formats.text_lines import LIMITS, Irregular, Limits, Source, read_lines, unpacked

DOCUMENT = "-DOCSTART-"
MOSTLY = 0.8
BLANKS = re.compile(r"\s")
FIRST_ROWS = 5_000
CHUNK_BYTES = 1 << 22
DOCUMENT_LINE = re.compile(rb"(?m)^-DOCSTART-.*\n")


class TaggedSentence(msgspec.Struct, frozen=True):
    """Tokens with their tags and lines."""

    id: str
    lines: Sequence[int]
    tokens: tuple[str, ...]
    tags: tuple[str, ...]


def read_sentences(
    source: Source, *, scheme: Scheme, problems: Problems, column: int = -1, limits: Limits = LIMITS
) -> Iterator[TaggedSentence]:
    """Yield sentences whose tags all belong to the scheme; report the others."""
    rows: list[tuple[int, str, str]] = []
    number = 0
    for row in _rows(source, column, problems, limits):
        if row is not None:
            rows.append(row)
        elif rows:
            number += 1
            lines, tokens, tags = zip(*rows, strict=True)
            rows = []
            at = first_bad_tag(tags, scheme)
            if at is None:
                yield TaggedSentence(str(number), lines, tokens, tags)
            else:
                expected = f"{expected_tags(scheme)} ({scheme})"
                problems.add("bad_tag", line=lines[at], field="tag", value=tags[at], expected=expected)
                problems.unread.add_id(None)


def first_tags(source: Source) -> list[tuple[str, ...]]:
    """Return the tags of the first sentences, whatever their scheme."""
    sentences: list[list[str]] = [[]]
    for row in islice(_rows(source, -1, Problems(), LIMITS), FIRST_ROWS):
        if row is None:
            sentences.append([])
        else:
            sentences[-1].append(row[2])
    return [tuple(tags) for tags in sentences if tags]


def _rows(
    source: Source, column: int, problems: Problems, limits: Limits
) -> Iterator[tuple[int, str, str] | None]:
    """Yield (line, token, tag), or None at the end of a sentence."""
    width = 0
    for line, text in read_lines(source, problems=problems, limits=limits):
        if not text.strip(" \t"):
            yield None
        elif not text.startswith(DOCUMENT):
            fields = text.split("\t") if "\t" in text else [field for field in text.split(" ") if field]
            width = width or max(len(fields), 2, -column, column + 1)
            if len(fields) != width or not fields[0].strip():
                expected = f"{width} columns, the token first, the tag last"
                problems.add("wrong_columns", line=line, value=text, expected=expected)
                continue
            yield line, fields[0], fields[column].strip()
    yield None


def read_conll_items(
    source: Source,
    *,
    scheme: Scheme,
    problems: Problems,
    repair: Repair = "conlleval",
    column: int = -1,
    limits: Limits = LIMITS,
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with spans in tokens."""
    for row in read_sentences(source, scheme=scheme, problems=problems, column=column, limits=limits):
        spans, broken = decode_tags(row.tags, scheme, repair=repair)
        report_broken(broken, row.tags, scheme=scheme, lines=row.lines, repair=repair, problems=problems)
        lines = tuple([row.lines[start] for start, _, _ in spans])
        item = ItemLine(row.id, " ".join(row.tokens), row.tokens, spans=tuple(spans), label_lines=lines)
        yield row.lines[0], item


def read_conll_predictions(
    source: Source, *, scheme: Scheme, problems: Problems, column: int = -1, limits: Limits = LIMITS
) -> Iterator[tuple[int, TagsPrediction]]:
    """Yield (line, tags), with the tokens for comparison with the text."""
    for row in read_sentences(source, scheme=scheme, problems=problems, column=column, limits=limits):
        yield row.lines[0], TagsPrediction(row.id, row.tags, row.tokens, row.lines)


class SentenceColumns(NamedTuple):
    """The chosen columns of some sentences, and their lengths."""

    columns: list[list[str]]
    lengths: list[int]


def read_regular_columns(
    source: Source, columns: Sequence[int], *, problems: Problems
) -> Iterator[SentenceColumns]:
    """Yield the chosen columns of a regular file.

    All rows have the same width and a token; a tag may be empty. Raises `Irregular` at any other row,
    `FileRejected` if the file cannot be unpacked.
    """
    data = _normalised(b"".join(unpacked(source, problems)))
    separator = b"\t" if b"\t" in data else b" "
    width = data.partition(b"\n")[0].count(separator) + 1
    if width < 2 or any(not -width <= column < width for column in columns):
        raise Irregular
    start = 0
    while start < len(data):
        cut = data.find(b"\n\n", start + CHUNK_BYTES)
        end = len(data) if cut < 0 else cut + 2
        yield _split_columns(data[start:end], separator, width, columns)
        start = end


def _normalised(data: bytes) -> bytes:
    """Remove everything but rows and the blank lines between sentences."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    data = data.strip(b"\n") + b"\n"
    if DOCUMENT.encode() in data:
        data = DOCUMENT_LINE.sub(b"", data).lstrip(b"\n")
    too_long = len(data) > LIMITS.max_bytes or data.count(b"\n") > LIMITS.max_lines
    if too_long or b"\r" in data or b"\0" in data:
        raise Irregular
    return data


def _split_columns(piece: bytes, separator: bytes, width: int, columns: Sequence[int]) -> SentenceColumns:
    """Split a piece of regular rows and empty lines.

    Without the text, a piece is separators and line ends. Each row has the same ones; the rest must be as
    many line ends as there are empty lines.
    """
    row = separator * (width - 1) + b"\n"
    text_bytes = bytes(byte for byte in range(256) if byte not in (separator[0], 10))
    shape = piece.translate(None, text_bytes).replace(row, b"x")
    rows = piece
    while b"\n\n" in rows:
        rows = rows.replace(b"\n\n", b"\n")
    empty_lines = len(piece) - len(rows) + rows.startswith(b"\n")
    rows = rows.strip(b"\n")
    without_token = rows.startswith(separator) or b"\n" + separator in rows
    doubled = separator == b" " and b"  " in rows
    if separator in shape or shape.count(b"\n") != empty_lines or without_token or doubled:
        raise Irregular
    try:
        fields = rows.decode().replace("\n", separator.decode()).split(separator.decode()) if rows else []
    except UnicodeDecodeError as error:
        raise Irregular from error
    lengths = [len(sentence) for sentence in shape.split(b"\n") if sentence]
    return SentenceColumns([fields[column % width :: width] for column in columns], lengths)


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield one file of four columns, as CoNLL-2003 has them; the middle ones are empty."""
    yield f"{export.name}.conll", _tagged(documents, export)


def _tagged(documents: Iterable[Document], export: Export) -> Iterator[bytes]:
    for document in documents:
        spans = document.flat_spans
        export.lost["overlapping spans"] += len(document.spans) - len(spans)
        export.lost["relations"] += len(document.links)
        if not document.tokens:
            export.lost["documents without tokens"] += 1
            continue
        words = [BLANKS.sub("_", token) for token in document.tokens]
        export.lost["blanks within tokens"] += sum(map(ne, words, document.tokens))
        tags = encode_tags(
            [(start, end, BLANKS.sub("_", name)) for start, end, name in spans], len(words), export.scheme
        )
        rows = "".join(f"{word} -X- -X- {tag}\n" for word, tag in zip(words, tags, strict=True))
        yield f"{DOCUMENT} -X- O O\n\n{rows}\n".encode()


FORMAT = register(
    Format(
        "conll",
        "CoNLL columns",
        "A token and its tag per line, a blank line after each sentence. The tag scheme must be stated.",
        "Turin\tB-location",
        roles=("items", "gold", "predictions"),
        rank=90,
        recognise=lambda sample: (
            not sample.keys
            and share_tagged([line for line in sample.lines if not line.startswith(DOCUMENT)]) > MOSTLY
        ),
        readers={
            "items": Reader(read_conll_items, ("scheme", "repair", "column")),
            "predictions": Reader(read_conll_predictions, ("scheme", "column")),
        },
        writer=Writer(
            write,
            ("entities", "joint"),
            "tokens",
            "Text, ids, relations, and documents without tokens. Of overlapping spans, the one of "
            "most tokens "
            "stays, then the earliest.",
            options=("scheme",),
        ),
        has_ids=False,
        first_tags=first_tags,
        marks="spans",
        task="entities",
        example_line=lambda id, label, tag: f"Turin\t{tag}",
    )
)
