"""Whole lines by the block: what is regular is decoded at once, the rest line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, checked_line, unpacked

Shape = TypeVar("Shape", bound=msgspec.Struct)
KEY = re.compile(rb'"[ \t]*:')


class Irregular(Exception):
    """The file has a line that only the careful reader can judge."""


class Block:
    """Some whole lines, without their ends in `rows`; `first` is the number of the first."""

    __slots__ = ("data", "first", "rows")

    def __init__(self, data: bytes, first: int) -> None:
        self.data, self.first, self.rows = data, first, data.splitlines()

    def texts(self, *, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
        """The lines one by one, blank ones left out; whatever is wrong with one stops the file."""
        for number, raw in enumerate(self.rows, self.first):
            text = checked_line(raw, number, problems=problems, limits=limits)
            if text and not text.isspace():
                yield number, text


def read_blocks(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[Block]:
    """Yield blocks of whole lines; a file with nothing in it is refused."""
    carry, read, number, content = b"", 0, 1, False
    for piece in unpacked(source, problems):
        read += len(piece)
        if read > limits.max_bytes:
            problems.stop("too_large", found="more", expected=f"at most {limits.max_bytes:,} bytes unpacked")
        whole, carry = _cut(carry, piece, limits)
        if whole:
            block = Block(whole, number)
            number, content = number + len(block.rows), content or not whole.isspace()
            problems.lines_read = number - 1
            yield block
    if carry:
        problems.lines_read = number
        yield Block(carry, number)
    if not content and (not carry or carry.isspace()):
        problems.stop("empty_file", found="no text", expected="at least one line that is not blank")


def _cut(carry: bytes, piece: bytes, limits: Limits) -> tuple[bytes, bytes]:
    """Whole lines, and the beginning of the next; a line without end is not waited for for ever.

    A carriage return at the edge may be half of a line end: it waits for what follows.
    """
    cut = piece.rfind(b"\n") + 1
    if cut:
        return b"".join((carry, memoryview(piece)[:cut])), piece[cut:]
    data = carry + piece
    if len(data) > limits.max_line_bytes + 3:
        cut = len(data) - len(data.splitlines(keepends=True)[-1]) or len(data)
    return data[:cut], data[cut:]


def decoded(block: Block, decoder: msgspec.json.Decoder[Shape], *, limits: Limits) -> list[Shape] | None:
    """Decode a block in which every line is one object; None when any line is unusual.

    Whether a key stands twice is for the caller to rule out with `has_keys`.
    """
    data, rows = block.data, block.rows
    if (
        block.first + len(rows) - 1 > limits.max_lines
        or len(data) > limits.max_line_bytes
        or (b"\\" in data and b"\\u0000" in data)
    ):
        return None
    try:
        found = list(map(decoder.decode, rows))
        data.isascii() or data.decode()  # what is passed over was not decoded
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return found


def has_keys(block: Block, expected: int) -> bool:
    """Whether the block has just so many keys: one more than its objects have is a key given twice."""
    data = block.data
    if data.count(b":") == expected:
        return True
    spaced = b" :" in data or b"\t:" in data
    return (len(KEY.findall(data)) if spaced else data.count(b'":')) == expected
