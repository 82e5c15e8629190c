"""Emptying a SQLite database between tests: its triggers refuse to delete frozen sets."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.backends.sqlite3.operations import DatabaseOperations

sql_flush = DatabaseOperations.sql_flush


def flush_frozen_sets_too() -> None:
    """Let `flush` drop the triggers, and create them again in the same transaction."""

    def flush(operations: DatabaseOperations, *arguments: Any, **options: Any) -> list[str]:
        statements = sql_flush(operations, *arguments, **options)
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = dict(cursor.fetchall())
        return [*(f"DROP TRIGGER {name}" for name in triggers), *statements, *triggers.values()]

    DatabaseOperations.sql_flush = flush  # type: ignore[method-assign]
