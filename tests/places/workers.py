"""A real worker process on the test's database and broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connections

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


def database_url() -> str:
    """Address of the test's database, for another process."""
    entry = connections["default"].settings_dict
    if "sqlite3" in entry["ENGINE"]:
        return f"sqlite:///{entry['NAME']}"
    person = f"{entry['USER']}:{quote(entry['PASSWORD'], safe='')}@" if entry["USER"] else ""
    port = f":{entry['PORT']}" if entry["PORT"] else ""
    options = urlencode(entry["OPTIONS"])
    return f"postgres://{person}{entry['HOST']}{port}/{entry['NAME']}?{options}"


def environment(broker_url: str, **more: str) -> dict[str, str]:
    """Environment of a service process on the test's database."""
    variables = {
        "DJANGO_SETTINGS_MODULE": "evalsvc.settings",
        "EVALSVC_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
        "BROKER_URL": broker_url,
        "PYTHONWARNINGS": "default",
    }
    return {**os.environ, **variables, **more}


class Worker:
    """`celery -A <app> worker --beat`; a failed start shows its log."""

    def __init__(self, app: str, *, broker_url: str, log: Path, concurrency: int = 1, **env: str) -> None:
        self.log = log
        queues = ",".join(settings.JOB_QUEUES)
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "--loglevel", "INFO", "-Q", queues]
        command += ["--concurrency", str(concurrency), "--beat", "--schedule", str(log.with_suffix(".beat"))]
        command += ["--hostname", f"{log.stem}@test", "--without-gossip", "--without-mingle"]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(broker_url, **env),
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def wait_until_ready(self) -> Worker:
        until(self.ready, seconds=START_SECONDS, details=self.log_text)
        return self

    def ready(self) -> bool:
        assert self.process.poll() is None, f"the worker stopped\n{self.log_text()[-6000:]}"
        return b" ready." in self.log.read_bytes()

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL parent and children, as a power failure would."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._wait_for_children()

    def _wait_for_children(self) -> None:
        """Wait until no child is left that could still commit into the next test."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)

    def stop(self) -> None:
        """SIGTERM, as a deployment does; SIGKILL if that is ignored."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.wait()


def until(condition: Callable[[], Any], *, seconds: float = 120, details: Callable[[], str] = str) -> Any:
    """Wait until the condition is true and return its value; a timeout shows the details."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s\n{details()[-6000:]}"
        time.sleep(0.1)
    return value
