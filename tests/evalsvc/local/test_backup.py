"""A restored backup has the same boards, sets and files; a damaged one changes nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
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
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import invitations, tokens, users
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.passwords import ResetLinks
from evalsvc.core.upkeep import registry
from evalsvc.evaluation.models import PredictionFile, Submission
from evalsvc.local import backup as backup_module
from evalsvc.local.startup_checks import require_no_unfinished_restore
from tests.cast.basics import run_job
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.places import postgres as pg

ROOT = Path(__file__).resolve().parents[3]


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


@pytest.fixture
def ways_in(either_database: str) -> Callable[[], dict[str, bool]]:
    """Which of a token, a link, a session and a reset link, all made before a backup, open something."""
    ann = User.objects.create_superuser("ann", password="harbour-lamp-7")
    _, token = tokens.issue(ann, name="laptop")
    _, link = invitations.invite(users.INVITATION_TARGET, users.Installation(), role="person", by=ann)
    browser = Client()
    browser.force_login(ann)
    reset = ResetLinks().make_token(ann)

    def open_now() -> dict[str, bool]:
        return {
            "token": tokens.find(token) is not None,
            "link": invitations.usable().filter(digest=tokens.digest(link)).exists(),
            "session": browser.get(reverse("account")).status_code == 200,
            "reset": ResetLinks().check_token(User.objects.get(username="ann"), reset),
            "password": User.objects.get(username="ann").check_password("harbour-lamp-7"),
        }

    return open_now


@pytest.mark.parametrize(("options", "stays"), [((), False), (("--keep-access",), True)])
def test_a_restore_ends_all_access_but_passwords_as_it_may_have_been_taken_away_since_the_backup(
    ways_in: Callable[[], dict[str, bool]], backup: Path, either_database: str, tmp_path: Path,
    request: pytest.FixtureRequest, options: tuple[str, ...], stays: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert all(ways_in().values())
    with empty_installation(either_database, tmp_path, request):
        call_command("restore", str(backup), *options)
        assert ways_in() == dict.fromkeys(("token", "link", "session", "reset"), stays) | {"password": True}
    output = capsys.readouterr().out
    assert f"State of {json.loads((backup / 'manifest.json').read_text())['at']}." in output
    assert ("reset links have ended" in output, "may be in force again" in output) == (not stays, True)


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


PG_DUMP, *PG_RESTORE = re.findall(
    r"^    docker compose exec -T postgres ((?:pg_dump|dropdb|createdb|pg_restore|vacuumdb) .*)$",
    (ROOT / "docs" / "operations.md").read_text(),
    re.MULTILINE,
)


def as_in_the_guide(command: str, folder: Path) -> None:
    """Run a command of the guide on the database of this test."""
    parameters = connection.get_connection_params()
    connection.close()
    command = re.sub(r"\bevalsvc\b(?!\.dump)", str(parameters["dbname"]), command.replace("-U evalsvc ", ""))
    places = {f"PG{name.upper()}": str(parameters[name]) for name in ("host", "port", "user", "password")
              if parameters.get(name)}  # fmt: skip
    subprocess.run(command, shell=True, check=True, cwd=folder, env=os.environ | places)


@pytest.mark.postgres
def test_the_restore_of_the_guide_leaves_nothing_of_a_later_build_and_of_the_days_since_the_backup(
    postgres: Any, tmp_path: Path
) -> None:
    assert [command.split()[0] for command in PG_RESTORE] == ["dropdb", "createdb", "pg_restore", "vacuumdb"]
    with (
        pg.server() as url,
        pg.database(url, f"guide_{os.getpid()}", tables=True) as entry,
        pg.default_is(entry),
    ):
        ann = User.objects.create_user("ann", password="harbour-lamp-7")
        as_in_the_guide(PG_DUMP, tmp_path)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE later (person bigint REFERENCES teams_user)")
        ann.set_password("thrown-out-8")
        ann.save()
        User.objects.create_user("later")
        for command in PG_RESTORE:
            as_in_the_guide(command, tmp_path)
        assert "later" not in connection.introspection.table_names()
        assert User.objects.get().check_password("harbour-lamp-7")
        assert uncounted() == 0


def edit(backup: Path, **fields: Any) -> None:
    """Change fields of the manifest; None removes one."""
    path = backup / "manifest.json"
    manifest = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in manifest.items() if value is not None}))


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
        lambda backup: (backup / "manifest.json").write_text("[" * 5_000),
        lambda backup: (backup / "manifest.json").write_bytes(b"\xff"),
        lambda backup: edit(backup, vendor=None),
        lambda backup: edit(backup, files=[["name", 1, "0"]]),
        lambda backup: edit(backup, files=[{"name": "../x", "size": 1, "sha256": "0"}]),
        lambda backup: edit(backup, files=[{"name": "x\0", "size": 1, "sha256": "0"}]),
        lambda backup: edit(backup, secret_key=7),
        lambda backup: edit(backup, migrations={}),
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


def written(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_backup_of_a_later_build_is_rejected_before_anything_is_written(
    backup: Path, either_database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    migrations = json.loads((backup / "manifest.json").read_text())["migrations"]
    edit(backup, migrations=[*migrations, ["jobs", "0099_later"]])
    with empty_installation(either_database, tmp_path, request):
        before = written(tmp_path)
        with pytest.raises(CommandError, match=r"another build .*jobs\.0099_later.* Nothing was changed"):
            call_command("restore", str(backup))
        assert written(tmp_path).keys() - before.keys() <= {tmp_path / "up.lock"}
        assert connection.introspection.table_names() == []
    edit(backup, migrations=None)  # as backups of earlier builds
    with empty_installation(either_database, tmp_path, request):
        call_command("restore", str(backup), verbosity=0)


@pytest.mark.parametrize("either_database", ["postgres"], indirect=True)
def test_a_restore_over_tables_of_postgresql_is_rejected_before_anything_is_written(
    backup: Path, either_database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with empty_installation(either_database, tmp_path, request):
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE later (id bigint)")
        with pytest.raises(CommandError, match=r"has tables already\. Nothing was changed.* \(createdb\)"):
            call_command("restore", str(backup))
        assert not (tmp_path / "restore.unfinished").exists()
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_backup_that_is_terminated_leaves_no_folder(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    monkeypatch.setattr("evalsvc.local.backup._dump", lambda path: signal.raise_signal(number))
    with pytest.raises(SystemExit, check=lambda end: end.code == 128 + number):
        back_up(tmp_path / "second")
    assert not (tmp_path / "second").exists()
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_backup_goes_on_when_its_terminal_closes_and_it_was_told_to_ignore_that(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hung_up(path: Path) -> str:
        signal.raise_signal(signal.SIGHUP)
        return dump(path)

    dump = backup_module._dump
    monkeypatch.setattr("evalsvc.local.backup._dump", hung_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert (back_up(tmp_path / "second") / "manifest.json").exists()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "step",
    [
        "evalsvc.local.backup.shutil.copy",
        "evalsvc.local.backup._load",
        "evalsvc.local.backup.boards_digest",
        "evalsvc.management.commands.restore.prepare_tables",
        "evalsvc.core.accounts.users.end_all_access",
    ],
)
def test_a_restore_that_ends_early_at_any_step_lets_no_service_start_and_goes_on(
    ways_in: Callable[[], dict[str, bool]], backup: Path, either_database: str, tmp_path: Path,
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, step: str,
) -> None:  # fmt: skip
    key = tmp_path / "secret_key"
    key.unlink()
    with empty_installation(either_database, tmp_path, request):
        with monkeypatch.context() as full:
            full.setattr(step, no_room)
            with pytest.raises(CommandError, match="not complete: database or disk is full"):
                call_command("restore", str(backup))
        if User._meta.db_table in connection.introspection.table_names():
            with pytest.raises(CommandError, match="has not ended"):
                require_no_unfinished_restore(tmp_path)
            assert "restore_unfinished" in {finding.code for finding in registry.findings()}
        call_command("restore", str(backup), verbosity=0)
        assert key.read_text() == "k" * 60
        assert not ways_in()["token"]
        require_no_unfinished_restore(tmp_path)


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
def test_a_restore_that_ended_early_goes_on_with_no_other_backup(
    backup: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = back_up(tmp_path / "other")
    manifest = other / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    with empty_installation("sqlite", tmp_path, request):
        with monkeypatch.context() as full:
            full.setattr("evalsvc.core.accounts.users.end_all_access", no_room)
            with pytest.raises(CommandError, match="not complete"):
                call_command("restore", str(backup))
        with pytest.raises(CommandError, match="has 3 accounts already"):
            call_command("restore", str(other))


def test_a_backup_that_cannot_be_written_says_that_there_is_none(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is no backup in /proc/backup: "):
        back_up(Path("/proc/backup"))
