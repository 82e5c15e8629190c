"""Reads in batches, repeated writes, a function of both databases, and constant SQL where composing a query
costs too much.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from itertools import count
from operator import attrgetter, itemgetter
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import msgspec
from django.db import (
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from django.db.migrations import Migration
from django.db.models import AutoField, JSONField, Model, QuerySet
from django.db.models.expressions import DatabaseDefault
from django.db.models.functions import SHA256

M = TypeVar("M", bound=Model)
P = ParamSpec("P")
R = TypeVar("R")
DEADLOCK, UNIQUE, TRIES = "40P01", "23505", 3
ROWS_PER_READ = 2_000
CONNECTION_ENDED = ("25P03", "25P04")  # PostgreSQL's limits on idle and long transactions: InternalError
LIMIT_EXCEEDED = "54"  # PostgreSQL's class of statements beyond its limits
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 5.0
INDEX = re.compile(r"\{by (\w+)\}")  # SQLite prefers a look-up of whole rows; PostgreSQL chooses itself
log = logging.getLogger(__name__)
_JSON = msgspec.json.Encoder()


class Sha256(SHA256):
    """SHA-256 of a text; Django's needs an extension of PostgreSQL."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')"
        return self.as_sql(compiler, connection, template=template, **context)


def is_database_away(error: BaseException | None) -> bool:
    """Return True for an outage or an ended connection, which no change of the statement would mend."""
    cause = error.__cause__ if error else None
    state = getattr(cause, "sqlstate", None) or ""
    if isinstance(error, InternalError):
        return state in CONNECTION_ENDED
    # a statement that both databases refuse to run is an OperationalError, too
    is_faulty = state.startswith(LIMIT_EXCEEDED) or (
        getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    )
    return isinstance(error, OperationalError | InterfaceError) and not is_faulty


def is_taken(error: BaseException | None) -> bool:
    """True where another request stored a unique value after this one had looked for it."""
    cause = error.__cause__ if isinstance(error, IntegrityError) else None
    unique = sqlite3.SQLITE_CONSTRAINT_UNIQUE
    return getattr(cause, "sqlstate", "") == UNIQUE or getattr(cause, "sqlite_errorcode", 0) == unique


@cache
def held_open(path: str) -> sqlite3.Connection:
    """Keep a connection to an SQLite file, so that it can be read on a full disk.

    The last connection that is closed removes the index of the log; the next needs 32 kB of room for it.
    """
    held = sqlite3.connect(path, check_same_thread=False)
    held.execute("PRAGMA schema_version").fetchone()
    return held


def insist(write: Callable[[], object], *, most: int | None = None) -> None:
    """Repeat a write until the database takes it or the process ends."""
    for tries in count(1):
        try:
            write()
        except Error as error:
            if tries == most or not is_database_away(error):
                raise
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), LONGEST_PAUSE_SECONDS)
            log.warning("The database did not take a write, which is repeated in %s s: %s", pause, error)
            connection.close()
            time.sleep(pause)
        else:
            return


