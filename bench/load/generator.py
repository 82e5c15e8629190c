"""Schedules of people, what their requests took, and the search for saturation.

Open loop: a person acts at times fixed in advance, and an act that waits for the one before is counted from
its time, so that a stalled service can't hide behind clients that wait for it. Closed loop: a person thinks
after each act for a while.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx


class Person(Protocol):
    """Somebody who uses the service; `seconds` is the mean time between two acts at factor 1."""

    seconds: float

    async def act(self, due: float) -> None: ...


@dataclass
class Record:
    """Seconds of each request by kind, errors, and acts that nobody came to."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    missed: int = 0

    def clear(self) -> None:
        self.seconds.clear()
        self.errors.clear()
        self.missed = 0

    @property
    def requests(self) -> int:
        return sum(map(len, self.seconds.values()))


@dataclass
class Client:
    """One person's connection; every request is recorded under its kind."""

    http: httpx.AsyncClient
    record: Record

    async def ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        expected: int = 200,
        due: float | None = None,
        **content: Any,
    ) -> httpx.Response | None:
        """Return the expected response; anything else is an error."""
        begun = time.perf_counter() if due is None else due
        try:
            response = await self.http.request(method, path, **content)
        except httpx.HTTPError as error:
            self.record.errors.append(f"{kind}: {type(error).__name__} {error}")
            return None
        self.record.seconds[kind].append(time.perf_counter() - begun)
        if response.status_code == expected:
            return response
        self.record.errors.append(f"{kind}: {response.status_code} {response.text[:200]}")
        return None


async def live(
    person: Person, rng: random.Random, record: Record, *, factor: float, until: float, closed: bool
) -> None:
    """Let a person act until then, at random intervals."""
    due = time.perf_counter() + rng.expovariate(factor / person.seconds)
    while due < until:
        await asyncio.sleep(due - time.perf_counter())
        if (now := time.perf_counter()) < until:
            await person.act(now if closed else due)
        elif not closed:  # a closed loop plans no times, so it can't miss any
            record.missed += 1
        due = (time.perf_counter() if closed else due) + rng.expovariate(factor / person.seconds)


async def step(
    people: Sequence[Person],
    record: Record,
    *,
    factor: float,
    seconds: float,
    seed: int,
    closed: bool = False,
) -> dict[str, Any]:
    """Load the service for a while; return the row of the report."""
    record.clear()
    begun, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(
        *(
            live(
                person,
                random.Random(f"{seed} {number}"),
                record,
                factor=factor,
                until=begun + seconds,
                closed=closed,
            )
            for number, person in enumerate(people)
        )
    )
    took = time.perf_counter() - begun
    return {
        "factor": factor, "seconds": round(took, 1), "requests": record.requests,
        "rate": round(record.requests / took, 1), "missed": record.missed, "errors": len(record.errors),
        "first errors": record.errors[:5], "client cpu": round((time.process_time() - spent) / took, 2),
        "load": round(os.getloadavg()[0], 1),
        "kinds": {kind: spread(values) for kind, values in sorted(record.seconds.items())},
    }  # fmt: skip


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Number, p50, p95, p99 and maximum in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [*seconds] * 99
    figures = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(seconds)}
    return {"n": len(seconds), **{name: round(1000 * value, 1) for name, value in figures.items()}}


def is_saturated(row: dict[str, Any], *, limit: float) -> bool:
    """True if acts were missed, or a kind of request took longer than the limit at p95."""
    slowest = max((kind["p95"] for kind in row["kinds"].values()), default=0.0)
    acts = row["requests"] + row["missed"]
    return bool(row["missed"] > 0.05 * acts or slowest > 1000 * limit)


async def climb(
    run: Callable[[float], Awaitable[dict[str, Any]]], factors: Sequence[float], *, limit: float
) -> tuple[list[dict[str, Any]], float | None]:
    """Raise the load until it saturates; return all rows and the last factor that held.

    Between the last factor that held and the first that didn't, one more is tried.
    """
    rows: list[dict[str, Any]] = []
    held: float | None = None
    for factor in factors:
        rows.append(await run(factor))
        if is_saturated(rows[-1], limit=limit):
            if held is not None:
                rows.append(await run((held + factor) / 2))
                held = held if is_saturated(rows[-1], limit=limit) else rows[-1]["factor"]
            return rows, held
        held = factor
    return rows, held
