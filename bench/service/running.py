"""Processes of the service on a free port, and two teams with a token each."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from django.core.management import call_command

from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.teams import create_team
from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.models import Submission
from evalsvc.local.child_process import ChildProcess
from evalsvc.local.embedded_broker import EmbeddedBroker
from evalsvc.local.supervisor import answers, commands


class Service:
    """Context of a running service; `token` and `other` belong to two teams."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: dict[str, ChildProcess] = {}

    def __enter__(self) -> Service:
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.broker = EmbeddedBroker(self.folder / "broker")
        self.broker.start()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {**os.environ, "BROKER_URL": self.broker.url, "MODEL_UPLOADS": "off"}
        for name, command in commands(host="127.0.0.1", port=port).items():
            for option in ("--concurrency", "--workers"):
                if option in command:
                    command[command.index(option) + 1] = "1"
            self.children[name] = ChildProcess(name, command, env=env, log=self.folder / f"{name}.log")
            self.children[name].start()
        wait_until(lambda: answers(f"{self.url}/healthz"))
        wait_until(lambda: b" ready." in (self.folder / "worker.log").read_bytes())
        self.olga = User.objects.create_user("olga", may_organise=True)
        self.token, self.other = (self.create_team_token(name) for name in ("Kelpie", "Lugworm"))
        return self

    def __exit__(self, *_: object) -> None:
        end = time.monotonic() + 10
        for child in reversed(self.children.values()):
            child.terminate()
        for child in reversed(self.children.values()):
            child.wait_or_kill(until=end)
        self.broker.close()

    def create_team_token(self, name: str) -> str:
        user = User.objects.create_user(name.lower())
        team = create_team(name=name, by=user)
        return issue(user, name="bench", team=team, scope="full")[1]

    def submit(
        self,
        slug: str,
        body: Any,
        *,
        run: str,
        system: str = "Net",
        length: int | None = None,
        token: str = "",
    ) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/x-ndjson"}
        if length is not None:
            headers["Content-Length"] = str(length)
        address = f"{self.url}/api/v1/benchmarks/{slug}/submissions?" + urlencode(
            {"system": system, "run": run}
        )
        with urlopen(Request(address, data=body, headers=headers), timeout=600) as answer:
            body: dict[str, Any] = json.load(answer)
            return body

    def send(self, slug: str, path: Path, *, run: str) -> dict[str, Any]:
        """Submit a file as a stream, with its length as a header."""
        with path.open("rb") as file:
            return self.submit(slug, file, run=run, length=path.stat().st_size)

    def wait_for(self, pk: int) -> Any:
        wait_until(lambda: Submission.objects.filter(pk=pk, ended_at__isnull=False).exists(), every=0.02)
        submission = Submission.objects.select_related("job").get(pk=pk)
        if submission.state != "scored":
            raise RuntimeError(f"{submission.state}: {submission.reason}")
        return submission

    def pid(self, name: str) -> int:
        process: Any = self.children[name].process
        return int(process.pid)

    def web_worker_pid(self) -> int:
        """Process id of the gunicorn worker."""
        pid = self.pid("web")
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    @contextmanager
    def worker_paused(self) -> Iterator[None]:
        """Pause the worker, so that submissions wait."""
        os.killpg(self.pid("worker"), signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.pid("worker"), signal.SIGCONT)


def wait_until(condition: Callable[[], bool], *, seconds: float = 120, every: float = 0.1) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"The condition was not met within {seconds:g} seconds.")
        time.sleep(every)
