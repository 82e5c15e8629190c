"""Queries that Django writes once: the ORM composes their SQL at first use, later uses only bring the values.

For the few queries that run with every key press of an annotator, where composing them takes several times
as long as the database takes to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import psycopg
import psycopg.sql
from django.db import connection
from django.db.models import Field, Model, QuerySet, Value
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from psycopg.types.numeric import Int8

M = TypeVar("M", bound=Model)
MOST = 1 << 63


class Given(Value):
    """A value that each use of a query brings, by name."""

    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(name, output_field=output_field)

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        return "%s", (self,)

    def filled(self, values: dict[str, Any]) -> Any:
        field: Any = self.output_field
        value = field.get_db_prep_save(values[self.value], connection)
        # one type for all whole numbers: a small one would else be another statement to the server
        return Int8(value) if type(value) is int and connection.vendor == "postgresql" else value


def columns(model: type[Model], *names: str) -> dict[str, Any]:
    """Given values for these columns, under their own names."""
    return {name: Given(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Text:
    """Composed SQL with what it is filled with: given values, and constants where the database is SQLite."""

    sql: str
    parameters: tuple[Any, ...]

    @classmethod
    def of(cls, sql: str, parameters: Sequence[Any]) -> _Text:
        if connection.vendor != "postgresql":
            return cls(sql, tuple(parameters))
        # what never changes is written out: only then may a plan that is kept use an index with a condition
        told = tuple("%s" if isinstance(one, Given) else _literal(one) for one in parameters)
        given = tuple(one for one in parameters if isinstance(one, Given))
        return cls(sql.replace("%%", "%%%%") % told, given)

    def execute(self, cursor: Any, values: dict[str, Any]) -> None:
        filled = [one.filled(values) if isinstance(one, Given) else one for one in self.parameters]
        cursor.execute(self.sql, filled)


def _literal(value: Any) -> str:
    connection.ensure_connection()
    return psycopg.sql.Literal(value).as_string(connection.connection).replace("%", "%%")


def _cursor() -> Any:
    """One whose statements PostgreSQL keeps parsed and planned, where the connection is set up for that."""
    if connection.vendor != "postgresql":
        return connection.cursor()
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    if connection.connection.prepare_threshold is None:
        return connection.cursor()
    return connection._prepare_cursor(psycopg.Cursor(connection.connection))  # type: ignore[attr-defined]


class _Converted:
    """A row of the database in Python's types."""

    def __init__(self, compiler: SQLCompiler, columns: list[Any]) -> None:
        self.converters = list(compiler.get_converters(columns).items())

    def __call__(self, told: tuple[Any, ...]) -> list[Any]:
        row = list(told)
        for at, (convert, expression) in self.converters:
            for step in convert:
                row[at] = step(row[at], expression, connection)
        return row


class _Shape:
    """How a row of a compiled query becomes a row of its model, as QuerySet does it."""

    def __init__(self, compiler: SQLCompiler) -> None:
        select, info = compiler.select, compiler.klass_info
        assert select is not None
        assert info is not None
        fields = info["select_fields"]
        self.model, self.slice = info["model"], slice(fields[0], fields[-1] + 1)
        self.names = [column.target.attname for column, *_ in select[self.slice]]
        self.related = get_related_populators(info, select, "default")  # type: ignore[call-arg]
        self.extra = dict(compiler.annotation_col_map or {})
        self.converted = _Converted(compiler, [column for column, *_ in select])

    def __call__(self, told: tuple[Any, ...]) -> Any:
        row = self.converted(told)
        made = self.model.from_db("default", self.names, row[self.slice])
        for one in self.related:
            one.populate(row, made)
        for name, at in self.extra.items():
            setattr(made, name, row[at])
        return made


class Prepared(Generic[M]):
    """A query for rows. `compose` is called once for each kind of database.

    The row of the model `shared` is held with the others: nobody takes it for themselves meanwhile.
    """

    def __init__(self, compose: Callable[[], QuerySet[M]], *, shared: type[Model] | None = None) -> None:
        self.compose, self.shared = compose, shared
        self.known: dict[str, tuple[_Text, _Shape]] = {}

    def _composed(self) -> tuple[_Text, _Shape]:
        known = self.known.get(connection.vendor)
        if known is None:
            compiler = self.compose().query.get_compiler("default")
            sql, parameters = compiler.as_sql()
            text = _Text.of(sql + self._sharing(), parameters)
            known = self.known[connection.vendor] = text, _Shape(compiler)
        return known

    def _sharing(self) -> str:
        """The ORM has no word for it; where one writes at a time there is nothing to hold."""
        if self.shared is None or connection.vendor != "postgresql":
            return ""
        return f" FOR KEY SHARE OF {connection.ops.quote_name(self.shared._meta.db_table)}"

    def all(self, **values: Any) -> list[M]:
        if any(type(value) is int and not -MOST <= value < MOST for value in values.values()):
            return []  # no column holds such a number, and no database takes it
        text, shape = self._composed()
        with _cursor() as cursor:
            text.execute(cursor, values)
            return [shape(row) for row in cursor.fetchall()]

    def first(self, **values: Any) -> M | None:
        return next(iter(self.all(**values)), None)


class PreparedUpdate(Generic[M]):
    """An UPDATE of the composed rows; gives how many there were."""

    def __init__(self, compose: Callable[[], QuerySet[M]], **values: Any) -> None:
        self.compose, self.values = compose, values
        self.known: dict[str, _Text] = {}

    def __call__(self, **values: Any) -> int:
        text = self.known.get(connection.vendor)
        if text is None:
            query: Any = self.compose().query.chain(UpdateQuery)
            query.add_update_values(self.values)
            text = self.known[connection.vendor] = _Text.of(*query.get_compiler("default").as_sql())
        with _cursor() as cursor:
            text.execute(cursor, values)
            return int(cursor.rowcount)


class PreparedInsert(Generic[M]):
    """An INSERT of one row. `values` are given ones, expressions or constants; `returning` is read back."""

    def __init__(self, model: type[M], *, returning: tuple[str, ...] = (), **values: Any) -> None:
        self.model, self.values = model, values
        self.returning = [model._meta.get_field(name) for name in ("id", *returning)]
        self.known: dict[str, tuple[_Text, _Converted]] = {}

    def _composed(self) -> tuple[_Text, _Converted]:
        known = self.known.get(connection.vendor)
        if known is None:
            query: Any = InsertQuery(self.model)
            fields = [self.model._meta.get_field(name) for name in self.values]
            query.insert_values(fields, [self.model(**self.values)], raw=True)
            compiler = query.get_compiler("default")
            compiler.returning_fields = self.returning
            columns = [field.get_col(self.model._meta.db_table) for field in self.returning]  # type: ignore[union-attr]
            ((text, parameters),) = compiler.as_sql()
            known = _Text.of(text, parameters), _Converted(compiler, columns)
            self.known[connection.vendor] = known
        return known

    def __call__(self, **values: Any) -> M:
        text, converted = self._composed()
        with _cursor() as cursor:
            text.execute(cursor, values)
            told = converted(cursor.fetchone())
        made = self.model(**self._plain(values))
        for field, value in zip(self.returning, told, strict=True):
            setattr(made, field.attname, value)  # type: ignore[union-attr]
        made._state.adding, made._state.db = False, "default"
        return made

    def _plain(self, values: dict[str, Any]) -> dict[str, Any]:
        named = {
            name: values[one.value] if isinstance(one, Given) else one for name, one in self.values.items()
        }
        return {name: one for name, one in named.items() if not hasattr(one, "resolve_expression")}
