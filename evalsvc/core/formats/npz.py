"""Scores and their column names in an archive (.npz), without NumPy."""

from __future__ import annotations

import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO

from evalsvc.core.formats.npy import ColumnNames, array_fields
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.registry import Format, register
from evalsvc.core.formats.text_lines import STEP, reject_binary

MAGIC = b"PK\x03\x04"
SCORES, COLUMNS = "scores.npy", "columns.npy"
END_RECORD, END_MAGIC = 22, b"PK\x05\x06"
LOCATOR, LOCATOR_MAGIC = 20, b"PK\x06\x07"  # of an end record for 4 GB, which takes precedence
DIRECTORY_BYTES = 4_096  # two arrays take about 100
NAMES_BYTES = 4_000_000
LONGEST_NAME = 1_000
# whatever a damaged or crafted archive makes its reader raise
FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes of memory
EXAMPLE = 'numpy.savez("scores.npz", scores=scores, columns=numpy.array(labels))'


@dataclass(frozen=True)
class Archive:
    """The score matrix of an archive, with column names if any."""

    matrix: IO[bytes]
    columns: list[str] | None
    problems: Problems

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the matrix, as in a .npy file."""
        with _faults_reported(self.problems):
            yield from iter(lambda: self.matrix.read(STEP), b"")

    def names(self, stated: ColumnNames) -> ColumnNames:
        """Return the names in the archive, else what is stated beside it."""
        if self.columns is None:
            return stated
        if stated != ColumnNames():
            self.problems.stop(
                "wrong_shape",
                field="columns",
                value="names in the file and beside it",
                expected="one of them",
            )
        return ColumnNames("\n".join(self.columns))


@contextmanager
def opened(chunks: Iterable[bytes], problems: Problems, *, most: int) -> Iterator[Archive]:
    """Open an archive of `scores` and, optionally, `columns`.

    The bytes are copied to disk first, since the directory is at their end.
    """
    with tempfile.TemporaryFile() as file:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > most:
                problems.stop(
                    "too_large", value=f"more than {most:,} bytes", expected=f"at most {most:,} bytes"
                )
            file.write(chunk)
        with _faults_reported(problems):
            _require_small_directory(file, size, problems)
            archive = zipfile.ZipFile(file)
            columns = _columns(archive, problems)
            matrix = archive.open(SCORES)
        with archive, matrix:
            yield Archive(matrix, columns, problems)


@contextmanager
def _faults_reported(problems: Problems) -> Iterator[None]:
    try:
        yield
    except FAULTS as error:
        problems.stop(
            "bad_npy", field="archive", value=str(error) or "damaged data", expected="intact arrays"
        )


def _require_small_directory(file: BinaryIO, size: int, problems: Problems) -> None:
    """Reject other archives before their directory is read.

    It may list millions of members.
    """
    file.seek(max(0, size - END_RECORD - LOCATOR))
    locator, end = file.read(LOCATOR), file.read()
    listed = int.from_bytes(end[12:16], "little")
    if end[:4] != END_MAGIC or locator[:4] == LOCATOR_MAGIC or listed > DIRECTORY_BYTES:
        reject_binary(MAGIC, problems)
    file.seek(size - END_RECORD - min(listed, size - END_RECORD))
    directory = file.read(listed)
    if SCORES.encode() not in directory:
        if b".npy" in directory:
            expected = "an array named scores and, optionally, one named columns"
            problems.stop(
                "bad_npy", field="archive", value="other arrays", expected=expected, example=EXAMPLE
            )
        reject_binary(MAGIC, problems)
    file.seek(0)


def _columns(archive: zipfile.ZipFile, problems: Problems) -> list[str] | None:
    """Return the names of the columns, decoded from fixed-width text."""
    if SCORES not in archive.namelist():
        reject_binary(MAGIC, problems)
    for member in archive.infolist():
        if member.compress_type not in COMPRESSIONS:
            problems.stop(
                "bad_npy", field=member.filename, value="another compression", expected="deflate or none"
            )
    if COLUMNS not in archive.namelist():
        return None
    with archive.open(COLUMNS) as names:
        content = names.read(NAMES_BYTES + 1)
    fields, begin = array_fields(content, problems)
    kind, shape = str(fields["descr"]), fields["shape"]
    is_list = isinstance(shape, tuple) and len(shape) == 1 and type(shape[0]) is int
    width = int(kind[2:]) if kind[:2] in ("<U", "|S") and kind[2:].isdecimal() and len(kind) < 7 else 0
    unit = 4 if kind[:2] == "<U" else 1
    if not (is_list and 0 < width <= LONGEST_NAME and len(content) == begin + shape[0] * width * unit):
        expected = "a list of text, as numpy.array(labels) makes it"
        problems.stop("bad_npy", field="columns", value=f"{kind} {shape}", expected=expected, example=EXAMPLE)
    step, encoding = width * unit, "utf-32-le" if unit == 4 else "utf-8"
    cells = (content[at : at + step] for at in range(begin, len(content), step))
    return [cell.decode(encoding).rstrip("\0") for cell in cells]


FORMAT = register(
    Format(
        "npz",
        "Dense scores with names (.npz)",
        "A NumPy archive of two arrays: scores, as in a .npy file, and columns, the labels of its columns in "
        "any order. The negative class may be one of them.",
        EXAMPLE,
        roles=("predictions",),
        rank=111,
        magic=MAGIC,
        task="relations",
    )
)
