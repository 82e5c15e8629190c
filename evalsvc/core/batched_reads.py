"""Long reads in batches; no read stays open between them.

The caller may write between two rows. On SQLite an open read keeps a snapshot; writing from it fails with
"database is locked" once another connection has written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

ROWS_PER_READ = 2_000


def in_batches(rows: QuerySet[Any, Any]) -> Iterator[Any]:
    """Yield rows in order; the first read fixes their keys."""
    keys = list(rows.values_list("pk", flat=True))
    for at in range(0, len(keys), ROWS_PER_READ):
        yield from list(rows.filter(pk__in=keys[at : at + ROWS_PER_READ]))
