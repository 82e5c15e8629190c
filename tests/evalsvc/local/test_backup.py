"""A restored backup has the same boards, sets and files; a damaged one changes nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection
from django.db.migrations import Migration

from evalsvc.core.accounts.models import User
from evalsvc.core.upkeep import registry
from evalsvc.evaluation.models import PredictionFile, Submission
from tests.cast.basics import run_job
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.places import postgres as pg


def filled() -> Submission:
    """A scored submission and its board."""
    cast = BenchmarkCast.create()
    lines = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
    submission = cast.submit(cast.relations(), lines)
    run_job("score", submission.pk)
    return submission


def back_up(folder: Path) -> Path:
    call_command("backup", str(folder), verbosity=0)
    return folder


@contextmanager
def empty_installation(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Another database, and another folder of files."""
    request.getfixturevalue("settings").MEDIA_ROOT = tmp_path / "restored"
    if database == "sqlite":
        with pg.default_is({"NAME": str(tmp_path / "restored.sqlite3")}):
            yield
    else:
        name = f"restored_{os.getpid()}"
        with pg.server() as url, pg.database(url, name) as entry, pg.default_is(entry):
            yield


@pytest.fixture
def backup(either_database: str, tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT, settings.DATA_DIR = tmp_path / "files", tmp_path
    (tmp_path / "secret_key").write_text("k" * 60)
    filled()
    return back_up(tmp_path / "backup")


def test_a_restored_backup_has_the_same_boards_sets_and_files(
    backup: Path, either_database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert backup.stat().st_mode & 0o077 == 0
    with empty_installation(either_database, tmp_path, request):
        call_command("restore", str(backup), verbosity=0)  # compares boards and files itself
        assert Submission.objects.get().state == Submission.State.SCORED
        assert default_storage.exists(PredictionFile.objects.get().name)
        assert not list(registry.findings())
        assert uncounted() == 0


def uncounted() -> int:
    """Tables of PostgreSQL that were never counted for its plans."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_user_tables WHERE last_analyze IS NULL")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(("first", "counts"), [("0001_initial", False), ("0003_drain", True)])
@pytest.mark.postgres
def test_tables_are_counted_for_plans_after_an_upgrade_not_at_the_first_start(
    first: str, counts: bool, postgres: Any
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_reset()")
    plan = [(Migration(first, "jobs"), False)]
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default", plan=plan)
    assert (uncounted() == 0) is counts


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def stored_copy(backup: Path) -> Path:
    return next(path for path in (backup / "files").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "harm",
    [
        lambda backup: shorten(backup / "database"),
        lambda backup: shorten(backup / "secret_key"),
        lambda backup: shorten(stored_copy(backup)),
        lambda backup: stored_copy(backup).unlink(),
        lambda backup: (backup / "manifest.json").unlink(),
    ],
)
@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_damaged_backup_is_rejected_and_changes_nothing(
    backup: Path,
    either_database: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    harm: Callable[[Path], None],
) -> None:
    harm(backup)
    with empty_installation(either_database, tmp_path, request):
        with pytest.raises(CommandError, match=r"damaged|no complete backup"):
            call_command("restore", str(backup))
        assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_restore_into_a_database_in_use_is_rejected(backup: Path) -> None:
    with pytest.raises(CommandError, match="has 3 accounts already"):
        call_command("restore", str(backup))
    assert User.objects.count() == 3


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_backup_leaves_out_and_reports_a_damaged_file_once(
    backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(default_storage.path(PredictionFile.objects.get().name)).write_bytes(b"x")
    with pytest.raises(SystemExit, check=lambda end: end.code == 1):
        back_up(tmp_path / "second")
    assert capsys.readouterr().err.count("Left out: ") == 1
    assert not [path for path in (tmp_path / "second" / "files").rglob("*") if path.is_file()]


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_backup_never_overwrites_another(backup: Path) -> None:
    with pytest.raises(CommandError, match="exists already"):
        back_up(backup)


def no_room(*_arguments: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_without_room_for_the_database_neither_a_backup_nor_a_restore_ends_half_done(
    backup: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr("evalsvc.local.backup._dump", no_room)
        with pytest.raises(CommandError, match=r"There is no backup in .*second: database or disk is full"):
            back_up(tmp_path / "second")
    assert not (tmp_path / "second").exists()
    with empty_installation("sqlite", tmp_path, request):
        with monkeypatch.context() as full:
            full.setattr("evalsvc.local.backup._load", no_room)
            with pytest.raises(CommandError, match=r"not complete: database or disk is full.* run it again"):
                call_command("restore", str(backup))
        call_command("restore", str(backup), verbosity=0)


def test_a_backup_that_cannot_be_written_says_that_there_is_none(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is no backup in /proc/backup: "):
        back_up(Path("/proc/backup"))
