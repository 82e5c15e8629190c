"""How much of a long matrix runs: a part by default, all of it with `FULL=1`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

FULL = bool(os.environ.get("FULL"))


def one_in(n: int, rows: Sequence[Any]) -> list[Any]:
    """Every n-th row; with `FULL=1` all of them."""
    return list(rows if FULL else rows[::n])
