"""Command output on errors, and when the reader of a pipe goes away."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError

from evalsvc.management.commands._base import open_file
from tests.places.workers import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with tables, one account and one published test set."""
    made = tmp_path_factory.mktemp("data")
    assert run(made, "migrate").returncode == 0
    kim = ("createsuperuser", "--noinput", "--username", "root", "--email", "root@example.org")
    assert run(made, *kim, DJANGO_SUPERUSER_PASSWORD="harbour-lamp-7").returncode == 0
    key = made / "key.txt"
    key.write_text("".join(f"{n}\tCause-Effect(e1,e2)\n" for n in range(1, 3_001)))
    done = run(made, "import_gold", key, "--name", "Key", "--set-version", "1")
    assert done.returncode == 0, done.stderr
    return made


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(folder), **more}


def run(folder: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *map(str, words)]
    env = environment(folder, **more)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def test_a_job_run_by_a_command_logs_nothing(folder: Path) -> None:
    key = folder / "other.txt"
    key.write_text("1\tOther\n")
    done = run(folder, "import_gold", key, "--name", "Other", "--set-version", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "import: done" in done.stdout
    described = run(folder, "describe", "other-1", LOG_LEVEL="INFO")
    assert "sha256" in described.stdout


def test_a_closed_pipe_gives_no_traceback(folder: Path) -> None:
    shell = f"set -o pipefail; {sys.executable} manage.py export key-1 | head -1"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=120
    )
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (141, "")


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
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


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
    done = run(tmp_path, "describe", "key-1")
    assert done.returncode == 1
    assert done.stderr.startswith(f"No tables in the data folder {tmp_path}")
