"""Lines of CSV that spreadsheets read as text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from numbers import Number

# What a spreadsheet runs as a formula begins so; some read the wide forms like the narrow ones.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


INNER = re.compile(rf"([;\t]\s*)(?=[{re.escape(''.join(FORMULAS))}])")

END, MARKED_END = "\r\n", ";\r\n"


def without_formulas(cell: object) -> object:
    """Put an apostrophe before what a spreadsheet would run, also where it splits cells at semicolons."""
    if cell is None or isinstance(cell, Number):
        return cell
    text = INNER.sub(r"\1'", str(cell))
    return f"'{text}" if text.startswith(FORMULAS) else text


def csv_line(cells: Sequence[object]) -> bytes:
    """Return a line in which texts with a semicolon are quoted: some spreadsheets split cells there.

    The writer quotes texts that have any sign of its line's end.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator=MARKED_END).writerow(cells)
    return (line.getvalue().removesuffix(MARKED_END) + END).encode()
