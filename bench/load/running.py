"""The whole service as `make up` starts it, on a fresh folder with a seeded project and board."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from django.test import Client as Browser

from annotation import projects
from annotation.imports import batches
from annotation.models import Vote
from annotation.ontology import inventory
from bench.load.generator import Client, Record
from bench.load.people import LABELS, Annotator, Reader, Team
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.teams import create_team
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Submission
from evalsvc.local.supervisor import answers
from tests.cast.basics import sentence
from tests.cast.benchmarks import freeze
from tests.cast.projects import jsonl_file
from workers.runner import run_inline

START_SECONDS, GOLD_ITEMS, K = 120, 500, 3


@dataclass
class Crowd:
    """Everybody who uses the service, and what their requests took."""

    record: Record
    annotators: list[Annotator]
    teams: list[Team]
    readers: list[Reader]

    @property
    def people(self) -> list[Any]:
        return [*self.annotators, *self.teams, *self.readers]

    async def close(self) -> None:
        for person in self.people:
            await person.client.http.aclose()

    def wrong(self) -> list[str]:
        """Compare what was acknowledged with what is stored."""
        votes = {vote for annotator in self.annotators for vote in annotator.acknowledged}
        stored = set(map(str, Vote.objects.values_list("client_id", flat=True)))
        accepted = {pk for team in self.teams for pk in team.accepted}
        scored = set(Submission.objects.filter(state="scored").values_list("pk", flat=True))
        counts = {
            "votes lost": len(votes - stored),
            "submissions not scored": len(accepted - scored),
            "jobs failed": Job.objects.filter(state="failed").count(),
        }
        return [f"{name}: {n}" for name, n in counts.items() if n]


def seed(url: str, *, annotators: int, teams: int, readers: int, items: int, seed: int) -> Crowd:
    """Fill an empty database with a project and a benchmark; return the people who will use them."""
    olga = User.objects.create_user("olga", may_organise=True)
    seed_project(olga, items)
    seed_benchmark(olga, seed)
    record = Record()

    def client(cookies: dict[str, str] | None = None, **headers: str) -> Client:
        # gunicorn closes connections that are idle for two seconds
        limits = httpx.Limits(max_connections=1, keepalive_expiry=1)
        http = httpx.AsyncClient(
            base_url=url,
            headers=headers,
            cookies=cookies,
            limits=limits,
            timeout=30,
            trust_env=False,
            verify=False,
        )
        return Client(http, record)

    def rng(kind: str, number: int) -> random.Random:
        return random.Random(f"{seed} {kind} {number}")

    return Crowd(
        record,
        [
            Annotator(client(log_in(f"ann{n}", by=olga)), "load", rng("annotator", n))
            for n in range(annotators)
        ],
        [
            Team(client(Authorization=f"Bearer {token_of(n)}"), "load", GOLD_ITEMS, rng("team", n))
            for n in range(teams)
        ],
        [Reader(client(), "load", rng("reader", n)) for n in range(readers)],
    )


def seed_project(olga: User, items: int) -> None:
    project = projects.create(title="Load", slug="load", kind="relations", k=K, by=olga)
    inventory.add_labels(project, LABELS, by=olga)
    lines = jsonl_file(sentence(n) for n in range(items))
    batch = batches.receive(
        content="items", upload=lines, filename="items.jsonl", format="", options={}, by=olga, project=project
    )
    run_inline(Job.objects.get(kind="import", subject=batch.pk))
    projects.open_for_work(project, by=olga)


def seed_benchmark(olga: User, seed: int) -> None:
    rng = random.Random(seed)
    gold = [{**sentence(n), "relations": [rng.choice(LABELS)]} for n in range(GOLD_ITEMS)]
    test_set = freeze("load-gold", gold, by=olga, labels=LABELS)
    benchmark = creation.create(
        title="Load", slug="load", task="relations", labels=LABELS, by=olga, negative="N/A"
    )
    creation.add_setting(
        benchmark, key="main", title="Main", test_set=test_set, unit="sentence", main="micro_f1", by=olga,
        disclosure="open",
    )  # fmt: skip


def log_in(name: str, *, by: User) -> dict[str, str]:
    """Make an annotator with a session; return the cookies of the browser."""
    user = User.objects.create_user(name)
    projects.set_member(projects.Project.objects.get(slug="load"), user=user, role="annotator", by=by)
    browser = Browser()
    browser.force_login(user)
    return {key: morsel.value for key, morsel in browser.cookies.items()}


def token_of(number: int) -> str:
    user = User.objects.create_user(f"team{number}")
    team = create_team(name=f"Team {number}", by=user)
    return issue(user, name="load", team=team, scope="full")[1]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def service(folder: Path, port: int) -> Iterator[int]:
    """`manage.py up`, until the block ends; yield its process id."""
    environment = {**os.environ, "PORT": str(port), "DEMO": "0"}
    with (folder / "up.log").open("wb") as log:
        up = subprocess.Popen([sys.executable, "manage.py", "up"], env=environment, stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_SECONDS
        ready = folder / "logs" / "worker.log"
        while not (answers(f"http://127.0.0.1:{port}/healthz") and b" ready." in ready.read_bytes()):
            if up.poll() is not None or time.monotonic() > end:
                raise RuntimeError((folder / "up.log").read_text()[-2_000:])
            time.sleep(0.2)
        yield up.pid
    finally:
        up.terminate()
        up.wait(60)
