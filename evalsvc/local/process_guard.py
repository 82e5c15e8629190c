"""Ends what is left of the service after its supervisor was killed.

Its processes are terminated by the kernel then; one that hangs or is suspended ignores that. The guard is
a small process beside the supervisor: when the pipe between them closes, it waits, then kills what still
runs. It is run as a script, without Django. Linux only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 20.0  # a polite stop takes up to 15


class ProcessGuard:
    """The guard as the supervisor sees it."""

    def __init__(self, *, grace: float = GRACE_SECONDS) -> None:
        self.grace = grace
        self.process: subprocess.Popen[bytes] | None = None
        self.sessions: set[int] = set()

    def watch(self, sessions: Iterable[int]) -> None:
        """Tell the guard which sessions to end; start it again if it is gone."""
        if not Path("/proc/self").exists():
            return
        found = set(sessions)
        is_gone = self.process is None or self.process.poll() is not None
        if found == self.sessions and (not is_gone or not found):
            return
        if is_gone:
            self._close_pipe()
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-I", "-S", __file__, str(self.grace)],
                stdin=subprocess.PIPE,
                start_new_session=True,
            )
        self.sessions = found
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(" ".join(map(str, sorted(found))).encode() + b"\n")
            self.process.stdin.flush()

    def close(self) -> None:
        """End the guard; it kills nothing that has ended."""
        self._close_pipe()
        if self.process is not None:
            self.process.wait(self.grace + 10)

    def _close_pipe(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()


def members(sessions: set[int], *, before: float) -> list[int]:
    """Return the processes of sessions that began before a time since boot, in ticks."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            state, *numbers = (folder / "stat").read_text().rpartition(")")[2].split()
            if state != "Z" and int(numbers[2]) in sessions and float(numbers[18]) <= before:
                found.append(int(folder.name))
    return found


def guard(grace: float) -> None:
    """Read sessions until the pipe closes, then end them."""
    sessions: set[int] = set()
    for line in sys.stdin:
        sessions = {int(number) for number in line.split()}
    # a later process may have the number of one that ended
    closed = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    until = time.monotonic() + grace
    while (left := members(sessions, before=closed)) and time.monotonic() < until:
        time.sleep(0.2)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    guard(float(sys.argv[1]))
