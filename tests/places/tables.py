"""Migrated databases: made once for the migrations as they are, copied by every test process, emptied."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connections, transaction

from tests.places.workers import ROOT

FOLDER = ROOT / ".pytest_cache" / "databases"
Make = Callable[[Path], object]
MADE_BY_MIGRATIONS = ("django_content_type", "auth_permission", "django_migrations")


@cache
def migrations_digest() -> str:
    digest = hashlib.sha256(django.__version__.encode())
    for package in ("annotation", "evalsvc"):
        for path in sorted((ROOT / package).rglob("migrations/*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def made_once(name: str, make: Make) -> Path:
    """The file or folder of this name; the first process makes it, the others wait."""
    folder = FOLDER / migrations_digest()
    for outdated in set(FOLDER.glob("*")) - {folder}:
        shutil.rmtree(outdated, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    place, part = folder / name, folder / f"{name}.part"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.unlink(missing_ok=True)
            make(part)
            part.rename(place)
    return place


@contextmanager
def default_is(entry: dict[str, Any]) -> Iterator[None]:
    """Use this database as every thread's default connection."""
    before, entry_before = connections["default"], connections.settings["default"]
    before.close()
    connections.settings["default"] = entry_before | entry
    del connections["default"]
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = entry_before
        connections["default"] = before
        ContentType.objects.clear_cache()


def migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


def copy_sqlite(target: Path) -> None:
    """Create a SQLite database with all tables."""
    shutil.copyfile(made_once("tables.sqlite3", _make_sqlite), target)


def _make_sqlite(path: Path) -> None:
    with default_is({"NAME": str(path)}):
        migrate()
        with connections["default"].cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it


@cache
def tables_of_models() -> list[str]:
    """The tables whose rows tests make."""
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models}.difference(MADE_BY_MIGRATIONS))


def empty() -> None:
    """Delete all rows but those of migrations, also from frozen sets, which triggers protect."""
    rows = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in tables_of_models())
    with transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute(" UNION ALL ".join(rows))
        delete = [f"DELETE FROM {table}" for (table,) in cursor.fetchall()]
        if connections["default"].vendor == "postgresql":
            before = ["SET LOCAL session_replication_role = replica"]  # without triggers
            after = ["SELECT setval(seqrelid, 1, false) FROM pg_sequence"]
        else:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = dict(cursor.fetchall())
            before = [f"DROP TRIGGER {name}" for name in triggers]
            after = ["DELETE FROM sqlite_sequence", *triggers.values()]
        for statement in [*before, *delete, *after]:
            cursor.execute(statement)
