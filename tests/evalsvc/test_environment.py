"""Environment variables; an invalid value prevents the start with a message."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils.module_loading import import_string

from evalsvc import environment
from evalsvc.core.web.views import COOKIE, MessageCookie
from tests.places.configuration import settings_with
from tests.places.workers import ROOT


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("DEBUG", "maybe", "'maybe'"),
        ("UPLOAD_MAX_LINES", "²", "at least 1."),
        ("LOG_LEVEL", "loud", "DEBUG, INFO, WARNING, ERROR"),
        ("STORAGE_OPTIONS", "bucket", "'bucket'"),
        ("STORAGE_OPTIONS", "[1]", "'[1]'"),
        ("DATABASE_URL", "harbour", "postgres://"),
        ("DATABASE_URL", "mysql://kim:lamp@h/n", "postgres://"),
        ("DATABASE_URL", "postgres://kim:la/mp@h/n", "%2F"),
        ("EMAIL_URL", "pigeon://kim:lamp@h", "smtp://"),
        ("SECRET_KEY", "short", "50"),
    ],
)
def test_an_invalid_value_gives_one_line_that_names_it(
    tmp_path: Path, name: str, value: str, shown: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as error:
        settings_with(tmp_path, **{name: value})
    message = str(error.value)
    assert message.startswith(name)
    assert shown in message
    assert "\n" not in message
    assert "lamp" not in message


@pytest.mark.parametrize("options", [[], ["--traceback"]])
def test_a_command_prints_one_line_and_on_request_a_traceback(tmp_path: Path, options: list[str]) -> None:
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(tmp_path), "DEBUG": "maybe"}
    command = [sys.executable, "manage.py", "check", *options]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) == (done.stderr.count("\n") > 1) == bool(options)


def test_a_data_folder_that_is_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(ImproperlyConfigured, match=r"/data \(it is a file\).*EVALSVC_DATA"):
        settings_with(tmp_path / "data")


def test_a_read_only_data_folder_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSVC_DATA", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ImproperlyConfigured, match=f"user {os.getuid()} write permission"):
        environment.env_folder("EVALSVC_DATA", default=tmp_path)


def test_a_data_folder_that_cannot_be_created_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSVC_DATA", "/proc/evalsvc")
    with pytest.raises(ImproperlyConfigured, match="data folder /proc/evalsvc"):
        environment.env_folder("EVALSVC_DATA", default=Path("/proc"))


# ---- the key ---------------------------------------------------------------------------------------
MAKE = "import sys; from pathlib import Path; from evalsvc.environment import secret_key\nsys.stdin.read(1)\n"
MAKE += "print(secret_key(Path(sys.argv[1])))"


def test_processes_started_at_once_share_one_key(tmp_path: Path) -> None:
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


def test_a_process_waits_for_another_that_writes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process created the file and writes the key while this one waits."""
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path, key = tmp_path / "secret_key", "k" * 60
    path.touch(mode=0o600)
    monkeypatch.setattr("fcntl.flock", lambda *_: path.write_text(key))
    assert environment.secret_key(tmp_path) == key
    assert path.read_text() == key


def test_the_key_is_private_and_permanent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    key = environment.secret_key(tmp_path)
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert len(key) >= environment.KEY_LENGTH
    assert environment.secret_key(tmp_path) == key


def test_a_truncated_key_is_rejected_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "secret_key").write_text("cut")
    with pytest.raises(ImproperlyConfigured, match=f"The key in {tmp_path}/secret_key is .* at least 50"):
        environment.secret_key(tmp_path)


def test_passwords_are_stored_by_pbkdf2_of_600000_rounds_or_more(tmp_path: Path) -> None:
    (hasher,) = settings_with(tmp_path)["PASSWORD_HASHERS"]
    assert import_string(hasher).algorithm == "pbkdf2_sha256"
    assert import_string(hasher).iterations >= 600_000


# ---- HTTPS -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (31_536_000, False, False)),
        ({"HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}, (31_536_000, True, True)),
    ],
)
def test_hsts_binds_other_hosts_only_on_request(
    tmp_path: Path, variables: dict[str, str], expected: tuple[int, bool, bool]
) -> None:
    values = settings_with(tmp_path, EVALSVC_HTTPS="true", SECRET_KEY="k1" * 30, **variables)
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")
    assert tuple(values[name] for name in names) == expected


def test_cookies_are_for_this_host_over_https_alone(tmp_path: Path) -> None:
    values = settings_with(tmp_path, EVALSVC_HTTPS="true", SECRET_KEY="k1" * 30)
    for kind in ("SESSION", "CSRF"):
        assert values[f"{kind}_COOKIE_NAME"].startswith("__Host-")
        assert values[f"{kind}_COOKIE_SECURE"]
        assert not {f"{kind}_COOKIE_DOMAIN", f"{kind}_COOKIE_PATH"} & set(values)  # as the prefix requires
    prefixed = (f"{settings.COOKIE_PREFIX}shown_once", f"{settings.COOKIE_PREFIX}messages")
    assert (COOKIE, MessageCookie.cookie_name) == prefixed
    assert settings_with(tmp_path)["SESSION_COOKIE_NAME"] == "sessionid"


@pytest.mark.parametrize(
    ("address", "proto", "status"),
    [("/api/v1/limits", "http", 403), ("/api/v1/limits", "https", 401), ("/login/", "http", 301)],
)
def test_over_plain_http_pages_are_redirected_and_the_api_is_refused(
    client: Client, settings: Any, db: None, address: str, proto: str, status: int
) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_PROXY_SSL_HEADER = True, ("HTTP_X_FORWARDED_PROTO", "https")
    response = client.get(address, headers={"X-Forwarded-Proto": proto})
    assert response.status_code == status
    if status == 403:
        assert response.json()["code"] == "https_required"


def test_a_new_data_folder_is_closed_to_other_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVALSVC_DATA", raising=False)
    folder = environment.env_folder("EVALSVC_DATA", default=tmp_path / "data")
    assert environment.is_private(folder)


def test_an_open_data_folder_is_closed_and_a_shared_one_left_alone(tmp_path: Path) -> None:
    mine, shared = tmp_path / "mine", tmp_path / "shared"
    for folder, mode in ((mine, 0o755), (shared, 0o1777)):
        folder.mkdir()
        folder.chmod(mode)
        environment.make_private(folder)
    assert environment.is_private(mine)
    assert not environment.is_private(shared)


def test_files_of_the_service_are_for_its_user_alone(tmp_path: Path) -> None:
    code = "import evalsvc.settings, pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    env = {**os.environ, "EVALSVC_DATA": str(tmp_path / "data"), "DATABASE_URL": ""}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], env=env, check=True, umask=0o022)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_https_and_debug_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="DEBUG"):
        settings_with(tmp_path, EVALSVC_HTTPS="true", DEBUG="true", SECRET_KEY="0123456789" * 6)
