from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalsvc.local import child_process
from evalsvc.local.child_process import ChildProcess
from evalsvc.local.startup_checks import lock_data_folder
from tests.places.workers import until

Make = Callable[[str], ChildProcess]


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Make]:
    started: list[ChildProcess] = []

    def make(script: str) -> ChildProcess:
        started.append(
            ChildProcess("part", ["/bin/sh", "-c", script], env={}, log=tmp_path / "logs" / "part.log")
        )
        started[-1].start()
        return started[-1]

    yield make
    for each in started:
        each.terminate()
        each.wait_or_kill(until=time.monotonic())


def test_output_and_errors_go_to_the_log(child: Make) -> None:
    part = child("echo words; echo faults >&2")
    assert part.process
    part.process.wait()
    assert part.log.read_text() == "words\nfaults\n"


def test_a_process_that_dies_is_reported_and_restarted_after_a_pause(child: Make) -> None:
    part = child("exit 3")
    message = until(part.watch)
    assert "exit code 3" in message
    assert str(part.log) in message
    part.restart_at = time.monotonic() + 3_600
    assert part.watch() == ""
    assert part.process is None
    part.restart_at = time.monotonic()
    assert part.watch()
    assert part.process is not None


def test_pauses_before_restarts_double_up_to_ten_seconds(child: Make) -> None:
    part = child("true")
    assert part.process
    part.process.wait()
    messages = [part._schedule_restart(-9) for _ in range(7)]
    assert [int(message.split(" s.")[0].split()[-1]) for message in messages] == [1, 2, 4, 8, 10, 10, 10]
    assert "signal SIGKILL" in messages[0]


@pytest.mark.parametrize("main", [True, False])
def test_a_suspended_process_is_killed_at_the_second_look(
    child: Make, monkeypatch: pytest.MonkeyPatch, main: bool
) -> None:
    monkeypatch.setattr(child_process, "LOOK_SECONDS", 0)
    part = child("sleep 600 & wait; exit 3")
    assert part.process
    (inner,) = until(lambda: child_process.children(part.process.pid))
    pid = part.process.pid if main else inner
    os.kill(pid, signal.SIGSTOP)
    until(lambda: child_process.is_suspended(pid))
    assert part.watch() == ""
    assert "was suspended, and is killed" in part.watch()
    reason = "signal SIGKILL" if main else "exit code 3"
    assert reason in until(part.watch)


def test_a_process_that_ignores_SIGTERM_is_killed(child: Make) -> None:
    part = child("trap '' TERM; echo ready; while true; do sleep 0.1; done")
    until(lambda: part.log.exists() and part.log.read_text() == "ready\n")
    part.terminate()
    part.wait_or_kill(until=time.monotonic())
    assert part.process
    assert part.process.returncode == -signal.SIGKILL


FORKING = """
import os, signal, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from evalsvc.local.child_process import end_with_parent
from evalsvc.local.startup_checks import lock_data_folder

signal.signal(signal.SIGTERM, lambda *_: None)
with lock_data_folder(Path(sys.argv[1]), "http://here"):
    with ProcessPoolExecutor(1, get_context("fork"), initializer=end_with_parent) as process:
        print(process.submit(os.getpid).result(), flush=True)
        signal.pause()
"""


def test_a_fork_of_a_killed_supervisor_leaves_the_data_folder_unlocked(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout
        fork = Path("/proc", supervisor.stdout.readline().strip())
        supervisor.kill()
    until(lambda: not fork.exists())
    with lock_data_folder(tmp_path, "http://there"):
        pass
