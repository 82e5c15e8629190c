"""Zip files that are sent while they are made, the same bytes each time."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator

EPOCH = (1980, 1, 1, 0, 0, 0)  # no time of packing, which would change the bytes
LEVEL = 1


class _Sink:
    """File that keeps what was written until it is taken."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        data = b"".join(self.parts)
        self.parts.clear()
        return data


def zip_stream(entries: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Pack files, each a path and its parts, in the order given."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for path, parts in entries:
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type, entry._compresslevel = zipfile.ZIP_DEFLATED, LEVEL  # type: ignore[attr-defined]
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as file:
                for part in parts:
                    file.write(part)
                    if data := sink.take():
                        yield data
            yield sink.take()
    yield sink.take()
