from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalsvc.local.child_process import Child, ending
from tests.places.workers import until

Make = Callable[[str], Child]


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Make]:
    made: list[Child] = []

    def make(script: str) -> Child:
        made.append(Child("part", ["/bin/sh", "-c", script], env={}, log=tmp_path / "logs" / "part.log"))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.tell_to_stop()
        one.wait_or_kill(until=time.monotonic())


def test_what_it_says_goes_to_its_log(child: Make) -> None:
    part = child("echo words; echo faults >&2")
    assert part.process
    part.process.wait()
    assert part.log.read_text() == "words\nfaults\n"


def test_one_that_dies_is_told_of_and_started_again_after_a_pause(child: Make) -> None:
    part = child("exit 3")
    told = until(part.watch, seconds=30)
    assert told.startswith("part stopped (exit code 3); it starts again in 1 s.")
    part.due = time.monotonic() + 3_600
    assert part.watch() == ""
    part.due = time.monotonic()
    assert part.watch() == "part is started again"


def test_one_that_keeps_dying_is_started_ever_later_but_within_half_a_minute(child: Make) -> None:
    part = child("true")
    assert part.process
    part.process.wait()
    assert [part._died(1).split("again in ")[1].split(".")[0] for _ in range(7)] == [
        "1 s",
        "2 s",
        "4 s",
        "8 s",
        "16 s",
        "30 s",
        "30 s",
    ]


def test_one_that_does_not_hear_is_ended(child: Make) -> None:
    part = child("trap '' TERM; echo ready; while true; do sleep 0.1; done")
    until(lambda: part.log.exists() and part.log.read_text() == "ready\n", seconds=30)
    part.tell_to_stop()
    part.wait_or_kill(until=time.monotonic())
    assert part.process
    assert part.process.returncode == -signal.SIGKILL


def test_an_end_is_put_into_words() -> None:
    assert (ending(1), ending(-9)) == ("exit code 1", "signal SIGKILL")
