"""JSON with a document per object: one array, or a line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from evalsvc.core.formats.json_lines import Identifier, decode, identifier
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Link, Span, VoteLine, payload
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, unpacked
from evalsvc.core.formats.text_spans import checked_spans

Shape = TypeVar("Shape", bound=msgspec.Struct)
MAX_BYTES = 1 << 28  # an array is held in memory


def read_whole(source: Source, *, problems: Problems, limits: Limits, accepted: bytes = b"") -> bytes:
    """Return all bytes of a file, gzip data unpacked; reject one that is too large or empty."""
    pieces, size, most = [], 0, min(limits.max_bytes, MAX_BYTES)
    for piece in unpacked(source, problems, accepted=accepted):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            value, expected = f"more than {most:,} bytes", f"at most {most:,} bytes unpacked"
            problems.stop("too_large", value=value, expected=expected)
    data = b"".join(pieces).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        problems.stop("empty_file", value="no text", expected="at least one document")
    return data


def decode_documents(
    source: Source, shape: type[Shape], *, problems: Problems, limits: Limits
) -> Iterator[tuple[int, Shape]]:
    """Yield (line where it begins, object); report objects of another shape.

    In an array that has several objects on a line, objects are numbered instead: readers of whole files tell
    items apart by their lines.
    """
    data = read_whole(source, problems=problems, limits=limits)
    decoder = msgspec.json.Decoder(shape)
    raws = list(_objects(data, problems))
    lines = _lines(data, raws)
    lines = lines if len(set(lines)) == len(lines) else list(range(1, len(raws) + 1))
    for line, raw in zip(lines, raws, strict=True):
        problems.lines_read = line
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            value = f"byte 0x{raw[error.start]:02x}"
            problems.stop("not_utf8", line=line, value=value, expected="UTF-8")
        struct = decode(decoder, text, line=line, problems=problems)
        if struct is not None:
            yield line, struct
    problems.lines_read = max(lines, default=0)


def _lines(data: bytes, raws: Sequence[bytes]) -> list[int]:
    """Return the line on which each object begins."""
    lines, line, at = [], 1, 0
    for raw in raws:
        start = data.index(raw, at)
        line += data.count(b"\n", at, start)
        lines.append(line)
        line += raw.count(b"\n")
        at = start + len(raw)
    return lines


def _objects(data: bytes, problems: Problems) -> Iterator[bytes]:
    if not data.lstrip().startswith(b"["):
        yield from (row for row in data.split(b"\n") if row.strip())
        return
    try:
        rows = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        place = str(error).rpartition("(byte ")[2].rstrip(")")
        line = data.count(b"\n", 0, int(place)) + 1 if place.isdigit() else None
        problems.stop("not_json", line=line, value=str(error), expected="one JSON array of objects")
    if not rows:
        problems.stop("empty_file", value="an empty list", expected="at least one document")
    yield from (bytes(row) for row in rows)


def votes_reader(
    read: Callable[..., Iterator[tuple[int, ItemLine]]],
) -> Callable[..., Iterator[tuple[int, VoteLine]]]:
    """Make a reader of the answer of the person a file is named after, as INCEpTION names its files."""

    def read_votes(
        source: Source, *, problems: Problems, name: str = "", item: str = "", limits: Limits = LIMITS
    ) -> Iterator[tuple[int, VoteLine]]:
        if not item:
            hint = "A file of one person and one document doesn't say which document it is."
            problems.stop("no_item", field="item", expected="the id of an item of the project", hint=hint)
        for line, each in read(source, problems=problems, limits=limits):
            links: Any = each.relations or ()
            answer = payload(spans=each.spans or (), relations=links)
            yield line, VoteLine(item, name, answer, not each.spans, each.text)

    return read_votes


def token_item(
    name: Identifier,
    tokens: list[str],
    spans: list[Span],
    links: list[Link] | None,
    *,
    line: int,
    problems: Problems,
) -> ItemLine | None:
    """Return a document with spans in tokens, or None after a report."""
    item_id = identifier(name, line=line, field="id", problems=problems)
    if not all(tokens):
        problems.add("wrong_type", line=line, field="tokens", expected="no empty token")
        return None
    checked = checked_spans(spans, links or [], length=len(tokens), line=line, problems=problems)
    if item_id is None or checked is None:
        return None
    text = " ".join(tokens)
    return ItemLine(
        item_id, text, tuple(tokens), spans=checked[0], relations=None if links is None else checked[1]
    )
