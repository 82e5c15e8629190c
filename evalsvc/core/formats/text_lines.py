"""Numbered lines and blocks of text: gzip, limits, line ends, encoding."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, NoReturn

import msgspec

from evalsvc.core.formats.problems import FileRejected, Problems

Source = bytes | str | os.PathLike[str] | BinaryIO | Iterable[bytes]
STEP = 1 << 15  # small enough for the CPU cache and one memory arena
GZIP = b"\x1f\x8b"
GZIP_PARTS = 100_000  # bgzip begins another every 64 kB
TAR_MARK = slice(257, 262)
LONGEST_MAGIC = TAR_MARK.stop
BINARY_FILES = {
    b"%PDF": "a PDF", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"SQLite": "an SQLite database",
    b"\xd0\xcf\x11\xe0": "an old Office file", b"\x7fELF": "a program",
    **{b"\x80" + bytes([version]): "a Python pickle" for version in (2, 3, 4, 5)},
}  # fmt: skip
BINARY = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
NOT_TEXT = "This is a binary file. Write the predictions as text, one JSON object per line."
ARCHIVES = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
UTF8_MARK = b"\xef\xbb\xbf"
BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip
PEEKED_BYTES = 1 << 16
LIKELY_LATIN = frozenset(range(0xA0, 0x100))


class Limits(msgspec.Struct, frozen=True):
    """Limits of a file; bytes are counted after unpacking."""

    max_bytes: int = 1 << 30
    max_lines: int = 10_000_000
    max_line_bytes: int = 4_000_000


LIMITS = Limits()
UNLIMITED = Limits(sys.maxsize, sys.maxsize, sys.maxsize)  # of frozen lines, which were checked as they came


def read_lines(
    source: Source, *, problems: Problems | None = None, limits: Limits = LIMITS
) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of every line, without line ends.

    A file that is not text is rejected.
    """
    problems, content = Problems() if problems is None else problems, False
    for block in read_blocks(source, problems=problems, limits=limits):
        for number, text in block.lines(problems=problems, limits=limits):
            content = content or bool(text.strip())
            problems.lines_read = number
            yield number, text
    if not content:  # blank as text, not as bytes
        _stop_empty(problems)


def checked_line(raw: bytes, number: int, *, problems: Problems, limits: Limits) -> str:
    """Return the text of a line without its end.

    Rejects the file if the line is too long or not text.
    """
    if number > limits.max_lines:
        expected = f"at most {limits.max_lines:,} lines"
        hint = "Split the file."
        problems.stop("too_many_lines", line=number, value=f"{number:,} lines", expected=expected, hint=hint)
    if len(raw) > limits.max_line_bytes + 2:
        size, expected = (
            f"more than {limits.max_line_bytes:,} bytes",
            f"at most {limits.max_line_bytes:,} bytes",
        )
        hint = "Write one object per line, and split long texts."
        problems.stop("line_too_long", line=number, value=size, expected=expected, hint=hint)
    return _decode(raw.rstrip(b"\r\n"), number, problems)


def peek(source: Source) -> str:
    """Return the first characters of a file that is one JSON array or XML, else nothing.

    Such a file may have a single line, which `read_lines` refuses when it is long. A file object is set back
    to where it was.
    """
    file: Any = source if hasattr(source, "seek") else None
    if file is None and not isinstance(source, bytes | str | os.PathLike):
        return ""
    position = file.tell() if file is not None else 0
    head = b""
    try:
        for piece in unpacked(source, Problems()):
            head += piece
            if len(head) >= PEEKED_BYTES or head.lstrip()[:1] not in (b"", b"[", b"<", b"\xef"):
                break
    except FileRejected:
        return ""
    finally:
        if file is not None:
            file.seek(position)
    text = head[:PEEKED_BYTES].decode(errors="ignore").removeprefix("\ufeff").lstrip()
    return text if text.startswith(("[", "<")) else ""


class Irregular(Exception):
    """The file has a line that needs the line-by-line reader."""


