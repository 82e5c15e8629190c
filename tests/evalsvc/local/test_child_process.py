from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalsvc.local.child_process import ChildProcess
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
    message = until(part.watch, seconds=30)
    assert "exit code 3" in message
    assert str(part.log) in message
    part.restart_at = time.monotonic() + 3_600
    assert part.watch() == ""
    assert part.process is None
    part.restart_at = time.monotonic()
    assert part.watch()
    assert part.process is not None


def test_pauses_before_restarts_double_up_to_half_a_minute(child: Make) -> None:
    part = child("true")
    assert part.process
    part.process.wait()
    messages = [part._schedule_restart(-9) for _ in range(7)]
    assert [int(message.split(" s.")[0].split()[-1]) for message in messages] == [1, 2, 4, 8, 16, 30, 30]
    assert "signal SIGKILL" in messages[0]


def test_a_process_that_ignores_SIGTERM_is_killed(child: Make) -> None:
    part = child("trap '' TERM; echo ready; while true; do sleep 0.1; done")
    until(lambda: part.log.exists() and part.log.read_text() == "ready\n", seconds=30)
    part.terminate()
    part.wait_or_kill(until=time.monotonic())
    assert part.process
    assert part.process.returncode == -signal.SIGKILL
