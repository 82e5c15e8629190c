"""CoNLL files by whole columns: quick where every row is regular, given up where one is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalsvc.core.formats.json_blocks import Irregular
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, unpacked

STRETCH = 1 << 22
DOCUMENT_LINE = re.compile(rb"(?m)^-DOCSTART-.*\n")


class Stretch(NamedTuple):
    """Some whole sentences: the chosen columns, one list each, and how many rows each sentence has."""

    columns: list[list[str]]
    lengths: list[int]


def regular_columns(
    source: Source, columns: Sequence[int], *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[Stretch]:
    """Read the chosen columns of a file whose rows all have one width and a token; a tag may be empty.

    Raises `Irregular` at any other row, `FileRejected` where the file cannot be unpacked.
    """
    data = _plain(b"".join(unpacked(source, problems)), limits)
    separator = b"\t" if b"\t" in data else b" "
    width = data.partition(b"\n")[0].count(separator) + 1
    if width < 2 or any(not -width <= column < width for column in columns):
        raise Irregular
    for piece in _pieces(data):
        yield _stretch(piece, separator, width, columns)


def _plain(data: bytes, limits: Limits) -> bytes:
    """The same sentences in lines that end with a line feed, without mark, document lines or blank ends."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    data = data.strip(b"\n") + b"\n"
    if b"-DOCSTART-" in data:
        data = DOCUMENT_LINE.sub(b"", data).lstrip(b"\n")
    too_long = len(data) > limits.max_bytes or data.count(b"\n") > limits.max_lines
    if too_long or b"\r" in data or b"\0" in data:
        raise Irregular
    return data


def _pieces(data: bytes) -> Iterator[bytes]:
    """Cut between sentences, a few megabytes each."""
    start = 0
    while start < len(data):
        cut = data.find(b"\n\n", start + STRETCH)
        end = len(data) if cut < 0 else cut + 2
        yield data[start:end]
        start = end


def _stretch(piece: bytes, separator: bytes, width: int, columns: Sequence[int]) -> Stretch:
    """One piece, where nothing but rows of one shape and empty lines is in it.

    What is left of the piece without the text is separators and line ends: every row gives the same few, and
    what remains beside them must be as many line ends as there are empty lines.
    """
    row = separator * (width - 1) + b"\n"
    shape = piece.translate(None, _text_of(separator)).replace(row, b"x")
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
    return Stretch([fields[column % width :: width] for column in columns], lengths)


def _text_of(separator: bytes) -> bytes:
    """Every byte that is neither a separator nor a line end."""
    return bytes(byte for byte in range(256) if byte not in (separator[0], 10))
