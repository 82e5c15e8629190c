"""Start, restart and stop the processes of the service."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Collection

from django.conf import settings
from django.core.management import CommandError

from evalsvc.local.child_process import ChildProcess
from evalsvc.local.embedded_broker import BrokerFailed, EmbeddedBroker
from evalsvc.local.process_guard import ProcessGuard

START_SECONDS = 120
STOP_SECONDS = 15
CONTAINER_STOP_SECONDS = 50  # compose.yaml kills after 60
PROBE_SECONDS = 20
# A web server that is only full, or still starting, answers within two minutes, all others within one.
PROBES = {"web": 6, "worker": 3, "heavy": 3, "beat": 3}
# The C library gives memory back to the system early, and its threads share two pools.
FREED_EARLY = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}
ANSWER_SECONDS = 3
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - only if HOST_ADDRESS is set to it


class StopFlag:
    """Flag that a signal handler can set at any moment.

    An event has a lock: a signal during its `wait` that sets it waits for its own process for ever.
    """

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Wait for the flag, and look twice a second."""
        until = time.monotonic() + seconds
        while not self._set and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
        return self._set


class Supervisor:
    """Broker (unless one is configured), workers, beat and web.

    With `part` only that process, in a container: it logs to the output, and has its broker elsewhere.
    """

    def __init__(self, *, host: str, port: int, report: Callable[[str], None], part: str = "") -> None:
        self.host, self.port, self.report, self.part = host, port, report, part
        self.address = f"http://{'127.0.0.1' if host == ALL_ADDRESSES else host}:{port}"
        self.stopping = StopFlag()
        self.broker: EmbeddedBroker | None = None
        self.children: list[ChildProcess] = []
        self.silent: Counter[str] = Counter()
        self.guard = ProcessGuard()

    @property
    def hides_host_names(self) -> bool:
        """True if reachable by others, but under rejected host names only."""
        local = self.host in ("127.0.0.1", "localhost")
        return not local and set(settings.ALLOWED_HOSTS) <= {"127.0.0.1", "localhost", "[::1]"}

    def install_signal_handlers(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.stopping.set())

    def start(self) -> None:
        """Start all processes and wait until the web server answers."""
        if not (self.part or os.environ.get("BROKER_URL") or os.environ.get("REDIS_URL")):
            self.broker = EmbeddedBroker(settings.DATA_DIR / "broker")
            self.broker.start()
        env = self.environment()
        for name, command in commands(host=self.host, port=self.port).items():
            log = None if self.part else settings.DATA_DIR / "logs" / f"{name}.log"
            if self.part in ("", name):
                self.children.append(ChildProcess(name, command, env=env, log=log))
        for child in self.children:
            child.start()
        self.watch_over()
        if not self.part:
            self.wait_for_web()

    def environment(self) -> dict[str, str]:
        """Environment of the processes and of the demo loader."""
        broker = {"BROKER_URL": self.broker.url} if self.broker else {}
        return {**FREED_EARLY, **os.environ, "EVALSVC_DATA": str(settings.DATA_DIR), **broker}

    def wait_for_web(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.stopping.is_set() and not answers(f"{self.address}/healthz"):
            self.watch()
            if time.monotonic() > deadline:
                raise CommandError(
                    f"The web server did not answer within {START_SECONDS} s. "
                    f"See {settings.DATA_DIR / 'logs' / 'web.log'}."
                )
            self.stopping.wait(0.2)

    def watch(self) -> None:
        """Restart what died."""
        self.watch_broker()
        for child in self.children:
            message = child.watch()
            if message:
                self.report(message)
        self.watch_over()

    def watch_over(self) -> None:
        """Name the processes that the guard ends should this one be killed."""
        processes = [child.process for child in self.children]
        processes += [self.broker.process] if self.broker else []
        self.guard.watch(process.pid for process in processes if process)

    def watch_broker(self) -> None:
        """Restart the broker; meanwhile jobs wait in their table."""
        broker = self.broker
        if broker and broker.kill_suspended():
            self.report("broker was suspended, and is killed")
        if broker and broker.process and broker.process.poll() is not None:
            self.report("broker stopped; restarting it")
            try:
                broker.start()
            except BrokerFailed as error:
                self.report(str(error))

    def run(self) -> None:
        """Watch until a signal arrives."""
        threading.Thread(target=self._probe_all, daemon=True).start()  # an answer may take long
        while not self.stopping.wait(0.5):
            self.watch()

    def _probe_all(self) -> None:
        while not self.stopping.wait(PROBE_SECONDS):
            self.probe()

    def probe(self) -> None:
        """Kill processes that repeatedly give no answer; they are restarted."""
        silent = self.silent_parts()
        for child in self.children:
            self.silent[child.name] = self.silent[child.name] + 1 if child.name in silent else 0
            if child.process and self.silent[child.name] >= PROBES[child.name]:
                self.report(f"{child.name} gave no answer {PROBES[child.name]} times, and is killed")
                child.kill()
                self.silent[child.name] = 0

    def silent_parts(self) -> set[str]:
        """Return the running parts without an answer; workers and beat are asked through the broker."""
        names = {child.name for child in self.children if child.process}
        silent = set() if answers(f"{self.address}/healthz", any_status=True) else names & {"web"}
        nodes = {f"{name}@{socket.gethostname()}": name for name in names - {"web"}}
        try:
            replied = self.answering(nodes) if nodes else ()
        except Exception:  # noqa: BLE001 - each kind of broker has its own; without one nobody could answer
            return silent
        return silent | {name for node, name in nodes.items() if node not in replied}

    def answering(self, nodes: Collection[str]) -> list[str]:
        """Ask workers and beat, through the broker, for a sign of life."""
        from evalsvc.celery import app

        url = self.broker.url if self.broker else None
        with app.connection_for_write(url, connect_timeout=ANSWER_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=ANSWER_SECONDS)
            replies = app.control.ping([*nodes], timeout=ANSWER_SECONDS, connection=broker, limit=len(nodes))
        return [node for reply in replies or () for node in reply]

    def stop(self) -> None:
        """Stop web, beat and workers in that order, then the broker."""
        deadline = time.monotonic() + (CONTAINER_STOP_SECONDS if self.part else STOP_SECONDS)
        for child in reversed(self.children):
            child.terminate()
        for child in reversed(self.children):
            child.wait_or_kill(until=deadline)
        if self.broker:
            self.broker.close()
        self.guard.close()


def commands(*, host: str, port: int) -> dict[str, list[str]]:
    """The command of each process, also in containers."""
    python = sys.executable
    celery = [python, "-m", "workers.celery_command", "--quiet", "-A"]
    log = ["--loglevel", "INFO"]
    return {
        "worker": [
            *celery,
            "workers",
            "worker",
            *worker_options("worker", "score,ingest", processes=2),
            *log,
        ],
        # long jobs have a process of their own, so that submissions never wait for them
        "heavy": [*celery, "workers", "worker", *worker_options("heavy", "heavy", processes=1), *log],
        "beat": [*celery, "workers.beat", "beat", "--hostname", "beat@%h", "--pidfile", "", *log],
        "web": [
            *(python, "-m", "gunicorn", "--config", "python:evalsvc.serving.gunicorn_settings"),
            *("evalsvc.wsgi", "--bind", f"{host}:{port}"),
            *("--workers", "2", "--threads", str(settings.WEB_THREADS)),
        ],
    }


def worker_options(name: str, queues: str, *, processes: int) -> list[str]:
    """Options of a worker; nothing listens to what workers tell each other."""
    silent = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return ["--hostname", f"{name}@%h", "-Q", queues, "--concurrency", str(processes), *silent]


def answers(url: str, *, any_status: bool = False) -> bool:
    """True for 200, and for 400, which rejects the host name."""
    own = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with own.open(url, timeout=2) as response:
            return bool(response.status == 200)
    except urllib.error.HTTPError as error:
        return any_status or error.code == 400
    except (OSError, http.client.HTTPException):
        return False
