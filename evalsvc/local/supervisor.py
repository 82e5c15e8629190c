"""Starts the processes of the service, keeps them running, and stops them in order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError

from evalsvc.local.child_process import Child
from evalsvc.local.embedded_broker import BrokerFailed, EmbeddedBroker

START_SECONDS = 120
STOP_SECONDS = 15
EVERYWHERE = "0.0.0.0"  # noqa: S104 - asked for by HOST_ADDRESS
Say = Callable[[str], None]


class Supervisor:
    """Broker (unless one is given), workers, beat and web, on one machine."""

    def __init__(self, *, host: str, port: int, say: Say) -> None:
        self.host, self.port, self.say = host, port, say
        self.address = f"http://{'127.0.0.1' if host == EVERYWHERE else host}:{port}"
        self.stopping = threading.Event()
        self.broker: EmbeddedBroker | None = None
        self.children: list[Child] = []

    @property
    def unnamed(self) -> bool:
        """Whether it listens where others reach it under names that it would not answer."""
        inside = self.host in ("127.0.0.1", "localhost")
        return not inside and set(settings.ALLOWED_HOSTS) <= {"127.0.0.1", "localhost", "[::1]"}

    def listen_for_the_end(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.stopping.set())

    def start(self) -> None:
        """Start all and wait until the web answers."""
        if not (os.environ.get("BROKER_URL") or os.environ.get("REDIS_URL")):
            self.broker = EmbeddedBroker(settings.DATA_DIR / "broker")
            self.broker.start()
        env = self.environment()
        for name, command in commands(host=self.host, port=self.port).items():
            self.children.append(
                Child(name, command, env=env, log=settings.DATA_DIR / "logs" / f"{name}.log")
            )
        for child in self.children:
            child.start()
        self.wait_for_web()

    def environment(self) -> dict[str, str]:
        """What children and the demo see."""
        told = {"BROKER_URL": self.broker.url} if self.broker else {}
        return {**os.environ, "EVALSVC_DATA": str(settings.DATA_DIR), **told}

    def wait_for_web(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self.stopping.is_set() and not answers(f"{self.address}/healthz"):
            self.watch()
            if time.monotonic() > until:
                raise CommandError(
                    f"The web server did not answer within {START_SECONDS} s; "
                    f"{settings.DATA_DIR / 'logs' / 'web.log'} says why."
                )
            self.stopping.wait(0.2)

    def watch(self) -> None:
        """One look at everybody."""
        self.watch_broker()
        for child in self.children:
            told = child.watch()
            if told:
                self.say(told)

    def watch_broker(self) -> None:
        """Without it nothing is lost: jobs wait for their hint. So a start that fails is tried again."""
        broker = self.broker
        if broker and broker.process and broker.process.poll() is not None:
            self.say("broker stopped; it starts again")
            try:
                broker.start()
            except BrokerFailed as failed:
                self.say(str(failed))

    def run(self) -> None:
        """Watch until told to stop."""
        while not self.stopping.wait(0.5):
            self.watch()

    def stop(self) -> None:
        """Stop the web first, then those who work; the broker last."""
        until = time.monotonic() + STOP_SECONDS
        for child in reversed(self.children):
            child.tell_to_stop()
        for child in reversed(self.children):
            child.wait_or_kill(until=until)
        if self.broker:
            self.broker.close()


def commands(*, host: str, port: int) -> dict[str, list[str]]:
    """The processes by name; the same programs as the container's."""
    python, data = sys.executable, Path(settings.DATA_DIR)
    celery = [python, "-m", "celery", "-A", "workers"]
    log = ["--loglevel", "INFO"]
    return {
        "worker": [*celery, "worker", *working("worker", "score,ingest", at_once=2), *log],
        # long work has a process of its own, and never those that submissions wait for
        "heavy": [*celery, "worker", *working("heavy", "heavy", at_once=1), *log],
        "beat": [*celery, "beat", "--schedule", str(data / "beat"), "--pidfile", "", *log],
        "web": [
            *(python, "-m", "gunicorn", "evalsvc.wsgi", "--bind", f"{host}:{port}"),
            *("--worker-class", "gthread", "--workers", "2", "--threads", str(settings.WEB_THREADS)),
            *("--no-control-socket", "--access-logfile", "-"),
        ],
    }


def working(name: str, queues: str, *, at_once: int) -> list[str]:
    """The options of a worker: its name among those of this machine, its queues, its processes."""
    return ["--hostname", f"{name}@%h", "-Q", queues, "--concurrency", str(at_once)]


def answers(url: str) -> bool:
    """Whether a GET is met with 200, or with 400: it is there, and answers to other names than this one."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - our own address
            return bool(response.status == 200)
    except urllib.error.HTTPError as error:
        return error.code == 400
    except (urllib.error.URLError, OSError):
        return False