def atomic_again(change: Callable[P, R]) -> Callable[P, R]:
    """Run a function in a transaction, and again where PostgreSQL ended that as a deadlock."""

    @wraps(change)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(TRIES - 1):
            try:
                with transaction.atomic():
                    return change(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or getattr(error.__cause__, "sqlstate", None) != DEADLOCK:
                    raise
        with transaction.atomic():
            return change(*args, **kwargs)

    return repeated


@contextmanager
def snapshot() -> Iterator[None]:
    """Read the database as of one moment: without locks on PostgreSQL; on SQLite nobody writes meanwhile."""
    alone = not connection.in_atomic_block
    with transaction.atomic():
        if alone and connection.vendor == "postgresql":
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def in_batches(rows: QuerySet[Any, Any], *fields: str, size: int = 0) -> Iterator[Any]:
    """Yield rows in order, or tuples of fields; the first read fixes their keys. `size` is that of a batch.

    No read stays open meanwhile, so the caller may write between two rows. On SQLite an open read keeps a
    snapshot; writing from it fails with "database is locked" once another connection has written.
    Fields are read by key alone: with the conditions of a join, SQLite reads the whole join for each batch.
    """
    keys = list(rows.values_list("pk", flat=True))
    by_key = rows.model._default_manager.order_by().values_list("pk", *fields)
    size = size or ROWS_PER_READ
    for at in range(0, len(keys), size):
        chunk = keys[at : at + size]
        if fields:
            found = {row[0]: row[1:] for row in by_key.filter(pk__in=chunk)}
            yield from (found[key] for key in chunk if key in found)
        else:
            yield from list(rows.filter(pk__in=chunk))


def insert_many(rows: Sequence[M]) -> list[M]:
    """Insert new rows of one model, and give them their keys: by COPY on PostgreSQL.

    Columns with a default of the database get it. No signals are sent, as with `bulk_create`.
    """
    if connection.vendor == "postgresql" and rows:
        return _copy(rows)
    return type(rows[0])._default_manager.bulk_create(rows, batch_size=500) if rows else []


def _copy(rows: Sequence[M]) -> list[M]:
    table = type(rows[0])._meta
    fields = [
        field
        for field in table.concrete_fields
        if not isinstance(getattr(rows[0], field.attname), DatabaseDefault)
    ]
    in_order = attrgetter(*(field.attname for field in fields))
    documents = [at for at, field in enumerate(fields) if isinstance(field, JSONField)]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    with transaction.atomic(), connection.cursor() as cursor:
        if isinstance(table.pk, AutoField):
            keys = "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)"
            cursor.execute(keys, [quote(table.db_table), table.pk.column, len(rows)])
            for row, (key,) in zip(rows, cursor.fetchall(), strict=True):
                row.pk = key
        with cursor.copy(f"COPY {quote(table.db_table)} ({columns}) FROM STDIN") as copy:
            for row in rows:
                values = list(in_order(row))
                for at in documents:
                    if values[at] is not None:
                        values[at] = _JSON.encode(values[at]).decode()
                copy.write_row(values)
    for row in rows:
        row._state.adding, row._state.db = False, "default"
    return list(rows)


def count_anew(table: type[Model] | None = None) -> None:
    """Let PostgreSQL see at once how large a table, or every one, has become.

    It looks by itself a minute later; until then its plans are those of an empty table.
    """
    if connection.vendor == "postgresql":
        name = connection.ops.quote_name(table._meta.db_table) if table else ""
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {name}")


def count_after_migrations(plan: Sequence[tuple[Migration, bool]] = (), **signal: Any) -> None:
    """Let PostgreSQL look at new columns and indexes, which it only does when many rows have changed.

    New installations have no rows to look at; they begin with the first migration.
    """
    names = {migration.name for migration, _ in plan if migration.app_label == "jobs"}
    if plan and "0001_initial" not in names:
        count_anew()


class _Shape:
    """Positions of a model's fields and other columns in rows."""

    def __init__(self, model: type[Model], columns: list[str]) -> None:
        fields = model._meta.concrete_fields
        self.names = [field.attname for field in fields]
        self.in_order = itemgetter(*(columns.index(str(field.column)) for field in fields))
        self.converters = []
        for at, field in enumerate(fields):
            column = field.get_col(model._meta.db_table)
            for convert in (*connection.ops.get_db_converters(column), *field.get_db_converters(connection)):
                self.converters.append((at, convert, column))
        known = {field.column for field in fields}
        self.more = [(name, at) for at, name in enumerate(columns) if name not in known]

    def instance(self, model: type[M], row: tuple[Any, ...]) -> M:
        values = list(self.in_order(row))
        for at, convert, column in self.converters:
            values[at] = convert(values[at], column, connection)
        instance = model.from_db("default", self.names, values)
        for name, at in self.more:
            setattr(instance, name, row[at])
        return instance


_shapes: dict[tuple[str, str], _Shape] = {}


def fetch(model: type[M], statement: str, **values: Any) -> list[M]:
    """Run a statement that returns rows; extra columns become attributes.

    `Model.objects.raw` does the same, and takes three times as long.
    """
    with connection.cursor() as cursor:
        cursor.execute(_text(statement, connection.vendor), _adapted(values))
        shape = _shapes.get((statement, connection.vendor))
        if shape is None:
            shape = _Shape(model, [str(column[0]) for column in cursor.description])
            _shapes[statement, connection.vendor] = shape
        return [shape.instance(model, row) for row in cursor.fetchall()]


def first(model: type[M], statement: str, **values: Any) -> M | None:
    """Return the first row, or None."""
    return next(iter(fetch(model, statement, **values)), None)


def execute(statement: str, **values: Any) -> int:
    """Run a statement; return the number of changed rows."""
    with connection.cursor() as cursor:
        cursor.execute(_text(statement, connection.vendor), _adapted(values))
        return int(cursor.rowcount)


def value(statement: str, **values: Any) -> Any:
    """Return a single value as the database has it; None without a row."""
    with connection.cursor() as cursor:
        cursor.execute(_text(statement, connection.vendor), _adapted(values))
        row = cursor.fetchone()
        return row[0] if row else None


def now() -> str:
    """Return the present moment as an expression of SQL."""
    return _text("{now}", connection.vendor)


@cache
def _text(statement: str, vendor: str) -> str:
    if vendor == "postgresql":
        moments = {
            "{now + lasting}": "STATEMENT_TIMESTAMP() + %(lasting)s::interval",
            "{now}": "STATEMENT_TIMESTAMP()",
            "{oldest change not seen}": """(SELECT LEAST(STATEMENT_TIMESTAMP(), MIN(xact_start))
                FROM pg_stat_activity WHERE datname = CURRENT_DATABASE())""",
        }
        return _replaced(INDEX.sub("", statement), moments)
    # SQLite has one writer at a time and no row locks
    unlocked = "\n".join(line for line in statement.splitlines() if not line.startswith("FOR "))
    now = "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'{})"
    moments = {"{now + lasting}": now.format(", %(lasting)s"), "{now}": now.format("")}
    unlocked = INDEX.sub(r"INDEXED BY \1", unlocked)
    return _replaced(unlocked, moments | {"{oldest change not seen}": now.format("")})


def _replaced(statement: str, moments: dict[str, str]) -> str:
    for name, expression in moments.items():
        statement = statement.replace(name, expression)
    return statement


def _adapted(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the types for which SQLite has none of its own."""
    return {
        name: connection.ops.adapt_json_value(value, None)
        if isinstance(value, dict)
        else value.hex
        if isinstance(value, UUID) and not connection.features.has_native_uuid_field
        else value
        for name, value in values.items()
    }
