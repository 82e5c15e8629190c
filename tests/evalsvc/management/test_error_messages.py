"""Command output on errors, and when the reader of a pipe goes away."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from evalsvc.core.accounts.models import User
from evalsvc.management.commands._base import open_file
from tests.places.tables import copy_sqlite, default_is
from tests.places.workers import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Path:
    """A data folder with tables and one account."""
    made = tmp_path_factory.mktemp("data")
    with django_db_blocker.unblock():
        copy_sqlite(made / "evalsvc.sqlite3")
        with default_is({"NAME": str(made / "evalsvc.sqlite3")}):
            User.objects.create_superuser("root")
    return made


@pytest.fixture(scope="module")
def imported(folder: Path) -> subprocess.CompletedProcess[str]:
    """The output of the command that imported the test set key-1 into the folder."""
    key = folder / "key.txt"
    key.write_text("".join(f"{n}\tCause-Effect(e1,e2)\n" for n in range(1, 3_001)))
    return run(folder, f"{sys.executable} manage.py import_gold {key} --name Key --set-version 1")


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(folder)}
    shell = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(shell, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def fail(folder: Path, *words: str) -> str:
    """Run a command that fails; return its message.

    In a process of its own: a command sets up logging, which closes the handlers of this one.
    """
    done = run(folder, shlex.join([sys.executable, "manage.py", *words]))
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_a_job_run_by_a_command_logs_nothing(imported: subprocess.CompletedProcess[str]) -> None:
    assert (imported.returncode, imported.stderr) == (0, "")
    assert "import: done" in imported.stdout


@pytest.mark.usefixtures("imported")
def test_a_closed_pipe_gives_no_traceback(folder: Path) -> None:
    done = run(folder, f"{sys.executable} manage.py export key-1 | head -1")
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "nowhere"), "There is no test set 'nowhere'."),
        (("import_items", "nowhere", "manage.py"), "There is no project 'nowhere'."),
        (("submit", "nowhere", "x", "--team", "t", "--system", "s"), "There is no benchmark 'nowhere'."),
        (("create_project", "P", "--guideline", sys.executable), f"{sys.executable} is not UTF-8 text"),
        (("export", "key-1", "-o", "/proc/no/such"), "Cannot write /proc/no/such"),
        (("import_gold", "no-file", "--name", "N", "--set-version", "1"), "There is no file no-file."),
    ],
)
def test_a_missing_object_gives_a_one_line_message(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    output = fail(folder, *arguments)
    assert output.startswith(message)
    assert output.count("\n") == 1


def test_an_unreadable_file_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "votes.jsonl").touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything
    with pytest.raises(CommandError, match=r"votes\.jsonl \(Permission denied\)"):  # noqa: SIM117
        with open_file(str(tmp_path / "votes.jsonl")):
            pass


def test_without_tables_a_command_names_the_data_folder(tmp_path: Path) -> None:
    output = fail(tmp_path, "describe", "key-1")
    assert output.startswith(f"No tables in the data folder {tmp_path}")
