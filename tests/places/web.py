"""A real web server process on the test's database."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

from evalsvc.local.supervisor import answers, commands
from tests.places.workers import ROOT, environment, until

START_SECONDS = 120


class Web:
    """gunicorn as the service starts it, with one worker process."""

    def __init__(self, *, broker_url: str, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        command = commands(host="127.0.0.1", port=port)["web"]
        command[command.index("--workers") + 1] = "1"
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment(broker_url), stdout=out, stderr=out
            )

    def wait_until_ready(self) -> Web:
        until(lambda: answers(f"{self.url}/healthz"), seconds=START_SECONDS, details=self.log_text)
        return self

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def megabytes(self, name: str) -> float:
        """`VmRSS` (now) or `VmHWM` (peak) of the worker process."""
        status = Path(f"/proc/{self._worker_pid()}/status").read_text().splitlines()
        (line,) = [line for line in status if line.startswith(f"{name}:")]
        return int(line.split()[1]) / 1024

    def reset_peak(self) -> None:
        """Reset `VmHWM`."""
        Path(f"/proc/{self._worker_pid()}/clear_refs").write_text("5")

    def _worker_pid(self) -> int:
        pid = self.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
