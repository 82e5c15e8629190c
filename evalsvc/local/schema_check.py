"""Check that the tables belong to this build before anything is changed."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import CommandError
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.models import Model

DIGESTS_FILE = "tables.json"
OWN = ("annotation", "evalsvc", "workers")  # packages with migrations of this service
NO_ROWS = "SELECT * FROM {} LIMIT 0"
MigrationKey = tuple[str, str]


def require_matching_schema() -> bool:
    """Reject tables of another build; return True if they need `migrate`.

    The digests are stored after it: without those of all migrations it ended before its last step,
    which makes rows of content types and permissions.
    """
    executor = MigrationExecutor(connection)
    difference = next(_differences(executor), None)
    if difference is None:
        applied = {".".join(key) for key in executor.loader.applied_migrations}
        is_complete = applied == set(_read_digests())
        return not is_complete or bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    own = connection.vendor == "sqlite"
    elsewhere = "EVALSVC_DATA=FOLDER make up" if own else "another DATABASE_URL"
    raise CommandError(
        f"The tables in {database_place()} belong to another build of evalsvc: {difference}. Nothing was "
        "changed. Start the build that created them to export what you need (manage.py export, CSV of a "
        f"leaderboard), or run this build elsewhere: {elsewhere}."
    )


def refuse_to_drop_data(plan: Sequence[tuple[Migration, bool]], **signal: Any) -> None:
    """Reject a migration backwards that would drop tables or columns with data."""
    for migration, is_backwards in plan:
        for operation in migration.operations if is_backwards else ():
            if (name := _dropped_with_data(migration.app_label, operation)) is not None:
                raise CommandError(
                    f"Migrating {migration} backwards would drop {name}, which has data. "
                    "Nothing was changed. To go back to an earlier build, "
                    "restore a backup made by it (manage.py restore)."
                )


def _dropped_with_data(app: str, operation: Operation) -> str | None:
    """Name the filled table or column that reversing the operation drops."""
    if isinstance(operation, CreateModel):
        name, column = operation.name, ""
    elif isinstance(operation, AddField):
        name, column = operation.model_name, operation.name
    else:
        return None
    model = apps.all_models[app].get(name.lower())
    if model is None or not model._default_manager.exists():
        return None
    return f"the column {model._meta.db_table}.{column}" if column else f"the table {model._meta.db_table}"


def store_digests() -> None:
    """Store the digests of applied migrations, to detect changed ones."""
    executor = MigrationExecutor(connection)
    digests = {".".join(key): _digest(executor, key) for key in sorted(executor.loader.applied_migrations)}
    (settings.DATA_DIR / DIGESTS_FILE).write_text(json.dumps(digests, indent=1))


def database_place() -> str:
    if connection.vendor == "sqlite":
        return f"the data folder {settings.DATA_DIR}"
    return f"the database {connection.settings_dict['NAME']}"


def _differences(executor: MigrationExecutor) -> Iterator[str]:
    """Differences between tables and build, the clearest first."""
    applied = executor.loader.applied_migrations
    if unknown := unknown_migration(applied):
        yield unknown
    if not applied:
        return
    yield from _column_differences(executor)
    stored = _read_digests()
    for key in applied:
        before, now = stored.get(".".join(key)), _digest(executor, key)
        if before and now and before != now:
            yield f"migration {'.'.join(key)} differs from the one applied"


def unknown_migration(applied: Iterable[MigrationKey]) -> str:
    """Name a migration that this build does not have, empty if there is none."""
    known = MigrationLoader(None).disk_migrations
    labels = {config.label for config in apps.get_app_configs()}
    for app, name in applied:
        if app in labels and (app, name) not in known:
            return f"migration {app}.{name} is applied, but this build does not have it"
    return ""


def _read_digests() -> dict[str, str]:
    """The stored digests; empty if the file is missing or truncated."""
    try:
        digests = json.loads((settings.DATA_DIR / DIGESTS_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}


def _column_differences(executor: MigrationExecutor) -> Iterator[str]:
    """Compare columns with models, for apps whose migrations are all applied."""
    pending = {
        migration.app_label for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())
    }
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed and not model._meta.proxy and model._meta.app_label not in pending:
                yield from _table_differences(cursor, model, tables)


def _table_differences(cursor: CursorWrapper, model: type[Model], tables: set[str]) -> Iterator[str]:
    table = model._meta.db_table
    if table not in tables:
        yield f"table {table} is missing"
        return
    cursor.execute(NO_ROWS.format(connection.ops.quote_name(table)))  # Django's introspection is far slower
    actual = {column[0] for column in cursor.description}
    expected = {field.column for field in model._meta.local_concrete_fields if field.column}
    for name in sorted(expected - actual):
        yield f"table {table} has no column {name}"
    for name in sorted(actual - expected):
        yield f"table {table} has an unknown column {name}"


def _digest(executor: MigrationExecutor, key: MigrationKey) -> str:
    """SHA-256 of a migration's text; empty for those of libraries, whose versions may differ in it."""
    migration = executor.loader.disk_migrations.get(key)
    if migration is None or migration.__module__.partition(".")[0] not in OWN:
        return ""
    return hashlib.sha256(inspect.getsource(sys.modules[migration.__module__]).encode()).hexdigest()
