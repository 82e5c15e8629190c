"""A data folder of another build is rejected before anything in it is changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from evalsvc.local.preparation import prepare, static_digest
from evalsvc.local.schema_check import store_digests
from tests.places.tables import copy_sqlite, default_is


@pytest.fixture(scope="module")
def static() -> str:
    return static_digest()


@pytest.fixture
def folder(tmp_path: Path, settings: Any, django_db_blocker: Any, static: str) -> Iterator[Path]:
    """A data folder as this build makes it."""
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "files"
    (tmp_path / "static.stamp").write_text(static)  # no need to collect the files
    with django_db_blocker.unblock():
        copy_sqlite(tmp_path / "evalsvc.sqlite3")
        with default_is({"NAME": str(tmp_path / "evalsvc.sqlite3")}):
            store_digests()
            yield tmp_path


def changed(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "evalsvc.sqlite3") as database:
        database.execute(statement)


def dumped(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "evalsvc.sqlite3") as database:
        return list(database.iterdump())


def test_a_data_folder_of_this_build_is_accepted(folder: Path) -> None:
    before = dumped(folder)
    prepare()
    assert dumped(folder) == before


def test_a_migration_that_was_interrupted_in_its_last_step_is_completed(folder: Path) -> None:
    digests = json.loads((folder / "tables.json").read_text())
    before = dumped(folder)
    changed(folder, "DELETE FROM auth_permission")
    (folder / "tables.json").write_text(json.dumps(dict(list(digests.items())[:-1])))
    prepare()
    assert len(dumped(folder)) == len(before)
    assert json.loads((folder / "tables.json").read_text()) == digests


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
    with pytest.raises(CommandError) as refused:
        prepare()
    for text in (f"{folder} ", difference, "EVALSVC_DATA=FOLDER make up", "manage.py export"):
        assert text in str(refused.value)
    assert dumped(folder) == before


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_truncated_digest_file_does_not_prevent_a_start(folder: Path, text: str) -> None:
    (folder / "tables.json").write_text(text)
    prepare()
    assert "jobs.0001_initial" in (folder / "tables.json").read_text()


def test_a_changed_migration_is_rejected(folder: Path) -> None:
    stamp = folder / "tables.json"
    text = stamp.read_text()
    at = text.index('"jobs.0001_initial": "') + len('"jobs.0001_initial": "')
    stamp.write_text(text[:at] + "0" * 64 + text[at + 64 :])
    with pytest.raises(CommandError, match=r"jobs\.0001_initial"):
        prepare()


def test_a_migration_of_a_library_may_have_another_text(folder: Path) -> None:
    stamp = folder / "tables.json"
    digests = json.loads(stamp.read_text())
    stamp.write_text(json.dumps(digests | {"sessions.0001_initial": "0" * 64}))
    prepare()
