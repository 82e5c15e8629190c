"""A RabbitMQ server of the tests, on free addresses, with nothing outside its folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from amqp.exceptions import NotFound
from django.conf import settings
from kombu import Connection

from tests.places.skipping import skip_or_fail
from tests.places.workers import until

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in the path changes to its own user
START_SECONDS = 90


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RabbitMQ:
    """The broker of the distribution's package `rabbitmq-server`."""

    def __init__(self) -> None:
        if not PROGRAM.exists():
            skip_or_fail("rabbitmq", f"{PROGRAM} is missing; install rabbitmq-server")
        self.folder = Path(tempfile.mkdtemp(prefix="evalsvc-rabbitmq-"))
        self.port = free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        (self.folder / "enabled_plugins").write_text("[].")
        self.env = {
            **os.environ,
            "HOME": str(self.folder),  # its cookie
            "RABBITMQ_NODENAME": f"evalsvc{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "logs"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1",
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM], env=self.env, stdout=log, stderr=log, start_new_session=True
            )
        until(self.answers, seconds=START_SECONDS, details=(self.folder / "server.log").read_text)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
                probe.sendall(b"AMQP\x00\x00\x09\x01")
                return probe.recv(1) == b"\x01"  # the first frame of the greeting
        except OSError:
            return False

    def queue_types(self) -> dict[str, str]:
        """Return the type of each queue of the default virtual host."""
        listed = self.control("list_queues", "--quiet", "--no-table-headers", "name", "type")
        return {name: type.removeprefix("rabbit_").removesuffix("_queue") for name, type in listed}

    def clear(self) -> None:
        """Drop the messages of all queues that there are."""
        with Connection(self.url) as connection:  # rabbitmqctl takes seconds of computing for each call
            for name in settings.JOB_QUEUES:
                with suppress(NotFound), connection.channel() as channel:
                    channel.queue_purge(name)

    def control(self, *words: str) -> list[list[str]]:
        command = ["rabbitmqctl", "--node", self.env["RABBITMQ_NODENAME"], *words]
        command[0] = str(PROGRAM.with_name("rabbitmqctl"))
        done = subprocess.run(command, env=self.env, check=True, capture_output=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines() if line]

    def stop(self) -> None:
        if self.process:
            self.control("stop", "--quiet")
            self.process.wait(30)

    def close(self) -> None:
        self.stop()
        end = ["epmd", "-port", self.env["ERL_EPMD_PORT"], "-kill"]
        subprocess.run(end, check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
