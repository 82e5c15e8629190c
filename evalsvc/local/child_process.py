"""One process of the service: started, watched, started again when it dies, stopped."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsvc.local.embedded_broker import die_with_parent

LOG_BYTES_MAX = 10_000_000
CALM_SECONDS = 60
LONGEST_PAUSE_SECONDS = 30


class Child:
    """Its output goes to `log`; a child that keeps dying is started again after ever longer pauses."""

    def __init__(self, name: str, command: Sequence[str], *, env: Mapping[str, str], log: Path) -> None:
        self.name, self.command, self.env, self.log = name, list(command), dict(env), log
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self.started = 0.0
        self.due = 0.0

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES_MAX:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own commands
                self.command,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the supervisor alone: it stops the others in order
                preexec_fn=die_with_parent,
            )
        self.started = time.monotonic()

    def watch(self) -> str:
        """Start it again when it died and its pause is over; what there is to say about that, or ''."""
        if self.process is not None and self.process.poll() is not None:
            return self._died(self.process.returncode)
        if self.process is None and time.monotonic() >= self.due:
            self.start()
            return f"{self.name} is started again"
        return ""

    def _died(self, code: int) -> str:
        lived = time.monotonic() - self.started
        self.deaths = 1 if lived > CALM_SECONDS else self.deaths + 1
        pause = min(2 ** (self.deaths - 1), LONGEST_PAUSE_SECONDS)
        self.due = time.monotonic() + pause
        self.process = None
        return f"{self.name} stopped ({ending(code)}); it starts again in {pause} s. See {self.log}"

    def tell_to_stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait_or_kill(self, *, until: float) -> None:
        """Wait for its end; after `until` (monotonic) end it the hard way."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def ending(code: int) -> str:
    """A return code in words."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
