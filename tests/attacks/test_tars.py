"""Crafted tar headers, read by the web before anything else of a model."""

from __future__ import annotations

import io
import tarfile

import pytest

from evalsvc.core.formats.spacy_pipeline import BadPipeline, inspect
from evalsvc.core.formats.tar_reader import EXTENSION_BYTES, BadTar, members
from tests.evalsvc.core.formats.test_spacy_pipeline import LIMITS, member, tar


class Counted(io.BytesIO):
    """Bytes that count how many of them were read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def with_attributes(records: bytes, *, kind: bytes = b"x", name: str = "ner/model") -> bytes:
    """An archive whose second entry is preceded by these records."""
    header = tarfile.TarInfo("attributes")
    header.type, header.size = kind, len(records)
    begin = header.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % 512)
    entry = tarfile.TarInfo(name)
    entry.size = 1
    return begin + entry.tobuf(tarfile.USTAR_FORMAT) + b"x" + bytes(511) + bytes(1_024)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L"])
@pytest.mark.parametrize("records", [b"1" * 400_000, b"9 hdrcharset=" * 30_000, b"\n" * 400_000])
def test_long_attributes_are_refused_before_they_are_read(kind: bytes, records: bytes) -> None:
    file = Counted(with_attributes(records, kind=kind))
    with pytest.raises(BadTar, match="bytes of attributes"):
        list(members(file))
    assert file.taken <= 512 + EXTENSION_BYTES


@pytest.mark.parametrize(
    "records",
    [
        b"0 path=x\n",
        b"-9 path=x\n",
        b"99999999 path=x\n",
        b"path=x\n",
        b"9 path=x",
        b"10 =value\n",
        b"30 GNU.sparse.realsize=999999\n",
        b"18 size=999999999\n",
        b"11 size=-1\n",
        b"\0" * 512,
    ],
)
def test_damaged_or_lying_attributes_are_refused(records: bytes) -> None:
    with pytest.raises(BadTar):
        list(members(io.BytesIO(with_attributes(records))))


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", "back\\slash"])
def test_a_name_in_the_attributes_is_checked_like_any_other(path: str) -> None:
    record = f" path={path}\n".encode()
    length = len(record) + 2
    (config,) = members(tar())
    end = config.offset + -(-config.size // 512) * 512
    content = tar().getvalue()[:end] + with_attributes(str(length).encode() + record)
    assert [m.name for m in members(io.BytesIO(content))][1] == path
    with pytest.raises(BadPipeline):
        inspect(io.BytesIO(content), limits=LIMITS)


def test_a_long_name_within_bounds_is_read() -> None:
    name = f"ner/{'n' * 150}"
    found = list(members(tar(member(name, b"x"))))
    assert [each.name for each in found] == ["config.cfg", name]
