"""Backup and restore by the commands in the documents."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places.workers import ROOT

SECTION = (ROOT / "docs" / "operations.md").read_text().partition("## Backup and restore")[2]
BACKUP, RESTORE = re.findall(r"(?:^    .*\n)+", SECTION, re.MULTILINE)[:2]


def shell(lines: str, checkout: Path, **more: str) -> None:
    env = {"PATH": os.environ["PATH"], **more}
    done = subprocess.run(
        ["bash", "-e", "-c", lines], cwd=checkout, env=env, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with an environment and data, as a running service leaves it."""
    made = tmp_path / "evalsvc"
    (made / ".venv/bin").mkdir(parents=True)
    (made / ".venv/bin/python").symlink_to(sys.executable)
    (made / ".data/files").mkdir(parents=True)
    (made / ".data/files/one").write_text("predictions")
    (made / ".data/secret_key").write_text("k" * 60)
    with sqlite3.connect(made / ".data/evalsvc.sqlite3") as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE board (title text)")
        database.execute("INSERT INTO board VALUES ('Harbour')")
    return made


def backups(checkout: Path) -> list[Path]:
    return sorted(path for path in checkout.parent.iterdir() if path != checkout)


def test_a_restored_backup_has_database_files_and_key(checkout: Path) -> None:
    shell(BACKUP, checkout)
    (backup,) = backups(checkout)
    assert backup.stat().st_mode & 0o077 == 0
    (checkout / ".data").rename(checkout.parent / "lost")
    shell(RESTORE, checkout, **{"from": str(backup)})
    with sqlite3.connect(checkout / ".data/evalsvc.sqlite3") as database:
        assert database.execute("SELECT title FROM board").fetchall() == [("Harbour",)]
    assert (checkout / ".data/files/one").read_text() == "predictions"
    assert (checkout / ".data/secret_key").read_text() == "k" * 60


def test_a_backup_changes_neither_earlier_backups_nor_the_checkout(checkout: Path) -> None:
    before = sorted(path.name for path in checkout.iterdir())
    shell(BACKUP.replace("%F-%H%M%S", "first"), checkout)
    shell(BACKUP.replace("%F-%H%M%S", "second"), checkout)
    assert len(backups(checkout)) == 2
    assert sorted(path.name for path in checkout.iterdir()) == before
