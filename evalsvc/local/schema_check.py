"""Whether the tables that are there were made by this build; told before anything is touched."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.core.management import CommandError
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

STAMP = "tables.json"
Key = tuple[str, str]


def require_fitting() -> None:
    """Refuse tables of another build, which would answer with errors page by page."""
    executor = MigrationExecutor(connection)
    found = next(_differences(executor), None)
    if found is None:
        return
    raise CommandError(
        f"The tables in {place()} were made by another build of evalsvc: {found}. Nothing was changed. "
        "Start the build that made them, and take with it what you need (manage.py export, CSV of a board), "
        f"or give this build a place of its own: {_other_place()}."
    )


def remember() -> None:
    """Write down which migrations made the tables, to know them again when a build has changed one."""
    executor = MigrationExecutor(connection)
    told = {".".join(key): _digest(executor, key) for key in sorted(executor.loader.applied_migrations)}
    (settings.DATA_DIR / STAMP).write_text(json.dumps(told, indent=1))


def _differences(executor: MigrationExecutor) -> Iterator[str]:
    """What does not fit, the clearest first."""
    known, applied = executor.loader.disk_migrations, executor.loader.applied_migrations
    ours = {config.label for config in apps.get_app_configs()}
    for app, name in applied:
        if app in ours and (app, name) not in known:
            yield f"they know a step {app}.{name}, and this build does not"
    if not applied:
        return
    yield from _columns(executor)
    before = _remembered()
    for key in applied:
        told = before.get(".".join(key))
        if told and key in known and told != _digest(executor, key):
            yield f"the step {'.'.join(key)} is not the one they were made by"


def _remembered() -> dict[str, str]:
    """What was written down; nothing where a machine went down before it reached the disk."""
    try:
        told = json.loads((settings.DATA_DIR / STAMP).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _columns(executor: MigrationExecutor) -> Iterator[str]:
    """Tables whose steps are all taken must have the columns of their models, no fewer and no others."""
    pending = {
        migration.app_label for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())
    }
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed and not model._meta.proxy and model._meta.app_label not in pending:
                yield from _of_table(cursor, model, there)


def _of_table(cursor: CursorWrapper, model: type[Model], there: set[str]) -> Iterator[str]:
    table = model._meta.db_table
    if table not in there:
        yield f"the table {table} is missing"
        return
    described = connection.introspection.get_table_description(cursor, table)
    have = {column.name for column in described}
    wanted = {field.column for field in model._meta.local_concrete_fields if field.column}
    for name in sorted(wanted - have):
        yield f"the table {table} has no column {name}"
    for name in sorted(have - wanted):
        yield f"the table {table} has a column {name}, and this build knows none"


def _digest(executor: MigrationExecutor, key: Key) -> str:
    migration = executor.loader.disk_migrations.get(key)
    source = inspect.getsource(sys.modules[migration.__module__]) if migration else ""
    return hashlib.sha256(source.encode()).hexdigest()


def place() -> str:
    """Where the tables are, in words."""
    own = connection.vendor == "sqlite"
    return (
        f"the data folder {settings.DATA_DIR}" if own else f"the database {connection.settings_dict['NAME']}"
    )


def _other_place() -> str:
    own = connection.vendor == "sqlite"
    return "EVALSVC_DATA=FOLDER make up" if own else "another DATABASE_URL"
