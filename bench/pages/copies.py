"""Copies of rows in bulk, selected from a table of numbers.

SQLite and PostgreSQL make millions of them in minutes. Triggers of the database are at work as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection
from django.db.models import Max, Model

K, ANNOTATORS, LABELS = 6, 200, 24
RUNS, MEASURES = 5, ("classification", "semeval2010")  # runs per system, families on the boards


@dataclass(frozen=True)
class Size:
    """Rows of a filled database; other numbers follow from them."""

    items: int
    runs: int
    boards: int

    @property
    def people(self) -> int:
        return max(ANNOTATORS, self.boards * 5)


def size_of(items: int) -> Size:
    """The size with so many items, five votes on each and the other numbers in proportion."""
    return Size(items, runs=max(items // 100, RUNS), boards=max(items // 5_000, 2))


class _Words:
    """Expressions that differ between the databases."""

    def __init__(self) -> None:
        self.sqlite = connection.vendor == "sqlite"

    def uuid(self, number: str) -> str:
        return f"printf('%032x', {number})" if self.sqlite else f"lpad(to_hex({number}), 32, '0')::uuid"

    def sha256(self, number: str) -> str:
        return f"printf('%064x', {number})" if self.sqlite else f"lpad(to_hex({number}), 64, '0')"

    def ago(self, seconds: str) -> str:
        """Time so many seconds ago, never a whole second, as Django writes it."""
        if self.sqlite:
            return f"datetime('now', '-' || CAST({seconds} AS integer) || ' seconds') || '.25'"
        return f"now() - CAST({seconds} AS integer) * interval '1 second'"

    def relation(self, number: str) -> str:
        return self.json(f"""'{{"spans": [], "relations": ["r' || (({number}) % {LABELS}) || '"]}}'""")

    def json(self, text: str) -> str:
        return text if self.sqlite else f"({text})::jsonb"


class Filler:
    """Copies of rows, by number."""

    def __init__(self, size: Size) -> None:
        self.size, self.words = size, _Words()
        with connection.cursor() as cursor:
            if self.words.sqlite:
                cursor.execute("PRAGMA synchronous = OFF")
                cursor.execute("PRAGMA cache_size = -600000")
                cursor.execute("PRAGMA temp_store = MEMORY")
            cursor.execute("CREATE TEMPORARY TABLE numbers (n integer PRIMARY KEY)")
            most = max(size.items, size.runs)
            cursor.execute(
                "WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < %s)"
                " INSERT INTO numbers SELECT n FROM up",
                [most],
            )
            cursor.execute("CREATE TEMPORARY TABLE few (j integer PRIMARY KEY)")
            cursor.execute(f"INSERT INTO few SELECT n - 1 FROM numbers WHERE n <= {LABELS * 4}")

    @contextmanager
    def indexes_made_last(self, *models: type[Model]) -> Iterator[None]:
        """On SQLite make the indexes of tables once they are filled."""
        tables = [model._meta.db_table for model in models] if self.words.sqlite else []
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, sql, tbl_name FROM sqlite_master WHERE type = 'index'"
            ) if tables else None
            rows = [row for row in (cursor.fetchall() if tables else []) if row[1] and row[2] in tables]
            for name, _, _ in rows:
                cursor.execute(f'DROP INDEX "{name}"')
            yield
            for _, statement, _ in rows:
                cursor.execute(statement)

    def copy(self, row: Model, source: str, **changed: str) -> None:
        """Insert a copy of a row for each row of a source, with changed columns as SQL."""
        model, quote = type(row), connection.ops.quote_name
        table, key = quote(model._meta.db_table), model._meta.pk.column
        columns = [field.column for field in model._meta.concrete_fields]
        if unknown := changed.keys() - set(columns):
            raise LookupError(f"{model.__name__} has no {sorted(unknown)}")
        if "id" in columns and "id" not in changed:
            columns.remove("id")
        values = [f"({changed[name]})" if name in changed else f"each.{quote(name)}" for name in columns]
        names = ", ".join(map(quote, columns))
        with connection.cursor() as cursor:
            rows = f"SELECT {', '.join(values)} FROM {source} CROSS JOIN {table} each"
            rows = rows.replace("%", "%%")  # remainders and formats, beside a parameter
            cursor.execute(f"INSERT INTO {table} ({names}) {rows} WHERE each.{quote(key)} = %s", [row.pk])
            if "id" in changed and not self.words.sqlite:  # later rows are numbered behind these
                last = f"(SELECT MAX(id) FROM {table})"
                cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {last})")

    def numbers(self, most: int, where: str = "TRUE") -> str:
        return f"(SELECT n FROM numbers WHERE n <= {most} AND {where}) numbers"

    def next_key(self, model: type[Model]) -> int:
        return int(model.objects.aggregate(most=Max("pk"))["most"] or 0)  # type: ignore[attr-defined]
