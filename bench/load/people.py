"""Annotators, teams and readers, as browsers and scripts behave."""

from __future__ import annotations

import asyncio
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bench.load.generator import Client

LABELS = [f"relation {number}" for number in range(10)]
RESERVE, BATCH = 55, 15  # as in annotation/static/annotation/label/reserve.js
POLL_SECONDS, PATIENCE_SECONDS = 0.5, 60
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


@dataclass
class Annotator:
    """The labelling page: leases a reserve, shows an item, sends the answer."""

    client: Client
    project: str
    rng: random.Random
    seconds: float = 6.0
    reserve: list[dict[str, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)

    async def open(self) -> None:
        """Open the page and fill the reserve."""
        page = await self.client.ask("label page", "GET", f"/label/{self.project}/")
        token = TOKEN.search(page.text) if page else None
        if token is None:
            raise RuntimeError(f"No token on the labelling page: {self.client.record.errors[-1:]}")
        self.headers = {"X-CSRFToken": token[1]}
        await self.fill_reserve()

    async def fill_reserve(self) -> None:
        while len(self.reserve) < RESERVE - BATCH // 3:
            few = 2 if self.reserve else 1
            n = few if len(self.reserve) < 3 else min(BATCH, RESERVE - len(self.reserve))
            body = {"holding": [work["lease"] for work in self.reserve], "n": n}
            address = f"/api/v1/projects/{self.project}/reserve"
            response = await self.client.ask("reserve", "POST", address, json=body, headers=self.headers)
            leases = response.json()["leases"] if response else []
            self.reserve += leases
            if len(leases) < n:
                return

    async def act(self, due: float) -> None:
        if not self.reserve:
            await self.fill_reserve()
        if not self.reserve:
            self.client.record.errors.append("answer: no item is available")
            return
        work = self.reserve.pop(0)
        vote = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        # most give the label of the item, so that some are settled and some disputed
        same = sum(work["item"]["id"].encode()) % len(LABELS)
        label = LABELS[same if self.rng.random() < 0.8 else self.rng.randrange(len(LABELS))]
        body = {
            "client_id": vote,
            "payload": {"spans": [], "relations": [label]},
            "base": work["base"],
            "milliseconds": 1_500,
        }
        address = f"/api/v1/items/{work['item']['id']}/answer"
        if await self.client.ask(
            "answer", "POST", address, expected=201, due=due, json=body, headers=self.headers
        ):
            self.acknowledged.append(vote)
        await self.fill_reserve()


@dataclass
class Team:
    """A script that submits a run and polls it until it has ended."""

    client: Client
    benchmark: str
    items: int
    rng: random.Random
    seconds: float = 30.0
    runs: Any = field(default_factory=lambda: count(1))
    accepted: list[int] = field(default_factory=list)

    async def act(self, due: float) -> None:
        lines = [f'{{"id":"s{at}","label":"{self.rng.choice(LABELS)}"}}' for at in range(self.items)]
        response = await self.client.ask(
            "submit", "POST", f"/api/v1/benchmarks/{self.benchmark}/submissions", expected=202, due=due,
            params={"system": "Net", "run": next(self.runs)}, content="\n".join(lines),
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        if response is None:
            return
        self.accepted.append(response.json()["id"])
        await self.follow(self.accepted[-1])

    async def follow(self, pk: int) -> None:
        begun = time.perf_counter()
        while time.perf_counter() < begun + PATIENCE_SECONDS:
            await asyncio.sleep(POLL_SECONDS)
            response = await self.client.ask("submission", "GET", f"/api/v1/submissions/{pk}")
            state = response.json()["state"] if response else ""
            if state == "scored":
                return
            if state in ("failed", "invalid", "cancelled"):
                self.client.record.errors.append(f"submission {pk}: {state} {response and response.text}")
                return
        self.client.record.errors.append(f"submission {pk}: not scored within {PATIENCE_SECONDS} s")


@dataclass
class Reader:
    """A visitor who reads boards."""

    client: Client
    benchmark: str
    rng: random.Random
    seconds: float = 5.0

    async def act(self, due: float) -> None:
        pages = {
            "board": f"/boards/{self.benchmark}/",
            "boards": "/boards/",
            "home": "/",
            "board file": f"/boards/{self.benchmark}/board.csv",
        }
        kind = self.rng.choices([*pages], weights=(5, 2, 1, 2))[0]
        await self.client.ask(kind, "GET", pages[kind], due=due)
