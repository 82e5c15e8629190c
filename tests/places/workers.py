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
    """Where the test's own connection leads, for another process."""
    entry = connections["default"].settings_dict
    if "sqlite3" in entry["ENGINE"]:
        return f"sqlite:///{entry['NAME']}"
    person = f"{entry['USER']}:{quote(entry['PASSWORD'], safe='')}@" if entry["USER"] else ""
    port = f":{entry['PORT']}" if entry["PORT"] else ""
    options = urlencode(entry["OPTIONS"])
    return f"postgres://{person}{entry['HOST']}{port}/{entry['NAME']}?{options}"


def environment(broker_url: str, **more: str) -> dict[str, str]:
    """What a process of the service needs to work beside the test."""
    told = {
        "DJANGO_SETTINGS_MODULE": "evalsvc.settings",
        "EVALSVC_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
        "BROKER_URL": broker_url,
        "PYTHONWARNINGS": "default",
    }
    return {**os.environ, **told, **more}


class Worker:
    """`celery -A <app> worker` with its clock inside; the log is shown when it doesn't come up."""

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
        until(self.ready, seconds=START_SECONDS, told=self.told)
        return self

    def ready(self) -> bool:
        assert self.process.poll() is None, f"the worker stopped\n{self.told()[-6000:]}"
        return b" ready." in self.log.read_bytes()

    def told(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL, the parent and its children: power gone."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, as a deployment does it; SIGKILL for one that doesn't hear."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.wait()


def until(met: Callable[[], Any], *, seconds: float = 60, told: Callable[[], str] = str) -> Any:
    """Wait for something to come true and hand it back; the failure shows what was told meanwhile."""
    end = time.monotonic() + seconds
    while not (found := met()):
        assert time.monotonic() < end, f"not within {seconds} s\n{told()[-6000:]}"
        time.sleep(0.1)
    return found
