"""Backup of database and files together, and its verified restore."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import CommandError
from django.db import connection

from evalsvc import __version__
from evalsvc.core.database import count_anew, snapshot
from evalsvc.core.storage import StoredFile
from evalsvc.core.upkeep.registry import Finding
from evalsvc.core.upkeep.stored_files import all_files
from evalsvc.environment import PRIVATE_FOLDER
from evalsvc.local.schema_check import MigrationKey, unknown_migration
from evalsvc.local.startup_checks import UNFINISHED_RESTORE

MANIFEST, DATABASE, FILES, KEY = "manifest.json", "database", "files", "secret_key"
UNCHANGED = "Nothing was changed. Use another one."
# What boards and test sets depend on; a restored database gives the same digest.
BOARDS = (
    "SELECT slug, sha256, state FROM annotation_testset ORDER BY id",
    "SELECT id, system_id, run, state, file_id FROM evaluation_submission ORDER BY id",
    "SELECT evaluation_id, measure, value FROM evaluation_score ORDER BY id",
)
MIGRATIONS = "SELECT app, name FROM django_migrations ORDER BY app, name"
Query = Callable[[str], Iterator[tuple[Any, ...]]]


class BackupManifest(msgspec.Struct, omit_defaults=True):
    """What a backup has: digests of boards, database and files, and the migrations of its tables."""

    version: str
    vendor: str
    boards: str
    database: str
    files: list[StoredFile]
    at: str = "the backup"
    secret_key: str = ""
    migrations: list[MigrationKey] = []

    def __post_init__(self) -> None:
        for file in self.files:
            if ".." in (path := PurePosixPath(file.name)).parts or path.is_absolute():
                raise ValueError(f"{file.name} is outside of the backup")


def back_up(folder: Path) -> list[str]:
    """Write a new folder, whole or not at all; return the files that differ from their rows."""
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    except FileExistsError:
        raise CommandError(f"{folder} exists already. Name a new folder.") from None
    try:
        with _signals_raised():
            return _fill(folder)
    except BaseException:  # an interrupt, too
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Let a shutdown and a closed terminal end the work as an interrupt does, unless they are ignored."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    ends = [each for each, handler in before.items() if handler != signal.SIG_IGN]
    for each in ends:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ends:
            signal.signal(each, before[each])


def _fill(folder: Path) -> list[str]:
    files: dict[str, StoredFile] = {}
    differences = dict.fromkeys(_copy_files(folder, files))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    boards, migrations = _dump(folder / DATABASE)
    # of rows that came while the first ones were copied
    differences |= dict.fromkeys(_copy_files(folder, files))
    key = ""
    if (settings.DATA_DIR / KEY).exists():
        shutil.copy(settings.DATA_DIR / KEY, folder / KEY)
        key = _sha256(folder / KEY)
    manifest = BackupManifest(
        version=__version__,
        vendor=connection.vendor,
        boards=boards,
        database=_sha256(folder / DATABASE),
        files=list(files.values()),
        at=at,
        secret_key=key,
        migrations=migrations,
    )
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return list(differences)


def _copy_files(folder: Path, files: dict[str, StoredFile]) -> Iterator[str]:
    """Copy the missing files; report instead those that differ from their rows."""
    for file in all_files():
        if file.name in files:
            continue
        path = folder / FILES / file.name
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        with path.open("wb") as copy:
            difference = file.difference(copy)
        files[file.name] = file
        if difference:
            path.unlink()
            del files[file.name]
            yield difference[1]


def _dump(path: Path) -> tuple[str, list[MigrationKey]]:
    """Dump the database; return the digest of the boards in the dump, and its migrations."""
    if connection.vendor == "sqlite":
        name = connection.settings_dict["NAME"]
        with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
            return boards_digest(target.execute), list(target.execute(MIGRATIONS))
    with snapshot(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # pg_dump takes its time
        cursor.execute("SELECT pg_export_snapshot()")
        exported = cursor.fetchone()[0]
        _run("pg_dump", "--format=custom", f"--snapshot={exported}", f"--file={path}")
        return boards_digest(_rows), [(app, name) for app, name in _rows(MIGRATIONS)]


@contextmanager
def restored(folder: Path) -> Iterator[str]:
    """Verify the backup, then write it into an empty installation; yield the time of its state.

    A mark stays until the caller has ended, too: with it the same restore goes on, and no service starts.
    """
    manifest = _verified_manifest(folder)
    mark, name = settings.DATA_DIR / UNFINISHED_RESTORE, _sha256(folder / MANIFEST)
    is_loaded = mark.exists() and mark.read_text() == name and bool(_content())
    if not is_loaded:
        _require_empty()
    _write_files(folder, manifest)
    if not is_loaded:
        mark.write_text(name)
        _load(folder / DATABASE)
    if boards_digest(_rows) != manifest.boards:
        raise CommandError("The restored boards differ from those of the backup. Do not use this database.")
    yield manifest.at
    mark.unlink()


def _write_files(folder: Path, manifest: BackupManifest) -> None:
    for file in manifest.files:
        if file.difference():
            default_storage.delete(file.name)
            with (folder / FILES / file.name).open("rb") as source:
                default_storage.save(file.name, File(source))
    if manifest.secret_key:
        shutil.copy(folder / KEY, settings.DATA_DIR / KEY)
    if lost := [detail for file in manifest.files if (detail := file.difference())]:
        raise CommandError(f"{len(lost):,} restored files differ from the backup. First: {lost[0][1]}")


def _verified_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup that fits, after reading every file that it names."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=BackupManifest)
    except FileNotFoundError:
        raise CommandError(f"{folder} is not a complete backup: it has no {MANIFEST}.") from None
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CommandError(f"The backup is damaged: {folder / MANIFEST}: {error}. {UNCHANGED}") from None
    if manifest.vendor != connection.vendor:
        raise CommandError(
            f"The backup is of {manifest.vendor}, but this is {connection.vendor}. Set DATABASE_URL to match."
        )
    if unknown := unknown_migration(manifest.migrations):
        raise CommandError(
            f"The backup is of another build of evalsvc ({manifest.version}): {unknown}. Nothing was "
            "changed. Restore it with the build that made it, or with a later one."
        )
    expected = {DATABASE: manifest.database} | ({KEY: manifest.secret_key} if manifest.secret_key else {})
    expected |= {f"{FILES}/{file.name}": file.sha256 for file in manifest.files}
    for name, sha256 in expected.items():
        if not (folder / name).is_file() or _sha256(folder / name) != sha256:
            raise CommandError(f"The backup is damaged: {folder / name}. {UNCHANGED}")
    return manifest


def _content() -> str:
    """Name what a restore would overwrite, or could not: in PostgreSQL tables of another build."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        if "teams_user" in tables:
            cursor.execute("SELECT count(*) FROM teams_user")
            if n := int(cursor.fetchone()[0]):
                return f"{n:,} accounts"
    return "tables" if tables and connection.vendor == "postgresql" else ""


