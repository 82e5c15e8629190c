"""Lines of CSV that spreadsheets read as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

# What a spreadsheet runs as a formula begins so; some read the wide forms like the narrow ones.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


END, MARKED_END = "\r\n", ";\r\n"


def csv_line(cells: Sequence[object]) -> bytes:
    """Return a line in which texts with a semicolon are quoted: some spreadsheets split cells there.

    The writer quotes texts that have any sign of its line's end.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator=MARKED_END).writerow(cells)
    return (line.getvalue().removesuffix(MARKED_END) + END).encode()
