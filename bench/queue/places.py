"""Where both sides run: a PostgreSQL that syncs every commit to disk, and gunicorn in the service's shape."""

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


class Synced(Cluster):
    """A throw-away server as one would run it: fsync on, and the settings PostgreSQL comes with."""

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=120"
        data, log = f"{self.folder}/data", f"{self.folder}/log"
        self.run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)

    def address(self, database: str) -> str:
        return f"postgres://test@/{database}?host={self.folder}"


def shape() -> list[str]:
    """How `manage.py up` and the container run gunicorn."""
    from evalsvc.local.supervisor import commands

    command = commands(host="127.0.0.1", port=0)["web"]
    return command[command.index("--worker-class") :]


@contextmanager
def web(application: str, settings: str, database: str, log: Path) -> Iterator[tuple[int, int]]:
    """The application behind gunicorn on a free port; gives the port and the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}", *shape()]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": settings},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            until_it_answers(port, process)
            yield port, process.pid
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except OSError as error:
            if getattr(error, "code", 0) == 404:  # the bare one has no such address, and says so
                return
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{process.args} does not answer") from error
            time.sleep(0.1)


def busy(pid: int) -> float:
    """Seconds of CPU that a process and its children have used so far."""
    tree, seconds = [pid], 0.0
    for one in tree:
        try:
            tree += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
            words = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        seconds += sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds
