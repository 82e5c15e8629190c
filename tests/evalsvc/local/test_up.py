"""`manage.py up` as a person starts it."""

from __future__ import annotations

import errno
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from evalsvc.local.startup_checks import port_of, require_free
from evalsvc.local.supervisor import Supervisor, answers
from evalsvc.management.commands.up import Command
from tests.places.workers import ROOT, environment, until

pytestmark = pytest.mark.worker
Up = Callable[..., subprocess.Popen[str]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Start the service on a folder of the test's own, without the demo."""
    started: list[subprocess.Popen[str]] = []

    def start(port: int, **env: str) -> subprocess.Popen[str]:
        told = {
            "EVALSVC_DATA": str(tmp_path / "data"),
            "DATABASE_URL": "",
            "DEMO": "0",
            "PORT": str(port),
            **env,
        }
        kept = {
            k: v for k, v in environment("", **told).items() if k not in ("DATABASE_URL", "BROKER_URL") or v
        }
        out = (tmp_path / f"up{len(started)}.out").open("w")
        started.append(
            subprocess.Popen(
                [sys.executable, "manage.py", "up"], cwd=ROOT, env=kept, stdout=out, stderr=subprocess.STDOUT
            )
        )
        out.close()
        return started[-1]

    yield start
    for one in started:
        one.kill() if one.poll() is None else None
        one.wait()


def pids(data: Path) -> list[int]:
    """Processes that run on this data folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"EVALSVC_DATA={data}".encode() in place.read_bytes():
                found.append(int(place.parent.name))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
    return found


def test_the_whole_service_starts_heals_and_stops_without_a_trace(up: Up, tmp_path: Path) -> None:
    port, data, said = free_port(), tmp_path / "data", tmp_path / "up0.out"
    service = up(port)
    until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), seconds=120, told=said.read_text)
    until(lambda: "Ctrl-C stops everything" in said.read_text(), told=said.read_text)
    assert f"http://127.0.0.1:{port}" in said.read_text()
    assert (data / "broker.url").read_text().startswith("redis+socket://")

    second = up(free_port())
    assert second.wait(120) != 0
    assert (
        f"already runs on this data folder ({data}): http://127.0.0.1:{port}"
        in (tmp_path / "up1.out").read_text()
    )

    (web,) = [pid for pid in pids(data) if parent(pid) == service.pid and b"gunicorn" in command(pid)]
    kill(web)
    until(lambda: "web is started again" in said.read_text(), told=said.read_text)
    until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), told=said.read_text)

    service.send_signal(signal.SIGINT)
    assert service.wait(120) == 0
    assert "the data is kept" in said.read_text()
    assert pids(data) == []
    assert not (data / "broker.url").exists()


def test_a_port_that_is_taken_is_said_before_anything_starts(up: Up, tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert up(port).wait(120) != 0
    said = (tmp_path / "up0.out").read_text()
    assert f"Port {port} on 127.0.0.1 can't be had" in said
    assert f"make up PORT={port + 1}" in said
    assert not (tmp_path / "data" / "logs").exists()


@pytest.mark.parametrize("port", ["harbour", "0", "65536", "80.5", "²"])
def test_a_port_that_is_none_is_said_with_what_is_one(port: str) -> None:
    with pytest.raises(CommandError, match="is no port: it is a whole number from 1 to 65535"):
        port_of(port)


def test_an_address_of_another_machine_is_said_to_be_that() -> None:
    with pytest.raises(CommandError, match=r"203\.0\.113\.7 can't be had .* HOST_ADDRESS"):
        require_free("203.0.113.7", free_port())


def test_a_port_kept_for_root_is_said_to_be_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    with pytest.raises(CommandError, match="Below 1024 only root may listen: make up PORT=8080"):
        require_free("127.0.0.1", 80)


def test_a_service_for_other_names_than_this_machines_starts_all_the_same(up: Up, tmp_path: Path) -> None:
    said = tmp_path / "up0.out"
    service = up(free_port(), ALLOWED_HOSTS="evalsvc.example.org")
    until(lambda: "Ctrl-C stops everything" in said.read_text(), seconds=120, told=said.read_text)
    service.send_signal(signal.SIGINT)
    assert service.wait(120) == 0


def test_a_database_that_does_not_answer_is_told_in_words(up: Up, tmp_path: Path) -> None:
    address = f"postgres://kim:lamp@127.0.0.1:{free_port()}/boards"
    assert up(free_port(), DATABASE_URL=address).wait(120) == 1
    said = (tmp_path / "up0.out").read_text()
    assert "The tables in the database boards can't be used: " in said
    assert "DATABASE_URL says where they are" in said
    assert "Traceback" not in said
    assert "lamp" not in said


def test_nobody_is_sent_to_a_service_that_was_stopped_while_the_demo_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = StringIO()
    service, starting = Supervisor(host="127.0.0.1", port=8000, say=print), Command(stdout=out)
    loader = subprocess.Popen(["/bin/sleep", "600"])
    monkeypatch.setattr(starting, "load_demo", lambda of: starting.wait_for(loader, of) or True)
    service.stopping.set()
    starting.greet(service, demo=True)
    assert loader.returncode == -signal.SIGTERM
    assert "the next start goes on with it" in out.getvalue()
    assert "in a browser" not in out.getvalue()


def test_who_listens_for_others_without_a_name_for_them_is_told(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
    everywhere = Supervisor(host="0.0.0.0", port=8000, say=print)
    assert everywhere.address == "http://127.0.0.1:8000"
    assert everywhere.unnamed
    assert not Supervisor(host="127.0.0.1", port=8000, say=print).unnamed
    settings.ALLOWED_HOSTS = ["evalsvc.example.org"]
    assert not everywhere.unnamed


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def kill(pid: int) -> None:
    import os

    os.kill(pid, signal.SIGKILL)
