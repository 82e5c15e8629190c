"""Builders of rows that run once per process; later calls insert the rows they made.

A builder is replayed if its rows follow from its arguments, and from the rows that replayed builders made
before it in the same test. It runs as usual wherever something else may change it: on PostgreSQL, after other
writes, with changed settings, under a monkeypatch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
from django.conf import UserSettingsHolder, settings
from django.db import connection, models, transaction

from tests.places.tables import MADE_BY_MIGRATIONS, tables_of_models

Arguments, Result = ParamSpec("Arguments"), TypeVar("Result")
PLACES = {"MEDIA_ROOT", "DATA_DIR"}  # settings that change no row
LINES = "annotation_testsetrow"  # first, as a frozen test set takes none


class NotedPatch(pytest.MonkeyPatch):
    """A monkeypatch: what it changes may change what a builder makes."""

    def setattr(self, *args: Any, **options: Any) -> None:
        patches.add(id(self))
        super().setattr(*args, **options)

    def setitem(self, *args: Any) -> None:
        patches.add(id(self))
        super().setitem(*args)

    def undo(self) -> None:
        super().undo()
        patches.discard(id(self))


class NotReplayable(Exception):
    """An argument that doesn't tell calls apart."""


@dataclass(frozen=True)
class Recording:
    """The tables after a builder, the files it wrote, and what it returned."""

    rows: dict[str, frozenset[tuple[Any, ...]]]
    sequences: list[tuple[str, int]]
    files: dict[str, bytes]
    result: bytes

    def play(self, before: Recording) -> Any:
        with transaction.atomic():
            connection.ensure_connection()
            for table, rows in self.rows.items():
                if new := rows - before.rows.get(table, frozenset()):
                    places = ", ".join("?" * len(next(iter(new))))
                    connection.connection.executemany(
                        f"INSERT OR REPLACE INTO {table} VALUES ({places})", new
                    )
            connection.connection.execute("DELETE FROM sqlite_sequence")
            connection.connection.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", self.sequences)
        for name, content in self.files.items():
            path = Path(settings.MEDIA_ROOT) / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return pickle.loads(self.result)


EMPTY = Recording({}, [], {}, b"")
recordings: dict[tuple[Any, ...], Recording] = {(): EMPTY}
state: tuple[tuple[Any, ...], int] = (), -1  # the last builder, and the writes of the connection until then
patches: set[int] = set()  # monkeypatches in force


def replayed(build: Callable[Arguments, Result], *, publishes: bool = False) -> Callable[Arguments, Result]:
    """Replay a builder whose rows follow from its arguments and the rows before.

    If it publishes a message to workers, it is replayed in transactions only, where no message leaves.
    """

    @wraps(build)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        global state
        try:
            before = _state_before()
            if publishes and not connection.in_atomic_block:
                raise NotReplayable
            key = (before, build.__module__, build.__qualname__, _key(args), _key(kwargs))
        except NotReplayable:
            return build(*args, **kwargs)
        if key in recordings:
            result = recordings[key].play(recordings[before])
        else:
            files = _files()
            result = build(*args, **kwargs)
            written = {name: (Path(settings.MEDIA_ROOT) / name).read_bytes() for name in _files() - files}
            recordings[key] = Recording(*_tables(), written, pickle.dumps(result))
        state = key, connection.connection.total_changes
        return result

    return call


def _state_before() -> tuple[Any, ...]:
    """Return the key of the rows as they are."""
    if patches or connection.vendor != "sqlite" or _changed_settings():
        raise NotReplayable
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM sqlite_sequence WHERE seq > 0 AND name NOT IN {MADE_BY_MIGRATIONS}")
        if cursor.fetchone() is None:
            return ()
    if state[1] != connection.connection.total_changes:
        raise NotReplayable
    return state[0]


def _changed_settings() -> set[str]:
    changed: set[str] = set()
    holder = settings._wrapped
    while isinstance(holder, UserSettingsHolder):
        changed |= vars(holder).keys()
        holder = holder.default_settings
    return changed - PLACES - {"default_settings", "_deleted"}


def _key(value: Any) -> Any:
    if isinstance(value, str | bytes | int | float | None):
        return value
    if isinstance(value, models.Model):
        return value._meta.label, value.pk
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, Mapping):
        return tuple((name, _key(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    if is_dataclass(value):
        return tuple(_key(getattr(value, part.name)) for part in fields(value))
    raise NotReplayable


@cache
def _queries() -> dict[str, str]:
    """Queries for all rows, by table; `+` keeps values as they are stored."""
    queries = {}
    for table in sorted(tables_of_models(), key=lambda table: table != LINES):
        columns = connection.connection.execute(f"PRAGMA table_info({table})")
        values = ", ".join(f'+"{column[1]}"' for column in columns)
        queries[table] = f"SELECT {values} FROM {table}"
    return queries


def _tables() -> tuple[dict[str, frozenset[tuple[Any, ...]]], list[tuple[str, int]]]:
    execute = connection.connection.execute
    rows = {table: frozenset(execute(query)) for table, query in _queries().items()}
    return rows, list(execute("SELECT name, seq FROM sqlite_sequence"))


def _files() -> set[str]:
    root = Path(settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
