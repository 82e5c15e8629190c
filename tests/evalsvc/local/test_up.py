"""Starting, watching and stopping the service with `manage.py up`."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsvc.local import supervisor as supervisor_module
from evalsvc.local.child_process import ChildProcess, children
from evalsvc.local.preparation import Installation
from evalsvc.local.startup_checks import parse_port, require_free_port
from evalsvc.local.supervisor import PROBES, Supervisor, answers, commands
from evalsvc.management.commands.up import Command
from tests.places.extent import FULL
from tests.places.rabbitmq import free_port
from tests.places.workers import ROOT, environment, until

pytestmark = pytest.mark.worker
Up = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Start the service on a folder of the test's own, without the demo."""
    started: list[subprocess.Popen[str]] = []

    def start(port: int, *, arguments: str = "up", **more: str) -> subprocess.Popen[str]:
        variables = {
            "EVALSVC_DATA": str(tmp_path / "data"),
            "DATABASE_URL": "",
            "DEMO": "0",
            "PORT": str(port),
            **more,
        }
        given = environment("", **variables)
        env = {k: v for k, v in given.items() if k not in ("DATABASE_URL", "BROKER_URL") or v}
        out = (tmp_path / f"up{len(started)}.out").open("w")
        started.append(
            subprocess.Popen(
                [sys.executable, "manage.py", *arguments.split()],
                cwd=ROOT,
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        )
        out.close()
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def pids(data: Path) -> list[int]:
    """Processes that run on this data folder."""
    result = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"EVALSVC_DATA={data}".encode() in path.read_bytes():
                result.append(int(path.parent.name))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
    return result


def test_the_whole_service_starts_recovers_and_stops_completely(up: Up, tmp_path: Path) -> None:
    """It does under another host name than that of its own checks, too."""
    port, data, output = free_port(), tmp_path / "data", tmp_path / "up0.out"
    service = up(port, LOG_FORMAT="json", ALLOWED_HOSTS="evalsvc.example.org")
    until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), seconds=120, details=output.read_text)
    until(lambda: "Ctrl-C stops everything" in output.read_text(), details=output.read_text)
    assert f"http://127.0.0.1:{port}" in output.read_text()
    assert (data / "broker.url").read_text().startswith("redis+socket://")

    second = up(free_port())
    assert second.wait(120) != 0
    assert (
        f"Already running on this data folder ({data}): http://127.0.0.1:{port}"
        in (tmp_path / "up1.out").read_text()
    )

    (web,) = [pid for pid in pids(data) if parent(pid) == service.pid and b"gunicorn" in command(pid)]
    kill(web)
    until(lambda: "web restarted" in output.read_text(), details=output.read_text)
    until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), details=output.read_text)

    service.send_signal(signal.SIGINT)
    assert service.wait(120) == 0
    assert "the data is stored" in output.read_text()
    assert pids(data) == []
    assert not (data / "broker.url").exists()
    lines = [line for log in data.glob("logs/*.log") for line in log.read_text().splitlines()]
    assert {"web", "beat"} <= {log.stem for log in data.glob("logs/*.log")}
    assert [line for line in lines if not line.startswith("{")] == []