class Block:
    """Some complete lines from number `first`; `rows` lack line ends."""

    __slots__ = ("data", "first", "rows")

    def __init__(self, data: bytes, first: int) -> None:
        self.data, self.first, self.rows = data, first, data.splitlines()

    def lines(self, *, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
        """Yield (number, text) of every line."""
        texts = self._plain_texts(limits)
        if texts is not None:
            yield from enumerate(texts, self.first)
            return
        for number, raw in enumerate(self.rows, self.first):
            yield number, checked_line(raw, number, problems=problems, limits=limits)

    def texts(self, *, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
        """Yield (number, text) of the lines that are not blank."""
        for number, text in self.lines(problems=problems, limits=limits):
            if text and not text.isspace():
                yield number, text

    def _plain_texts(self, limits: Limits) -> list[str] | None:
        """Return the texts, or None if a line needs a check of its own."""
        if len(self.data) > limits.max_line_bytes or self.first + len(self.rows) > limits.max_lines:
            return None
        if b"\0" in self.data or self.data.startswith(UTF8_MARK):
            return None
        try:
            return [row.decode() for row in self.rows]
        except UnicodeDecodeError:
            return None


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
        _stop_empty(problems)


def _stop_empty(problems: Problems) -> NoReturn:
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


def chunks(source: Source) -> Iterator[bytes]:
    """Yield the bytes of any source in pieces."""
    if isinstance(source, bytes):
        yield from (source[i : i + STEP] for i in range(0, len(source), STEP))
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            yield from iter(lambda: file.read(STEP), b"")
    elif hasattr(source, "read"):
        yield from iter(lambda: source.read(STEP), b"")
    else:
        yield from source


def unpacked(source: Source, problems: Problems, *, accepted: bytes = b"") -> Iterator[bytes]:
    """Yield the bytes of any source in pieces, gzip data unpacked.

    Binary files are rejected, but for those that begin with `accepted`.
    """
    pieces = (piece for piece in chunks(source) if piece)
    head = b""
    while len(head) < LONGEST_MAGIC and (piece := next(pieces, None)):
        head += piece
    reject_binary(head, problems, accepted=accepted)
    complete = chain([head], pieces)
    is_packed = head.startswith(GZIP)
    yield from _check_unpacked(_gunzip(complete, problems), problems, accepted) if is_packed else complete


def _check_unpacked(pieces: Iterator[bytes], problems: Problems, accepted: bytes) -> Iterator[bytes]:
    """Yield unpacked pieces; reject a file that is packed twice or binary."""
    head = b""
    while len(head) < LONGEST_MAGIC and (piece := next(pieces, None)) is not None:
        head += piece
    if head.startswith(GZIP):
        problems.stop(
            "bad_gzip", value="gzip data within gzip data", expected="a file that is packed once",
            hint="Unpack the file once and send the result.", example="gunzip -c FILE.gz > FILE",
        )  # fmt: skip
    reject_binary(head, problems, accepted=accepted)
    yield from chain([head], pieces)


def reject_binary(head: bytes, problems: Problems, *, accepted: bytes = b"") -> None:
    """Reject a file whose first bytes are those of no text."""
    if accepted and head.startswith(accepted):
        return
    for magic, name in ARCHIVES.items():
        if head.startswith(magic):
            problems.stop(
                "not_utf8", value=f"a {name} archive", expected="text, plain or as gzip",
                hint="Send the file itself, plain or as gzip.", example="gzip -c FILE > FILE.gz",
            )  # fmt: skip
    if head[TAR_MARK] == b"ustar":
        problems.stop(
            "unknown_format", value="a tar archive", expected="text, plain or as gzip",
            hint="Send the file in it. A trained pipeline is submitted as a model, where models are taken.",
            example=problems.example_of("not_json"),
        )  # fmt: skip
    for magic, name in BINARY_FILES.items():
        if head.startswith(magic):
            problems.stop(
                "not_utf8", value=name, expected="text, plain or as gzip", hint=NOT_TEXT,
                example=problems.example_of("not_json"),
            )  # fmt: skip
    for mark, name in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            problems.stop(
                "not_utf8", line=1, value=f"a {name} byte order mark", expected="UTF-8",
                hint="Save the file as UTF-8.", example=f"iconv -f {name} -t UTF-8 FILE > FILE.utf8",
            )  # fmt: skip


def _gunzip(pieces: Iterable[bytes], problems: Problems) -> Iterator[bytes]:
    """Unpack in small steps, so that the limits stop a decompression bomb.

    What follows a part is copied for each part, so steps are small going in, too.
    """
    unzip, started, padding, parts = zlib.decompressobj(31), False, b"", 0
    steps = (piece[at : at + STEP] for piece in pieces for at in range(0, len(piece), STEP))
    for piece in steps:
        rest = piece if started else piece.lstrip(padding)
        while rest:
            started = True
            yield _inflate(unzip, rest, problems)
            rest = unzip.unconsumed_tail
            if unzip.eof:
                # Several members may follow each other, and zeros may pad the end.
                unzip, started, padding, rest = zlib.decompressobj(31), False, b"\0", unzip.unused_data
                rest = rest.lstrip(padding)
                if (parts := parts + 1) > GZIP_PARTS:
                    expected = f"at most {GZIP_PARTS:,} parts, each packed by itself"
                    hint = "Unpack the file and pack it again."
                    problems.stop(
                        "bad_gzip", value=f"more than {GZIP_PARTS:,} parts", expected=expected, hint=hint
                    )
    if started:
        yield unzip.flush()
        hint = "The file is truncated. Send it again."
        problems.stop("bad_gzip", value="an early end", expected="complete gzip data", hint=hint)


def _inflate(unzip: zlib._Decompress, piece: bytes, problems: Problems) -> bytes:
    try:
        return unzip.decompress(piece, STEP)
    except zlib.error:
        hint = "Pack the file again, or send it unpacked."
        problems.stop(
            "bad_gzip", value="bytes that cannot be unpacked", expected="complete gzip data", hint=hint
        )


def _decode(raw: bytes, number: int, problems: Problems) -> str:
    raw = raw.removeprefix(UTF8_MARK) if number == 1 else raw
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{raw[error.start]:02x} at byte {error.start + 1:,} of the line"
        if BINARY.search(raw):
            problems.stop(
                "not_utf8", line=number, value=f"{byte}, among control characters", expected="text in UTF-8",
                hint=NOT_TEXT, example=problems.example_of("not_json"),
            )  # fmt: skip
        name, iconv_name = ("Latin-1", "LATIN1")
        if raw[error.start] not in LIKELY_LATIN:
            name, iconv_name = ("Windows-1252", "WINDOWS-1252")
        hint = f"The encoding may be {name}. Save the file as UTF-8."
        problems.stop(
            "not_utf8", line=number, value=byte, expected="UTF-8", hint=hint,
            example=f"iconv -f {iconv_name} -t UTF-8 FILE > FILE.utf8",
        )  # fmt: skip
    if "\0" in text:
        hint = "A file with many of them is often UTF-16. Save it as UTF-8."
        place = f"NUL at character {text.index(chr(0)) + 1:,}"
        problems.stop("nul_character", line=number, value=place, expected="text without NUL", hint=hint)
    return text
