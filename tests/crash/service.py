"""The service under faults: the processes of `manage.py up`, a Valkey and a PostgreSQL of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.crash import points

MARKS = {"web": b"gunicorn", "worker": b"worker@", "heavy": b"heavy@", "beat": b"\0beat\0"}


class Service:
    """Started again whenever its supervisor ends, as systemd would."""

    def __init__(self, folder: Path, cluster: Any, broker: Any, settings: dict[str, str]) -> None:
        from tests.places.workers import environment

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.cluster, self.broker = folder, cluster, broker
        self.url, self.lease = f"http://127.0.0.1:{self.port}", float(settings.get("JOB_LEASE_SECONDS", 10))
        self.part_of_production = self.lease / 10  # how far outages are shortened
        more = {"DJANGO_SETTINGS_MODULE": "tests.crash.settings", "PORT": str(self.port), "DEMO": "0"}
        more |= {"MODEL_UPLOADS": "auto", "UPKEEP_SECONDS": "3600"}
        self.env = environment(broker.url, **more, **settings)
        self.cluster_held, self.broker_held, self.storage_held = (threading.Lock() for _ in range(3))
        self.up: subprocess.Popen[bytes] | None = None
        self.stopping = threading.Event()
        self.keeper = threading.Thread(target=self._keep_up)

    def start(self) -> None:
        self.keeper.start()
        self.wait_for_web()

    def wait_for_web(self, seconds: float = 90) -> None:
        from evalsvc.local.supervisor import answers

        end = time.monotonic() + seconds
        while not answers(f"{self.url}/healthz"):
            assert time.monotonic() < end, (self.folder / "up.log").read_text()[-2_000:]
            time.sleep(0.3)

    def _keep_up(self) -> None:
        while not self.stopping.wait(0.3):
            if self.up is None or self.up.poll() is not None:
                with (self.folder / "up.log").open("ab") as log:
                    command = [sys.executable, "manage.py", "up"]
                    self.up = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)

    def mains(self, *names: str) -> list[int]:
        """The main processes of web, worker, heavy or beat."""
        from evalsvc.local.child_process import children

        result = []
        for pid in children(self.up.pid) if self.up else []:
            with suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                result += [pid for name in names if MARKS[name] in line]
        return result

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement as PostgreSQL's own administrator, whom no trigger stops."""
        with psycopg.connect(f"host={self.cluster.folder} user=test dbname=postgres") as connection:
            connection.execute("SET session_replication_role = replica")
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        self.stopping.set()
        if self.keeper.is_alive():
            self.keeper.join()
        if self.up and self.up.poll() is None:
            self.up.terminate()
            self.up.wait(60)
        for pid in self.processes():  # such as a worker that hung when its supervisor was killed
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Every process that was started with the environment of this service."""
        mark, found = f"PORT={self.port}\0".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
        return found


class Strike:
    """A fault at one point: the processes that wait there, and what was sent to get there."""

    def __init__(self, service: Service, at: str) -> None:
        self.service, self.at, self.pids, self.stored = service, at, list[int](), ""
        self.gold = ""
        self.armed = Path(os.environ[points.FOLDER], f"{at}.armed")

    def arm(self) -> None:
        self.armed.touch()

    def is_reached(self) -> bool:
        self.pids = [int(path.suffix[1:]) for path in self.armed.parent.glob(f"{self.at}.[0-9]*")]
        return bool(self.pids)

    def release(self) -> None:
        """Let everybody go on who waits at the point."""
        for path in self.armed.parent.glob(f"{self.at}.*"):
            path.unlink(missing_ok=True)

    def workers(self) -> list[int]:
        """The main process of the worker that waits at the point, else that of the submissions."""
        from evalsvc.local.child_process import children

        own = [
            main
            for main in self.service.mains("worker", "heavy")
            if {*children(main)}.intersection(self.pids)
        ]
        return own or self.service.mains("worker")


def send(pids: list[int], number: int, *, group: bool = False) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(pid, number)


def suspend(strike: Strike, pids: list[int], *, group: bool = False) -> None:
    """Stop processes for twice the lease."""
    send(pids, signal.SIGSTOP, group=group)
    time.sleep(2 * strike.service.lease)
    send(pids, signal.SIGCONT, group=group)
