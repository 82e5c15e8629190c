"""Headers of a tar file, read within bounds.

`tarfile` of Python below 3.11.10 and 3.12.6 takes minutes for a crafted header of a few hundred kilobytes
(CVE-2024-6232). An archive of files and folders needs only a small part of the format, which this module
reads in linear time and memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 512
EXTENSION_BYTES = 4_096  # of the long name or the attributes of one entry
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
FILE, FOLDER, ATTRIBUTES, ALL_ATTRIBUTES, LONG_NAME = (b"0", b"\0"), b"5", b"x", b"g", b"L"


class BadTar(ValueError):
    """No tar file, or one with more than files and folders."""


@dataclass(frozen=True, slots=True)
class Member:
    """File or folder; `offset` is where its bytes begin."""

    name: str
    size: int
    offset: int
    is_folder: bool
    is_file: bool


def members(file: BinaryIO) -> Iterator[Member]:
    """Yield every entry.

    What is neither file nor folder has both flags off.
    """
    end = file.seek(0, os.SEEK_END)
    _require_unpacked(file)
    at, found = 0, False
    extended: dict[str, str] = {}
    while at + BLOCK <= end:
        file.seek(at)
        header = file.read(BLOCK)
        if not any(header):
            break
        # the checksum counts itself as blanks
        if _octal(header[148:156]) != sum(header[:148]) + sum(header[156:]) + 8 * ord(" "):
            raise BadTar("a header is damaged")
        kind, size = header[156:157], _octal(header[124:136])
        begin, found = at + BLOCK, True
        if kind in (ATTRIBUTES, ALL_ATTRIBUTES, LONG_NAME):
            if size > EXTENSION_BYTES:
                raise BadTar(f"an entry has {size:,} bytes of attributes, of at most {EXTENSION_BYTES:,}")
            extended |= _extension(kind, file.read(size), size)
        else:
            member = _member(header, kind, begin, size, extended)
            size, extended = member.size, {}
            yield member
        at = begin + -(-size // BLOCK) * BLOCK
        if begin + size > end:
            raise BadTar("it is truncated")
    if not found:
        raise BadTar("it has no entry")


def _require_unpacked(file: BinaryIO) -> None:
    file.seek(0)
    head = file.read(max(map(len, PACKED)))
    for magic, name in PACKED.items():
        if head.startswith(magic):
            raise BadTar(f"it is packed as {name}")


def _member(header: bytes, kind: bytes, begin: int, size: int, extended: Mapping[str, str]) -> Member:
    name, prefix = _text(header[:100]), _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    name = extended.get("path") or (f"{prefix}/{name}" if prefix else name)
    if "size" in extended:
        size = _decimal(extended["size"].encode())
    is_folder = kind == FOLDER or (kind in FILE and name.endswith("/"))
    return Member(name, size, begin, is_folder, kind in FILE and not is_folder)


def _extension(kind: bytes, data: bytes, size: int) -> dict[str, str]:
    """Return name and size that replace those of the next header."""
    if len(data) < size:
        raise BadTar("it is truncated")
    if kind == LONG_NAME:
        return {"path": _text(data)}
    attributes = dict(_attributes(data))
    if any(name.startswith("GNU.sparse") for name in attributes):
        raise BadTar("it has sparse files")
    if kind == ALL_ATTRIBUTES:
        return {}
    return {name: attributes[name] for name in ("path", "size") if name in attributes}


def _attributes(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the records `LENGTH NAME=VALUE`, each ended by a newline."""
    while data:
        length_text, space, _ = data[:8].partition(b" ")
        length = _decimal(length_text)
        record, data = data[:length], data[length:]
        name, equals, value = record[len(length_text) + 1 : -1].partition(b"=")
        if not (space and equals and name) or len(record) < length or record[-1:] != b"\n":
            raise BadTar("an entry has damaged attributes")
        yield name.decode("utf-8", "replace"), value.decode("utf-8", "replace")


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not all(digit in b"01234567" for digit in digits):
        raise BadTar("a header has an invalid number")
    return int(digits or b"0", 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 15:
        raise BadTar("an entry has damaged attributes")
    return int(digits)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
