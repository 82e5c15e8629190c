"""A process of the service: started, watched, restarted when it dies, stopped."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import IO

from evalsvc.logs import rotate

STABLE_SECONDS = 60
# With start, lease and tick, the jobs of a dead worker run again within 30 s.
MAX_PAUSE_SECONDS = 10
LOOK_SECONDS = 5
PR_SET_PDEATHSIG = 1


def stop_with_parent() -> None:
    """On Linux, terminate this process when its parent dies."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_with_parent() -> None:
    """In a fork of the supervisor: terminate with it, though it handles the signal itself."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stop_with_parent()


def children(pid: int) -> list[int]:
    """Return the child processes; none outside Linux."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_suspended(pid: int) -> bool:
    """True for a process stopped by a signal, on Linux."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


class ChildProcess:
    """Process with a log, or our own output; restarted after pauses that double."""

    def __init__(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str], log: Path | None = None
    ) -> None:
        self.name, self.command, self.env, self.log = name, list(command), dict(env), log
        self.hint = f"See {log}." if log else ""
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self.started_at = 0.0
        self.restart_at = 0.0
        self.next_look = 0.0
        self.suspended: set[int] = set()

    def start(self) -> None:
        with self._output() as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own commands
                self.command,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches the supervisor only, which stops the others in order
                preexec_fn=stop_with_parent,
            )
        self.started_at = time.monotonic()

    def _output(self) -> AbstractContextManager[IO[bytes] | None]:
        if not self.log:
            return nullcontext()
        rotate(self.log)
        return self.log.open("ab")

    def watch(self) -> str:
        """Restart after the pause; return a message on any change."""
        if self.process is not None and self.process.poll() is not None:
            return self._schedule_restart(self.process.returncode)
        if self.process is None and time.monotonic() >= self.restart_at:
            self.start()
            return f"{self.name} restarted"
        if self.process is not None and time.monotonic() >= self.next_look:
            self.next_look = time.monotonic() + LOOK_SECONDS
            return self._kill_suspended(self.process.pid)
        return ""

    def _kill_suspended(self, main: int) -> str:
        """Kill processes suspended at two looks, as they may hold locks."""
        before, self.suspended = self.suspended, {pid for pid in (main, *children(main)) if is_suspended(pid)}
        still = self.suspended & before
        if main in still:
            self.kill()
        for pid in still - {main}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return f"{self.name} was suspended, and is killed. {self.hint}".strip() if still else ""

    def kill(self) -> None:
        """Kill the process and its children, at once."""
        if self.process and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _schedule_restart(self, code: int) -> str:
        lived = time.monotonic() - self.started_at
        self.deaths = 1 if lived > STABLE_SECONDS else self.deaths + 1
        pause = min(2 ** (self.deaths - 1), MAX_PAUSE_SECONDS)
        self.restart_at = time.monotonic() + pause
        self.process = None
        reason = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{self.name} stopped ({reason}) and restarts in {pause} s. {self.hint}".strip()

    def terminate(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait_or_kill(self, *, until: float) -> None:
        """Wait for its end; kill it after `until` (monotonic seconds)."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
