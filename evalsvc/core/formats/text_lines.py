"""From bytes to numbered lines of text: gzip, limits, line ends and encoding."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

import msgspec

from evalsvc.core.formats.error_examples import EXAMPLES
from evalsvc.core.formats.problems import Problems

Source = bytes | str | os.PathLike[str] | BinaryIO | Iterable[bytes]
STEP = 1 << 15  # what is made of a piece stays within the caches, and within one arena of the allocator
WHOLE = "gzip data from its beginning to its end"
GZIP = b"\x1f\x8b"
MOST_STRANGE = 6  # bytes that tell any of the strangers below
OTHERS = {
    b"%PDF": "a PDF", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"SQLite": "an SQLite database",
    b"\xd0\xcf\x11\xe0": "an old Office file", b"\x7fELF": "a program",
    **{b"\x80" + bytes([version]): "a Python pickle" for version in (2, 3, 4, 5)},
}  # fmt: skip
BINARY = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
AS_TEXT = (
    "It is binary, no text in another encoding: write the predictions out as text, one JSON object a line."
)
ARCHIVES = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
LIKELY_LATIN = frozenset(range(0xA0, 0x100))


class Limits(msgspec.Struct, frozen=True):
    """How much of a file is read before it is refused; bytes count unpacked."""

    max_bytes: int = 1 << 30
    max_lines: int = 10_000_000
    max_line_bytes: int = 1 << 20


LIMITS = Limits()


def read_lines(
    source: Source, *, problems: Problems | None = None, limits: Limits = LIMITS
) -> Iterator[tuple[int, str]]:
    """Yield (number, text without line end) for every line; whatever is wrong with the file stops it."""
    problems = Problems() if problems is None else problems
    number, content = 0, False
    for number, raw in enumerate(_split(unpacked(source, problems), limits, problems), 1):
        text = checked_line(raw, number, problems=problems, limits=limits)
        content = content or bool(text.strip())
        problems.lines_read = number
        yield number, text
    if not content:
        problems.stop("empty_file", found="no text", expected="at least one line that is not blank")


def checked_line(raw: bytes, number: int, *, problems: Problems, limits: Limits) -> str:
    """The text of a line without its end; whatever is wrong with it stops the file."""
    if number > limits.max_lines:
        problems.stop(
            "too_many_lines",
            line=number,
            found="one more line",
            expected=f"at most {limits.max_lines:,} lines",
        )
    if len(raw) > limits.max_line_bytes + 2:
        found = f"more than {limits.max_line_bytes:,} bytes"
        expected = f"at most {limits.max_line_bytes:,} bytes, one object a line"
        problems.stop("line_too_long", line=number, found=found, expected=expected)
    return _decode(raw.rstrip(b"\r\n"), number, problems)


def chunks(source: Source) -> Iterator[bytes]:
    """Read any source piece by piece."""
    if isinstance(source, bytes):
        yield from (source[i : i + STEP] for i in range(0, len(source), STEP))
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            yield from iter(lambda: file.read(STEP), b"")
    elif hasattr(source, "read"):
        yield from iter(lambda: source.read(STEP), b"")
    else:
        yield from source


def unpacked(source: Source, problems: Problems) -> Iterator[bytes]:
    """Read any source piece by piece, gzip taken off when its magic bytes are there."""
    pieces = (piece for piece in chunks(source) if piece)
    head = b""
    while len(head) < MOST_STRANGE and (piece := next(pieces, None)):
        head += piece
    _refuse_strangers(head, problems)
    whole = chain([head], pieces)
    yield from _packed_once(_gunzip(whole, problems), problems) if head.startswith(GZIP) else whole


def _packed_once(pieces: Iterator[bytes], problems: Problems) -> Iterator[bytes]:
    """What was unpacked, unless it is no text still."""
    head = b""
    while len(head) < MOST_STRANGE and (piece := next(pieces, None)) is not None:
        head += piece
    if head.startswith(GZIP):
        problems.stop(
            "bad_gzip", found="gzip data within gzip data", expected="a file that is packed once",
            hint="It was packed twice: unpack it once, and send that.", example="gunzip -c FILE.gz > FILE",
        )  # fmt: skip
    _refuse_strangers(head, problems)
    yield from chain([head], pieces)


def _refuse_strangers(head: bytes, problems: Problems) -> None:
    for magic, name in ARCHIVES.items():
        if head.startswith(magic):
            problems.stop(
                "not_utf8", found=f"a {name} archive", expected="text, plain or as gzip",
                hint="Send the file itself, plain or as gzip.", example="gzip -c FILE > FILE.gz",
            )  # fmt: skip
    for magic, name in OTHERS.items():
        if head.startswith(magic):
            problems.stop(
                "not_utf8", found=name, expected="text, plain or as gzip", hint=AS_TEXT,
                example=problems.example_of("not_json"),
            )  # fmt: skip
    for mark, name in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            problems.stop(
                "not_utf8", line=1, found=f"a {name} byte order mark", expected="UTF-8",
                hint="Save the file as UTF-8.", example=EXAMPLES["nul_character"],
            )  # fmt: skip


def _gunzip(pieces: Iterable[bytes], problems: Problems) -> Iterator[bytes]:
    """Unpack step by step, never more than one step ahead: a bomb meets the limits first."""
    unzip, started, padding = zlib.decompressobj(31), False, b""
    for piece in pieces:
        rest = piece if started else piece.lstrip(padding)
        while rest:
            started = True
            yield _inflate(unzip, rest, problems)
            rest = unzip.unconsumed_tail
            if unzip.eof:
                # members may follow each other, and zeros may fill up the end
                unzip, started, padding, rest = zlib.decompressobj(31), False, b"\0", unzip.unused_data
                rest = rest.lstrip(padding)
    if started:
        yield unzip.flush()
        problems.stop(
            "bad_gzip",
            found="an end in the middle",
            expected=WHOLE,
            hint="The file was cut short; send it again.",
        )


def _inflate(unzip: zlib._Decompress, piece: bytes, problems: Problems) -> bytes:
    try:
        return unzip.decompress(piece, STEP)
    except zlib.error:
        hint = "Pack the file again, or send it unpacked."
        problems.stop("bad_gzip", found="bytes that can't be unpacked", expected=WHOLE, hint=hint)


def _split(pieces: Iterable[bytes], limits: Limits, problems: Problems) -> Iterator[bytes]:
    carry, read = b"", 0
    for piece in pieces:
        read += len(piece)
        if read > limits.max_bytes:
            problems.stop(
                "too_large",
                found=f"{read:,} bytes so far",
                expected=f"at most {limits.max_bytes:,} bytes unpacked",
            )
        lines = (carry + piece).splitlines(keepends=True)
        # a carriage return at the edge may be half of a line end
        carry = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        yield from lines
        if len(carry) > limits.max_line_bytes + 2:
            yield carry
            return
    yield from [carry] if carry else []


def _decode(raw: bytes, number: int, problems: Problems) -> str:
    raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{raw[error.start]:02x} at byte {error.start + 1:,} of the line"
        if BINARY.search(raw):
            problems.stop(
                "not_utf8", line=number, found=f"{found}, among control characters", expected="text in UTF-8",
                hint=AS_TEXT, example=problems.example_of("not_json"),
            )  # fmt: skip
        hint, like = _likely(raw[error.start])
        problems.stop(
            "not_utf8", line=number, found=found, expected="UTF-8", hint=hint,
            example=f"iconv -f {like} -t UTF-8 FILE > FILE.utf8",
        )  # fmt: skip
    if "\0" in text:
        hint = "A file full of them is often UTF-16: save it as UTF-8."
        problems.stop(
            "nul_character",
            line=number,
            found=f"NUL at character {text.index(chr(0)) + 1:,}",
            expected="text without it",
            hint=hint,
        )
    return text


def _likely(byte: int) -> tuple[str, str]:
    """A hint at what the encoding may be, and its name as iconv spells it."""
    name, spelt = ("Latin-1", "LATIN1") if byte in LIKELY_LATIN else ("Windows-1252", "WINDOWS-1252")
    return f"The encoding may be {name}: save the file as UTF-8.", spelt
