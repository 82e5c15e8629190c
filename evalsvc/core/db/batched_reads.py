"""Long reads in pieces: each is read to its end before its rows are handed out, so that none stands open.

Whoever reads may write between two rows. On SQLite an open read holds a picture of the past, and nobody
writes from there once others have written: "database is locked", however long one would wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

ROWS_PER_READ = 2_000


def in_batches(rows: QuerySet[Any, Any]) -> Iterator[Any]:
    """The rows in their order: which ones is settled at the start, what is in them when it is their turn."""
    keys = list(rows.values_list("pk", flat=True))
    for at in range(0, len(keys), ROWS_PER_READ):
        yield from list(rows.filter(pk__in=keys[at : at + ROWS_PER_READ]))
