"""Whole lines by the block: what is regular is decoded at once, the rest line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from evalsvc.formats.problems import Problems
from evalsvc.formats.reading import LIMITS, Limits, Source, checked_line, unpacked

Shape = TypeVar("Shape", bound=msgspec.Struct)
KEY = re.compile(rb'"[ \t]*:')


class Irregular(Exception):
    """The file has a line that only the careful reader can judge."""


class Block:
    """Some whole lines; `first` is the number of the first, `lines` how many there are."""

    __slots__ = ("data", "first", "lines")

    def __init__(self, data: bytes, first: int) -> None:
        self.data, self.first = data, first
        plain = b"\r" not in data
        self.lines = data.count(b"\n") + (not data.endswith(b"\n")) if plain else len(data.splitlines())

    def texts(self, *, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
        """The lines one by one, blank ones left out; whatever is wrong with one stops the file."""
        for number, raw in enumerate(self.data.splitlines(), self.first):
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
        data = carry + piece
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > limits.max_line_bytes:
            cut = len(data) - len(data.splitlines(keepends=True)[-1]) or len(data)
        carry = data[cut:]
        if cut:
            yield (block := Block(data[:cut], number))
            number, content = number + block.lines, content or not data[:cut].isspace()
    if carry:
        yield Block(carry, number)
    if not content and (not carry or carry.isspace()):
        problems.stop("empty_file", found="no text", expected="at least one line that is not blank")


def decoded(block: Block, decoder: msgspec.json.Decoder[Shape], *, limits: Limits) -> list[Shape] | None:
    """Decode a block in which every line is one object; None when any line is unusual.

    Whether a key stands twice is for the caller to rule out with `keys_in`.
    """
    data, lines = block.data, block.lines
    returns = b"\r" in data
    regular = (
        data.startswith(b"{")
        and data.rstrip(b"\r\n").endswith(b"}")
        and data.count(b"}\r\n{" if returns else b"}\n{") == lines - 1
        and (not returns or data.count(b"\r") == data.count(b"\n"))
        and block.first + lines - 1 <= limits.max_lines
        and len(data) <= limits.max_line_bytes
        and b"\0" not in data
        and (b"\\" not in data or b"\\u0000" not in data)
    )
    if not regular:
        return None
    try:
        found = decoder.decode_lines(data)
        data.isascii() or data.decode()
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return found if len(found) == lines else None


def has_keys(block: Block, expected: int) -> bool:
    """Whether the block has just so many keys: one more than its objects have is a key given twice."""
    data = block.data
    if data.count(b":") == expected:
        return True
    spaced = b" :" in data or b"\t:" in data
    return (len(KEY.findall(data)) if spaced else data.count(b'":')) == expected
