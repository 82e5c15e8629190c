"""What the environment may say; what makes no sense ends the start with one sentence."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsvc import environment
from tests.places.workers import ROOT


def run(folder: object, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(folder), **more}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DEBUG", "maybe", "DEBUG='maybe' is not a switch. Use true or false."),
        ("UPLOAD_MAX_LINES", "²", "UPLOAD_MAX_LINES='²' is not a whole number of at least 1."),
        ("LOG_LEVEL", "loud", "LOG_LEVEL='LOUD' is none of DEBUG, INFO, WARNING, ERROR."),
        ("STORAGE_OPTIONS", "bucket", "STORAGE_OPTIONS='bucket' is no JSON object"),
        ("STORAGE_OPTIONS", "[1]", "STORAGE_OPTIONS='[1]' is no JSON object"),
        ("DATABASE_URL", "harbour", "DATABASE_URL is no address of a PostgreSQL"),
        ("DATABASE_URL", "mysql://kim:lamp@h/n", "DATABASE_URL is no address of a PostgreSQL"),
        ("DATABASE_URL", "postgres://kim:la/mp@h/n", "DATABASE_URL is no address of a PostgreSQL"),
        ("EMAIL_URL", "pigeon://kim:lamp@h", "EMAIL_URL is no address of a mail server"),
        ("SECRET_KEY", "short", "SECRET_KEY is shorter than 50 characters"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_in_one_line(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    done = run(tmp_path, "check", **{name: value})
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert "lamp" not in done.stderr


def test_somebody_who_asks_sees_where_the_start_stopped(tmp_path: Path) -> None:
    assert "Traceback" in run(tmp_path, "check", "--traceback", DEBUG="maybe").stderr


def test_a_data_folder_that_is_a_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    done = run(tmp_path / "data", "up")
    assert done.returncode == 1
    assert done.stderr.startswith(f"The data folder {tmp_path}/data can't be used (it is a file).")
    assert "EVALSVC_DATA" in done.stderr


def test_a_data_folder_without_the_right_to_write_is_told_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_DATA", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ImproperlyConfigured, match=f"user {os.getuid()} the right to write"):
        environment.env_folder("EVALSVC_DATA", default=tmp_path)


def test_a_data_folder_that_cannot_be_made_is_told_before_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSVC_DATA", "/proc/evalsvc")
    with pytest.raises(ImproperlyConfigured, match="The data folder /proc/evalsvc can't be used"):
        environment.env_folder("EVALSVC_DATA", default=Path("/proc"))


# ---- the key ---------------------------------------------------------------------------------------
MAKE = "import sys; from pathlib import Path; from evalsvc.environment import secret_key\nsys.stdin.read(1)\n"
MAKE += "print(secret_key(Path(sys.argv[1])))"


def test_processes_that_start_first_at_once_have_the_same_key(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"]}
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE, str(tmp_path)],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for maker in makers:
        assert maker.stdin
        maker.stdin.write("g")
        maker.stdin.flush()
    keys = {maker.communicate(timeout=120)[0].strip() for maker in makers}
    assert keys == {(tmp_path / "secret_key").read_text()}


def test_whoever_finds_a_file_without_a_key_yet_waits_for_the_one_who_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start made the file and has not written into it; while this one waits it does."""
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path, key = tmp_path / "secret_key", "k" * 60
    path.touch(mode=0o600)
    monkeypatch.setattr("fcntl.flock", lambda *_: path.write_text(key))
    assert environment.secret_key(tmp_path) == key
    assert path.read_text() == key


def test_the_key_is_its_owners_alone_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    key = environment.secret_key(tmp_path)
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert len(key) >= environment.KEY_LENGTH
    assert environment.secret_key(tmp_path) == key


def test_a_key_cut_short_on_the_disk_is_refused_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "secret_key").write_text("cut")
    with pytest.raises(ImproperlyConfigured, match=f"The key in {tmp_path}/secret_key is shorter than 50"):
        environment.secret_key(tmp_path)


# ---- HTTPS -----------------------------------------------------------------------------------------
SAY = "from django.conf import settings as s; print(s.SECURE_HSTS_SECONDS, s.SECURE_HSTS_INCLUDE_SUBDOMAINS, "
SAY += "s.SECURE_HSTS_PRELOAD)"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "31536000 False False"),
        ({"HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}, "31536000 True True"),
    ],
)
def test_only_who_asks_binds_the_hosts_beside_this_one_to_https(
    tmp_path: Path, asked: dict[str, str], told: str
) -> None:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(tmp_path), "EVALSVC_HTTPS": "true", **asked}
    env |= {"SECRET_KEY": "k1" * 30, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    done = subprocess.run(
        [sys.executable, "-c", SAY], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == told, done.stderr