def test_a_port_in_use_is_reported_before_anything_starts(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(CommandError, match=f"port {port} of 127.0.0.1 .* make up PORT={port + 1}"):
            call_command("up", port=port, host="127.0.0.1")
    assert [path.name for path in tmp_path.iterdir()] == ["up.lock"]


@pytest.mark.parametrize("port", ["harbour", "0", "65536", "80.5", "²"])
def test_an_invalid_port_is_rejected_with_the_valid_range(port: str) -> None:
    with pytest.raises(CommandError, match=f"{port!r}.* from 1 to 65535"):
        parse_port(port)


def test_an_address_of_another_machine_is_rejected() -> None:
    with pytest.raises(CommandError, match=r"203\.0\.113\.7 .*HOST_ADDRESS"):
        require_free_port("203.0.113.7", free_port())


def test_a_port_reserved_for_root_is_rejected_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    with pytest.raises(CommandError, match=r"1024.* make up PORT=8080"):
        require_free_port("127.0.0.1", 80)


@pytest.mark.skipif(not FULL, reason="FULL=1 starts the service a second time")
def test_a_start_on_a_full_disk_gives_a_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: Any, tmp_path: Path
) -> None:
    def no_room(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    settings.DATA_DIR = tmp_path
    monkeypatch.setattr("evalsvc.management.commands.up.lock_data_folder", no_room)
    with pytest.raises(SystemExit, check=lambda end: end.code == 1):
        Command().run_from_argv(["manage.py", "up"])
    message = f"No space left on device. Make room in the data folder, {tmp_path}, first.\n"
    assert capsys.readouterr().err.endswith(message)


def test_an_unreachable_database_gives_a_message_and_no_traceback(up: Up, tmp_path: Path) -> None:
    address = f"postgres://kim:lamp@127.0.0.1:{free_port()}/boards"
    assert up(free_port(), DATABASE_URL=address).wait(120) == 1
    output = (tmp_path / "up0.out").read_text()
    assert "database boards" in output
    assert "DATABASE_URL" in output
    assert "Traceback" not in output
    assert "lamp" not in output


def test_no_address_is_printed_for_a_service_stopped_while_the_demo_loads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = StringIO()
    service, starting = Supervisor(host="127.0.0.1", port=8000, report=print), Command(stdout=out)
    loader = subprocess.Popen(["/bin/sleep", "600"])
    monkeypatch.setattr(starting, "load_demo", lambda of: starting.wait_for(loader, of))
    service.stopping.set()
    starting.greet(service, Installation(has_accounts=False, wants_demo=True), demo=True)
    assert loader.returncode == -signal.SIGTERM
    assert "the next start resumes loading" in out.getvalue()
    assert "in a browser" not in out.getvalue()


def test_a_signal_stops_the_service_at_any_moment_of_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event is set under a lock that the interrupted wait may hold: then nothing would ever stop."""
    handlers: list[Callable[..., None]] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.append(handler))
    before = sys.gettrace()
    for moment in range(40):
        service, steps = Supervisor(host="127.0.0.1", port=8000, report=print), iter(range(1000))
        service.install_signal_handlers()

        def interrupt(*_: object, moment: int = moment, steps: Iterator[int] = steps) -> Any:
            if next(steps) == moment:
                handlers[-1](signal.SIGTERM, None)
            return interrupt

        sys.settrace(interrupt)
        service.stopping.wait(0.01)
        sys.settrace(before)


def test_a_service_reachable_only_under_unknown_host_names_is_detected(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
    everywhere = Supervisor(host="0.0.0.0", port=8000, report=print)
    assert everywhere.address == "http://127.0.0.1:8000"
    assert everywhere.hides_host_names
    assert not Supervisor(host="127.0.0.1", port=8000, report=print).hides_host_names
    settings.ALLOWED_HOSTS = ["evalsvc.example.org"]
    assert not everywhere.hides_host_names


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor whose processes only sleep."""
    service = Supervisor(host="127.0.0.1", port=8000, report=print)
    for name in commands(host="127.0.0.1", port=8000):
        service.children.append(ChildProcess(name, ["/bin/sleep", "600"], env={}, log=tmp_path / name))
        service.children[-1].start()
    yield service
    for child in service.children:
        child.kill()
        child.wait_or_kill(until=0)


@pytest.mark.parametrize("hung", ["web", "worker", "heavy", "beat"])
def test_a_process_that_gives_no_answer_for_many_probes_is_killed(
    monkeypatch: pytest.MonkeyPatch, supervised: Supervisor, hung: str
) -> None:
    monkeypatch.setattr(supervisor_module, "answers", lambda url, **_: hung != "web")
    alive = {f"{name}@{socket.gethostname()}" for name in PROBES if name != hung}
    monkeypatch.setattr(supervised, "answering", lambda nodes: [*alive.intersection(nodes)])
    for _ in range(PROBES[hung] - 1):
        supervised.probe()
    assert not any(child.process.poll() for child in supervised.children if child.process)
    supervised.probe()
    (child,) = [child for child in supervised.children if child.name == hung]
    assert child.process
    assert child.process.wait(120) == -signal.SIGKILL
    assert not any(
        child.process.poll() for child in supervised.children if child.process and child.name != hung
    )


def test_nobody_is_killed_while_the_broker_gives_no_answer(
    monkeypatch: pytest.MonkeyPatch, supervised: Supervisor, settings: Any
) -> None:
    monkeypatch.setattr(supervisor_module, "answers", lambda url, **_: True)
    monkeypatch.setattr(supervisor_module, "ANSWER_SECONDS", 0.1)
    supervised.broker = SimpleNamespace(url=f"redis://127.0.0.1:{free_port()}/0")  # type: ignore[assignment]
    assert supervised.silent_parts() == set()


def test_a_supervised_part_is_replaced_and_logs_to_the_output(up: Up, tmp_path: Path) -> None:
    beat = up(free_port(), arguments="supervise beat", REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")
    output = tmp_path / "up0.out"
    until(lambda: "celery.beat: beat" in output.read_text(), details=output.read_text)
    (child,) = [pid for pid in children(beat.pid) if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    kill(child)
    until(lambda: "beat restarted" in output.read_text(), details=output.read_text)
    beat.terminate()
    assert beat.wait(120) == 0
    assert pids(tmp_path / "data") == []
