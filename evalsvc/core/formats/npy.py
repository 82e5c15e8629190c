"""Dense scores: the header of a NumPy array file, read without NumPy."""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.negative_class import NA_PLACES
from evalsvc.core.formats.old_labels import OldLabels
from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.registry import Format, register

MAGIC = b"\x93NUMPY"
TYPES = {"<f2": 2, "<f4": 4, "<f8": 8}
STRUCT_CODES = {"<f2": "e", "<f4": "f", "<f8": "d"}
SHOWN, MAX_BAD_CELLS = 8, 20
UNSTATED = (
    "The place of {} is not stated. State na=first or na=last, or name all columns in the field columns."
)
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
    fields, begin = array_fields(head, problems)
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


def array_fields(head: bytes, problems: Problems) -> tuple[dict[str, Any], int]:
    """Return the header's fields and the data offset.

    The header is parsed without evaluating code.
    """
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


class ColumnNames(NamedTuple):
    """Stated columns: names as sent, or the place of the negative class."""

    columns: str = ""
    na: str = ""

    @property
    def stated(self) -> str:
        """The field that states something, empty if none does."""
        return "columns" if self.columns else "na" if self.na not in ("", "none") else ""

    def resolve(
        self,
        header: ArrayHeader,
        labels: Sequence[str],
        negative: str | None,
        problems: Problems,
        old: OldLabels | None = None,
    ) -> list[str]:
        """Return the label of each column, or reject the file.

        Without a statement the columns are the labels in their order, without the negative class. Columns of
        `old` names stand for the labels that these became, and each of their rows counts.
        """
        placed = self.na not in ("", "none")
        if placed and not (self.na in NA_PLACES and negative):
            expected = f"one of {', '.join(NA_PLACES)}" if negative else "none: there is no negative class"
            problems.stop("wrong_shape", field="na", value=self.na, expected=expected)
        names = list(labels)
        if self.columns:
            names = _listed(self.columns, problems)
            _require_each_label(names, labels, negative, problems, old)
            if placed and names[0 if self.na == "first" else -1] != negative:
                expected = f"the place of {negative} in the field columns, or none"
                problems.stop("wrong_shape", field="na", value=self.na, expected=expected)
        elif placed and negative:
            names = [negative, *labels] if self.na == "first" else [*labels, negative]
        if old is not None and not old.are_clear(names, None, "columns", times=header.rows):
            problems.raise_if_any()
        if header.columns != len(names):
            unstated = bool(negative) and not (self.columns or self.na) and header.columns == len(names) + 1
            problems.stop(
                "wrong_shape",
                field="columns",
                value=header.columns,
                expected=f"{len(names):,} columns: {shown(names)}",
                hint=UNSTATED.format(negative) if unstated else None,
                example=f"scores.shape == ({header.rows}, {len(names)})",
            )
        return names


def _listed(text: str, problems: Problems) -> list[str]:
    """Return names sent as a JSON array, or as a label list."""
    if not text.lstrip().startswith("["):
        names = read_labels(text.encode(), problems=problems)
        problems.raise_if_any()
        return names
    try:
        return msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, RecursionError):
        problems.stop(
            "wrong_shape", field="columns", value=text, expected="a JSON array of labels, or a label list"
        )


def _require_each_label(
    names: Sequence[str],
    labels: Sequence[str],
    negative: str | None,
    problems: Problems,
    old: OldLabels | None,
) -> None:
    known = [*labels, *([negative] if negative else [])]
    mapped = old.parts if old is not None else {}
    for name in names:
        if name not in known and name not in mapped:
            problems.stop("unknown_label", field="columns", value=name, hint=did_you_mean(name, known))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        problems.stop(
            "duplicate_label", field="columns", value=twice, expected="each label once", example=shown(labels)
        )
    became = {part for name in names for part in mapped.get(name, ())}
    if missing := sorted(set(labels) - set(names) - became - mapped.keys()):
        expected = f"a column for each label; missing: {shown(missing)}"
        problems.stop("wrong_shape", field="columns", value=f"{len(names):,} names", expected=expected)


def shown(names: Sequence[str]) -> str:
    """Return the first names of columns."""
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def check_finite(
    pieces: Iterable[bytes], header: ArrayHeader, names: Sequence[str], problems: Problems
) -> None:
    """Report cells that are not finite, the first by place.

    The pieces begin with the first number. Those after the last one are left unread.
    """
    rest, done = b"", 0
    size, code = TYPES[header.type], STRUCT_CODES[header.type]
    for piece in pieces:
        if done > header.rows * header.columns:
            return
        data = rest + piece
        count = len(data) // size
        rest = data[count * size :]
        numbers = struct.unpack(f"<{count}{code}", data[: count * size])
        if not math.isfinite(sum(numbers)):  # large finite numbers may overflow too
            for at, number in enumerate(numbers, done):
                if not math.isfinite(number):
                    row, column = divmod(at, header.columns)
                    report = problems.add if problems.total + 1 < MAX_BAD_CELLS else problems.stop
                    report(
                        "bad_score",
                        line=row + 1,
                        field=names[column],
                        value=f"{number} in row {row + 1:,}, column {names[column]}",
                        expected="a finite number in every cell",
                        example="numpy.isfinite(scores).all()",
                    )
        done += count


def check_size(header: ArrayHeader, size: int, problems: Problems) -> None:
    """Reject a file that is truncated or has extra bytes."""
    if size != header.size:
        problems.stop("bad_npy", field="data", value=f"{size:,} bytes", expected=f"{header.size:,} bytes")


FORMAT = register(
    Format(
        "npy",
        "Dense scores (.npy)",
        "A NumPy array of scores: one row per sentence or bag of the setting, one column per label in the "
        "benchmark’s order, without the negative class. If it has a column too, state its place (na=first or "
        "na=last). For another order, name the columns (columns).",
        'numpy.save("scores.npy", scores.astype("float32"))',
        roles=("predictions",),
        rank=110,
        magic=MAGIC,
        task="relations",
    )
)
