"""The header of a NumPy array file, read without NumPy; what follows it is left alone."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from evalsvc.core.formats.problems import Problems

MAGIC = b"\x93NUMPY"
TYPES = {"<f2": 2, "<f4": 4, "<f8": 8}
LONGEST_HEADER = 10_000
AS_FLOATS = 'numpy.save("scores.npy", scores.astype("float32"))'
ROWS_FIRST = 'numpy.save("scores.npy", numpy.ascontiguousarray(scores))'


class Header(NamedTuple):
    """A matrix of floats in C order, and where its numbers begin."""

    type: str
    rows: int
    columns: int
    begin: int

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.begin + self.rows * self.columns * TYPES[self.type]


def read_header(head: bytes, problems: Problems) -> Header:
    """Read the header from the first bytes of a file, or refuse it."""
    words, begin = _words(head, problems)
    if words["descr"] not in list(TYPES):
        problems.stop(
            "bad_npy", field="descr", found=words.get("descr"), expected="<f4, <f8 or <f2", example=AS_FLOATS
        )
    if words.get("fortran_order") is not False:
        problems.stop(
            "bad_npy",
            field="fortran_order",
            found=words.get("fortran_order"),
            expected="False",
            example=ROWS_FIRST,
        )
    shape = words.get("shape")
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)):
        problems.stop("wrong_shape", field="shape", found=shape, expected="(rows, columns)")
    return Header(words["descr"], shape[0], shape[1], begin)


def _words(head: bytes, problems: Problems) -> tuple[dict[str, Any], int]:
    """The header's dictionary: a Python literal of known keys, nothing that is run."""
    wide = len(head) > 6 and head[6] > 1
    start = 12 if wide else 10
    length = int.from_bytes(head[8:start], "little")
    if len(head) < start or head[6] not in (1, 2, 3) or length > min(LONGEST_HEADER, len(head) - start):
        problems.stop(
            "bad_npy",
            field="header",
            found="none that is whole",
            expected="an array file of version 1, 2 or 3",
        )
    try:
        words = ast.literal_eval(head[start : start + length].decode("latin-1").strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        words = None
    if not isinstance(words, dict) or words.keys() != {"descr", "fortran_order", "shape"}:
        problems.stop(
            "bad_npy", field="header", found="something else", expected="descr, fortran_order and shape"
        )
    return words, start + length


def check_size(header: Header, size: int, problems: Problems) -> None:
    """Refuse a file that ends early or goes on after its numbers."""
    if size != header.size:
        problems.stop("bad_npy", field="data", found=f"{size:,} bytes", expected=f"{header.size:,} bytes")
