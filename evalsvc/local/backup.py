"""Backup of database and files together, and its verified restore."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import CommandError
from django.db import connection

from evalsvc import __version__
from evalsvc.core.database import count_anew, snapshot
from evalsvc.core.storage import StoredFile
from evalsvc.core.upkeep.stored_files import all_files
from evalsvc.environment import PRIVATE_FOLDER
from evalsvc.local.startup_checks import UNFINISHED_RESTORE

MANIFEST, DATABASE, FILES, KEY = "manifest.json", "database", "files", "secret_key"
# What boards and test sets depend on; a restored database gives the same digest.
BOARDS = (
    "SELECT slug, sha256, state FROM annotation_testset ORDER BY id",
    "SELECT id, system_id, run, state, file_id FROM evaluation_submission ORDER BY id",
    "SELECT evaluation_id, measure, value FROM evaluation_score ORDER BY id",
)
Query = Callable[[str], Iterator[tuple[Any, ...]]]


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
    digest = _dump(folder / DATABASE)
    # of rows that came while the first ones were copied
    differences |= dict.fromkeys(_copy_files(folder, files))
    key = {}
    if (settings.DATA_DIR / KEY).exists():
        shutil.copy(settings.DATA_DIR / KEY, folder / KEY)
        key = {KEY: _sha256(folder / KEY)}
    manifest = {
        "version": __version__,
        "at": at,
        "vendor": connection.vendor,
        "boards": digest,
        "database": _sha256(folder / DATABASE),
        "files": [asdict(file) for file in files.values()],
        **key,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
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


def _dump(path: Path) -> str:
    """Dump the database; return the digest of the boards in the dump."""
    if connection.vendor == "sqlite":
        name = connection.settings_dict["NAME"]
        with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
            return boards_digest(target.execute)
    with snapshot(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # pg_dump takes its time
        cursor.execute("SELECT pg_export_snapshot()")
        exported = cursor.fetchone()[0]
        _run("pg_dump", "--format=custom", f"--snapshot={exported}", f"--file={path}")
        return boards_digest(_rows)


@contextmanager
def restored(folder: Path) -> Iterator[str]:
    """Verify the backup, then write it into an empty installation; yield the time of its state.

    A mark stays until the caller has ended, too: with it the same restore goes on, and no service starts.
    """
    manifest = _verified_manifest(folder)
    mark, name = settings.DATA_DIR / UNFINISHED_RESTORE, _sha256(folder / MANIFEST)
    is_loaded = mark.exists() and mark.read_text() == name and bool(_accounts())
    if not is_loaded:
        _require_empty()
    _write_files(folder, manifest)
    if not is_loaded:
        mark.write_text(name)
        _load(folder / DATABASE)
    if boards_digest(_rows) != manifest["boards"]:
        raise CommandError("The restored boards differ from those of the backup. Do not use this database.")
    yield manifest.get("at", "the backup")
    mark.unlink()


def _write_files(folder: Path, manifest: dict[str, Any]) -> None:
    files = [StoredFile(**file) for file in manifest["files"]]
    for file in files:
        if file.difference():
            default_storage.delete(file.name)
            with (folder / FILES / file.name).open("rb") as source:
                default_storage.save(file.name, File(source))
    if (folder / KEY).exists():
        shutil.copy(folder / KEY, settings.DATA_DIR / KEY)
    if lost := [detail for file in files if (detail := file.difference())]:
        raise CommandError(f"{len(lost):,} restored files differ from the backup. First: {lost[0][1]}")


def _verified_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest, after reading every file that it names."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        raise CommandError(f"{folder} is not a complete backup: it has no {MANIFEST}.") from None
    if manifest["vendor"] != connection.vendor:
        raise CommandError(
            f"The backup is of {manifest['vendor']}, but this is {connection.vendor}. "
            "Set DATABASE_URL to match."
        )
    expected = {name: manifest[name] for name in (DATABASE, KEY) if name in manifest}
    expected |= {f"{FILES}/{file['name']}": file["sha256"] for file in manifest["files"]}
    for name, sha256 in expected.items():
        if not (folder / name).is_file() or _sha256(folder / name) != sha256:
            raise CommandError(
                f"The backup is damaged: {folder / name}. Nothing was changed. Use another one."
            )
    return manifest


def _accounts() -> int:
    with connection.cursor() as cursor:
        if "teams_user" not in connection.introspection.table_names(cursor):
            return 0
        cursor.execute("SELECT count(*) FROM teams_user")
        return int(cursor.fetchone()[0])


def _require_empty() -> None:
    """Reject a database with accounts."""
    if n := _accounts():
        raise CommandError(
            f"The database has {n:,} accounts already. Nothing was changed. "
            "Restore into an empty one: another DATABASE_URL or EVALSVC_DATA."
        )


def _load(path: Path) -> None:
    if connection.vendor == "sqlite":
        connection.close()
        name = connection.settings_dict["NAME"]
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(name)) as target:
            source.backup(target)
        return
    _run("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", str(path))
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
