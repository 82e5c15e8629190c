"""Dense scores: the header of a NumPy array file, read without NumPy."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.registry import Format, register

MAGIC = b"\x93NUMPY"
TYPES = {"<f2": 2, "<f4": 4, "<f8": 8}
LONGEST_HEADER = 10_000
AS_FLOATS = 'numpy.save("scores.npy", scores.astype("float32"))'
ROWS_FIRST = 'numpy.save("scores.npy", numpy.ascontiguousarray(scores))'


class ArrayHeader(NamedTuple):
    """Type and shape of a C-ordered matrix, and the data offset."""

    type: str
    rows: int
    columns: int
    begin: int

    @property
    def size(self) -> int:
        """Size of the complete file in bytes."""
        return self.begin + self.rows * self.columns * TYPES[self.type]


def read_header(head: bytes, problems: Problems) -> ArrayHeader:
    """Return the header of an array file, or reject the file."""
    fields, begin = _header_fields(head, problems)
    if fields["descr"] not in list(TYPES):
        problems.stop(
            "bad_npy", field="descr", value=fields.get("descr"), expected="<f4, <f8 or <f2", example=AS_FLOATS
        )
    if fields.get("fortran_order") is not False:
        problems.stop(
            "bad_npy",
            field="fortran_order",
            value=fields.get("fortran_order"),
            expected="False",
            example=ROWS_FIRST,
        )
    shape = fields.get("shape")
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)):
        problems.stop("wrong_shape", field="shape", value=shape, expected="(rows, columns)")
    return ArrayHeader(fields["descr"], shape[0], shape[1], begin)


def _header_fields(head: bytes, problems: Problems) -> tuple[dict[str, Any], int]:
    """Return the header's dictionary, parsed without evaluating code."""
    wide = len(head) > 6 and head[6] > 1
    start = 12 if wide else 10
    length = int.from_bytes(head[8:start], "little")
    if len(head) < start or head[6] not in (1, 2, 3) or length > min(LONGEST_HEADER, len(head) - start):
        problems.stop(
            "bad_npy",
            field="header",
            value="no complete header",
            expected="an array file of version 1, 2 or 3",
        )
    try:
        fields = ast.literal_eval(head[start : start + length].decode("latin-1").strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.keys() != {"descr", "fortran_order", "shape"}:
        problems.stop(
            "bad_npy", field="header", value="other fields", expected="descr, fortran_order and shape"
        )
    return fields, start + length


def check_size(header: ArrayHeader, size: int, problems: Problems) -> None:
    """Reject a file that is truncated or has extra bytes."""
    if size != header.size:
        problems.stop("bad_npy", field="data", value=f"{size:,} bytes", expected=f"{header.size:,} bytes")


FORMAT = register(
    Format(
        "npy",
        "Dense scores (.npy)",
        "A NumPy array of scores: one row per sentence or bag of the setting, one column per label.",
        'numpy.save("scores.npy", scores.astype("float32"))',
        roles=("predictions",),
        rank=110,
        magic=MAGIC,
        task="relations",
    )
)
