"""Zip files that are sent while they are made, the same bytes each time, with checksums."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

EPOCH = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the earliest of a zip: the time of packing would change the bytes
LEVEL, CHUNK_BYTES = 1, 1 << 18
SUMS = "SHA256SUMS"
Entries = Iterable[tuple[str, Iterable[bytes]]]


def with_sums(entries: Entries) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the files, each to be read before the next, and then their SHA-256 as `sha256sum` writes it."""
    sums: list[bytes] = []
    for name, parts in entries:
        digest = hashlib.sha256()
        yield name, _digested(parts, digest)
        sums.append(sums_line(name, digest.hexdigest()))
    yield SUMS, iter([b"".join(sums)])


def sums_line(name: str, sha256: str) -> bytes:
    return f"{sha256}  {name}\n".encode()


def _digested(parts: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part


def zip_stream(entries: Entries, *, folder: str, large: bool = True) -> Iterator[bytes]:
    """Pack files, each a name and its parts, into one folder, in the order given.

    `large` states before each file that it may exceed 2 GB.
    """
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, parts in entries:
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type, entry._compresslevel = zipfile.ZIP_DEFLATED, LEVEL  # type: ignore[attr-defined]
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            with archive.open(entry, "w", force_zip64=large) as file:
                for part in _joined(parts):
                    file.write(part)
                    yield from sink.taken()
            yield from sink.taken()
    yield from sink.taken()


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join short lines, of which each would be compressed alone."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


class _Sink(io.RawIOBase):
    """Takes what is written and hands it on; it cannot seek."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held.append(bytes(data))
        return len(data)

    def taken(self) -> list[bytes]:
        held, self._held = self._held, []
        return held
