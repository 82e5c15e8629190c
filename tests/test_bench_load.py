"""The load generator: what it counts, its schedule, its climb, and a crowd on a live server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import httpx
import pytest

from bench.load.generator import Client, Record, climb, is_saturated, spread, step

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread of its own: a browser of other tests keeps a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


class Visitor:
    """Somebody whose acts take as long as the service does."""

    def __init__(self, client: Client, seconds: float = 0.05) -> None:
        self.client, self.seconds = client, seconds
        self.dues: list[float] = []

    async def act(self, due: float) -> None:
        self.dues.append(due)
        await self.client.ask("page", "GET", "/", due=due)


def client(answer: Any) -> Client:
    http = httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(answer))
    return Client(http, Record())


def load(answer: Any, *, closed: bool, seconds: float = 0.5, seed: int = 1) -> tuple[dict[str, Any], Visitor]:
    visitor = Visitor(client(answer))
    row = run(step([visitor], visitor.client.record, factor=1, seconds=seconds, seed=seed, closed=closed))
    return row, visitor


async def slow(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(0.15)
    return httpx.Response(200)


def test_an_open_loop_counts_the_wait_behind_a_slow_service_and_a_closed_one_does_not() -> None:
    opened, closed = (load(slow, closed=closed)[0] for closed in (False, True))
    assert opened["missed"] > 0
    assert opened["kinds"]["page"]["max"] > 250
    assert closed["missed"] == 0


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda _: httpx.Response(503, text="locked"), "page: 503 locked"),
        (lambda request: (_ for _ in ()).throw(httpx.ReadTimeout("late")), "page: ReadTimeout late"),
    ],
)
def test_other_answers_and_failures_are_errors(answer: Any, error: str) -> None:
    row, _ = load(answer, closed=False, seconds=0.3)
    assert row["errors"] > 0
    assert row["first errors"][0] == error


def test_the_same_seed_gives_the_same_schedule() -> None:
    def gaps(seed: int) -> list[float]:
        dues = load(lambda _: httpx.Response(200), closed=False, seed=seed)[1].dues
        return [round(b - a, 6) for a, b in pairwise(dues)]

    first, same, other = gaps(1), gaps(1), gaps(2)
    shortest = min(len(first), len(same), len(other))
    assert shortest > 1
    assert first[:shortest] == same[:shortest] != other[:shortest]


def served_up_to(capacity: float, tried: list[float]) -> Any:
    async def run(factor: float) -> dict[str, Any]:
        tried.append(factor)
        p95 = 100.0 if factor <= capacity else 5_000.0
        return {"factor": factor, "requests": 100, "missed": 0, "kinds": {"page": {"p95": p95}}}

    return run


@pytest.mark.parametrize(
    ("capacity", "held", "tried"),
    [(5, 4, [1, 2, 4, 8, 6]), (7, 6, [1, 2, 4, 8, 6]), (0.5, None, [1]), (99, 8, [1, 2, 4, 8])],
)
def test_the_load_rises_until_it_saturates(capacity: float, held: float | None, tried: list[float]) -> None:
    steps: list[float] = []
    rows, best = run(climb(served_up_to(capacity, steps), [1, 2, 4, 8], limit=1))
    assert (steps, best, len(rows)) == (tried, held, len(tried))


def test_missed_acts_are_saturation_even_if_all_answers_are_fast() -> None:
    row = {"requests": 90, "missed": 10, "kinds": {"page": {"p95": 1.0}}}
    assert is_saturated(row, limit=1)
    assert not is_saturated(row | {"missed": 0}, limit=1)


def test_percentiles_are_in_milliseconds() -> None:
    figures = spread([n / 1000 for n in range(1, 102)])
    assert figures == {"n": 101, "p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 101.0}
    assert spread([0.5])["p99"] == 500.0


def test_a_crowd_labels_submits_and_reads_on_a_live_server(live: str, tmp_path: Any, settings: Any) -> None:
    from bench.load import running
    from workers.runner import run_next

    settings.MEDIA_ROOT = tmp_path
    crowd = running.seed(live, annotators=2, teams=1, readers=1, items=200, seed=1)

    async def visit() -> None:
        await asyncio.gather(*(annotator.open() for annotator in crowd.annotators))
        for person in crowd.people:
            task = asyncio.ensure_future(person.act(time.perf_counter()))
            while not task.done():  # the worker of this test
                await asyncio.gather(asyncio.to_thread(run_next, "score"), asyncio.sleep(0.05))
            await task
        await crowd.close()

    run(visit())
    assert crowd.record.errors == []
    assert {*crowd.record.seconds} >= {"label page", "reserve", "answer", "submit", "submission"}
    assert [len(annotator.acknowledged) for annotator in crowd.annotators] == [1, 1]
    assert crowd.wrong() == []
    crowd.annotators[0].acknowledged.append("never written")
    crowd.teams[0].accepted.append(0)
    assert crowd.wrong() == ["votes lost: 1", "submissions not scored: 1"]