def _require_empty() -> None:
    if content := _content():
        raise CommandError(
            f"The database has {content} already. Nothing was changed. Restore into an empty one: another "
            "EVALSVC_DATA, or with PostgreSQL a new database (createdb) and its DATABASE_URL."
        )


def check_restore(share: str) -> Iterator[Finding]:
    """Report a restore that has not ended."""
    if (settings.DATA_DIR / UNFINISHED_RESTORE).exists():
        detail = f"A restore into {settings.DATA_DIR} has not ended: access of the backup may be in force."
        yield Finding("restore_unfinished", detail, "Run the same manage.py restore again.")


def _load(path: Path) -> None:
    if connection.vendor == "sqlite":
        connection.close()
        name = connection.settings_dict["NAME"]
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(name)) as target:
            source.backup(target)
        return
    _run("pg_restore", "--no-owner", "--single-transaction", str(path))
    count_anew()


def boards_digest(query: Query) -> str:
    """Digest test sets, submissions and scores."""
    digest = hashlib.sha256()
    for statement in BOARDS:
        for row in query(statement):
            digest.update(repr(tuple(row)).encode() + b"\n")
    return digest.hexdigest()


def _rows(statement: str) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        yield from iter(cursor.fetchone, None)


def _run(program: str, *arguments: str) -> None:
    """Run a PostgreSQL program, with the password in its environment."""
    parameters = connection.get_connection_params()
    env = {
        f"PG{name.upper()}": str(parameters[name])
        for name in ("host", "port", "user", "password", "sslmode")
        if parameters.get(name)
    }
    command = [program, f"--dbname={parameters['dbname']}", *arguments]
    try:
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)  # noqa: S603
    except FileNotFoundError:
        raise CommandError(
            f"{program} is not installed. Install the client programs of PostgreSQL."
        ) from None
    if done.returncode:
        raise CommandError(f"{program} failed: {done.stderr.strip()[-500:]}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
