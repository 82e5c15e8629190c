"""Blocks of complete lines, decoded at once if regular."""

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
    """The file has a line that needs the line-by-line reader."""


class Block:
    """Some complete lines from number `first`; `rows` lack line ends."""

    __slots__ = ("data", "first", "rows")

    def __init__(self, data: bytes, first: int) -> None:
        self.data, self.first, self.rows = data, first, data.splitlines()

    def texts(self, *, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
        """Yield (number, text) of the lines that are not blank."""
        for number, raw in enumerate(self.rows, self.first):
            text = checked_line(raw, number, problems=problems, limits=limits)
            if text and not text.isspace():
                yield number, text


def read_blocks(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[Block]:
    """Yield blocks of complete lines; reject an empty file."""
    carry, read, number, content = b"", 0, 1, False
    for piece in unpacked(source, problems):
        read += len(piece)
        if read > limits.max_bytes:
            problems.stop(
                "too_large",
                value=f"more than {limits.max_bytes:,} bytes",
                expected=f"at most {limits.max_bytes:,} bytes unpacked",
            )
        lines, carry = _cut(carry, piece, limits)
        if lines:
            block = Block(lines, number)
            number, content = number + len(block.rows), content or not lines.isspace()
            problems.lines_read = number - 1
            yield block
    if carry:
        problems.lines_read = number
        yield Block(carry, number)
    if not content and (not carry or carry.isspace()):
        problems.stop("empty_file", value="no text", expected="at least one non-blank line")


def _cut(carry: bytes, piece: bytes, limits: Limits) -> tuple[bytes, bytes]:
    """Return complete lines and the rest.

    A line that is too long is not collected further. A carriage return at the edge may be the first half of
    a line end, so it belongs to the rest.
    """
    cut = piece.rfind(b"\n") + 1
    if cut:
        return b"".join((carry, memoryview(piece)[:cut])), piece[cut:]
    data = carry + piece
    if len(data) > limits.max_line_bytes + 3:
        cut = len(data) - len(data.splitlines(keepends=True)[-1]) or len(data)
    return data[:cut], data[cut:]


def decode_block(block: Block, decoder: msgspec.json.Decoder[Shape], *, limits: Limits) -> list[Shape] | None:
    """Return the objects of a block, or None if any is irregular.

    Duplicate keys are not detected: check `has_keys` too.
    """
    data, rows = block.data, block.rows
    if (
        block.first + len(rows) - 1 > limits.max_lines
        or len(data) > limits.max_line_bytes
        or (b"\\" in data and b"\\u0000" in data)
    ):
        return None
    try:
        objects = list(map(decoder.decode, rows))
        data.isascii() or data.decode()  # skipped values are not decoded above
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return objects


def has_keys(block: Block, expected: int) -> bool:
    """Return whether the block has exactly this many keys.

    If so, no key occurs twice in an object.
    """
    data = block.data
    if data.count(b":") == expected:
        return True
    spaced = b" :" in data or b"\t:" in data
    return (len(KEY.findall(data)) if spaced else data.count(b'":')) == expected
