"""A data folder of another build is rejected before anything in it is changed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places.workers import ROOT

PREPARE = """
import django
django.setup()
from django.core.management import CommandError
from evalsvc.local.startup_checks import prepare
try:
    prepare()
except CommandError as error:
    raise SystemExit(str(error))
"""


def prepared(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the preparation of `make up` in a process of its own."""
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(folder), "LOG_LEVEL": "WARNING"}
    env |= {"DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    command = [sys.executable, "-c", PREPARE]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as this build makes it, copied by the tests."""
    folder = tmp_path_factory.mktemp("made")
    done = prepared(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    copy.mkdir()
    for name in ("tables.json", "secret_key", "static.stamp"):
        (copy / name).write_bytes((made / name).read_bytes())
    with (
        sqlite3.connect(made / "evalsvc.sqlite3") as whole,
        sqlite3.connect(copy / "evalsvc.sqlite3") as other,
    ):
        whole.backup(other)
    (copy / "static").symlink_to(made / "static")
    return copy


def changed(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "evalsvc.sqlite3") as database:
        database.execute(statement)


def dumped(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "evalsvc.sqlite3") as database:
        return list(database.iterdump())


def test_a_data_folder_of_this_build_is_accepted(folder: Path) -> None:
    assert prepared(folder).returncode == 0


@pytest.mark.parametrize(
    ("statement", "difference"),
    [
        (
            "ALTER TABLE evaluation_benchmark DROP COLUMN summary",
            "table evaluation_benchmark has no column summary",
        ),
        (
            "ALTER TABLE annotation_project ADD COLUMN colour text",
            "table annotation_project has an unknown column colour",
        ),
        ("DROP TABLE teams_passwordtry", "table teams_passwordtry is missing"),
        (
            "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '0099_later', '2026-01-01')",
            "migration jobs.0099_later is applied",
        ),
    ],
)
def test_tables_of_another_build_are_rejected_with_alternatives(
    folder: Path, statement: str, difference: str
) -> None:
    changed(folder, statement)
    before = dumped(folder)
    refused = prepared(folder)
    assert refused.returncode == 1
    assert f"{folder} " in refused.stderr
    assert difference in refused.stderr
    assert "EVALSVC_DATA=FOLDER make up" in refused.stderr
    assert "manage.py export" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert dumped(folder) == before


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_truncated_digest_file_does_not_prevent_a_start(folder: Path, text: str) -> None:
    (folder / "tables.json").write_text(text)
    again = prepared(folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert "jobs.0001_initial" in (folder / "tables.json").read_text()


def test_a_changed_migration_is_rejected(folder: Path) -> None:
    stamp = folder / "tables.json"
    text = stamp.read_text()
    at = text.index('"jobs.0001_initial": "') + len('"jobs.0001_initial": "')
    stamp.write_text(text[:at] + "0" * 64 + text[at + 64 :])
    refused = prepared(folder)
    assert refused.returncode == 1
    assert "jobs.0001_initial" in refused.stderr
