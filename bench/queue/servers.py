"""PostgreSQL that syncs every commit, and gunicorn as the service starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from tests.places.postgres import Cluster


class SyncedCluster(Cluster):
    """A temporary server with PostgreSQL's default settings: fsync is on."""

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=120"
        data, log = f"{self.folder}/data", f"{self.folder}/log"
        self.run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)

    def address(self, database: str) -> str:
        return f"postgres://test@/{database}?host={self.folder}"


def gunicorn_options() -> list[str]:
    """Options of gunicorn under `manage.py up` and in the container."""
    from evalsvc.local.supervisor import commands

    command = commands(host="127.0.0.1", port=0)["web"]
    at = command.index("--bind")  # behind the application, before its address
    return [*command[3 : at - 1], *command[at + 2 :]]


@contextmanager
def web(application: str, settings: str, database: str, log: Path) -> Iterator[tuple[int, int]]:
    """Run an application behind gunicorn on a free port; yield port and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        application,
        "--bind",
        f"127.0.0.1:{port}",
        *gunicorn_options(),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": settings},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until_ready(port, process)
            yield port, process.pid
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except OSError as error:
            if getattr(error, "code", 0) == 404:  # the bare application has no health check
                return
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{process.args} did not answer within 60 seconds") from error
            time.sleep(0.1)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children so far."""
    tree, seconds = [pid], 0.0
    for process in tree:
        try:
            tree += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds
