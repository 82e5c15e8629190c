"""The rounds: to and fro between the sides, each rate beside the CPU that it took."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness import told
from bench.queue import crowd, judging, places, seeding
from tests.places import postgres as pg

APPLICATIONS = {
    "ours": ("evalsvc.wsgi", "evalsvc.settings"),
    "bare": ("bench.queue.bare.wsgi", "bench.queue.bare.settings"),
}


@dataclass
class Plan:
    sizes: list[int]
    crowds: list[int]
    rounds: int
    seconds: float
    first: int = 20
    warm: float = 0.5
    most: int = 1_000_000


@dataclass
class Side:
    """One application with one database behind one gunicorn."""

    name: str
    items: int
    url: str
    port: int
    pid: int
    server: int
    place: seeding.Place
    names: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} at {self.items:,} items"

    def heard(self, came: crowd.Came) -> None:
        """What the crowd was told is written."""
        self.names |= set(came.names)
        self.faults += came.faults

    @classmethod
    @contextmanager
    def opened(
        cls, cluster: places.Synced, name: str, items: int, people: int, folder: Path
    ) -> Iterator[Side]:
        database = f"{name}_{items}"
        with pg.database(cluster.url, database) as entry:
            url = cluster.address(database)
            if name == "ours":
                with pg.default_is(entry):
                    pg.migrate()
                    place = seeding.service(url, items=items, people=people)
            else:
                prepare = [sys.executable, "-m", "django", "migrate", "--run-syncdb", "--verbosity", "0"]
                told_where = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": APPLICATIONS[name][1]}
                subprocess.run(prepare, env={**os.environ, **told_where}, check=True)
                place = seeding.bare(url, items=items, people=people)
            told(f"{name} at {items:,} items: seeded")
            server = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
            with places.web(*APPLICATIONS[name], url, folder / f"{database}.log") as (port, pid):
                yield cls(name, items, url, port, pid, server, place)

    def round(self, people: int, seconds: float, most: int) -> dict[str, Any]:
        """One crowd for so long: what it did in a second, how long it waited, whose CPU it took."""
        tokens = self.place.tokens[:people]
        web, database = places.busy(self.pid), places.busy(self.server)
        came = crowd.work(self.port, self.place.slug, tokens, seconds=seconds, most=most)
        self.heard(came)
        n = len(came.took)
        return {
            "items": n,
            "rate": came.rate,
            "web_ms": 1000 * (places.busy(self.pid) - web) / n,
            "postgres_ms": 1000 * (places.busy(self.server) - database) / n,
            "client_ms": 1000 * came.client / n,
            **{f"{what}_p50": 1000 * statistics.median(getattr(came, what)) for what in WAITS},
            **{f"{what}_p95": 1000 * p95(getattr(came, what)) for what in WAITS},
        }


WAITS = ("took", "asked", "voted")


def run(plan: Plan, folder: Path, cluster: places.Synced) -> list[dict[str, Any]]:
    """Make the places, hold both sides to their promises, measure, and hold them to it again."""
    with ExitStack() as open_places:
        sides = [
            open_places.enter_context(Side.opened(cluster, name, items, max(plan.crowds), folder))
            for items in plan.sizes
            for name in APPLICATIONS
        ]
        for side in sides:
            came = crowd.work(side.port, side.place.slug, side.place.tokens, most=plan.first)
            judging.hold(side, came)
        told("both sides wrote what they said, once, and no item got too much")
        rows = measure(plan, sides)
        for side in sides:
            judging.hold(side)
        return rows


def p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def measure(plan: Plan, sides: list[Side]) -> list[dict[str, Any]]:
    """Every crowd on every side, the order turned round after each round."""
    found: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    for people in plan.crowds:
        for side in sides:
            side.round(people, plan.warm, plan.most)
        for number in range(plan.rounds):
            for side in sides if number % 2 == 0 else sides[::-1]:
                found.setdefault((people, side.name, side.items), []).append(
                    side.round(people, plan.seconds, plan.most)
                )
            told(f"{people} annotators: round {number + 1} of {plan.rounds}")
    return [row(plan, found, people, items) for people in plan.crowds for items in plan.sizes]


def row(plan: Plan, found: dict[Any, list[dict[str, Any]]], people: int, items: int) -> dict[str, Any]:
    """One line of the table; `slope` is how much slower than in the smallest project."""
    ours, bare = found[people, "ours", items], found[people, "bare", items]
    small = found[people, "ours", min(plan.sizes)]
    return {
        "annotators": people,
        "project": items,
        "ratio": spread([a["rate"] / b["rate"] for a, b in zip(ours, bare, strict=True)]),
        "slope": spread([b["rate"] / a["rate"] for a, b in zip(ours, small, strict=True)]),
        "cpu_ratio": spread([cpu(b) / cpu(a) for a, b in zip(ours, bare, strict=True)]),
        "cpu_slope": spread([cpu(a) / cpu(b) for a, b in zip(ours, small, strict=True)]),
        "ours": {name: spread([one[name] for one in ours]) for name in ours[0]},
        "bare": {name: spread([one[name] for one in bare]) for name in bare[0]},
        "rounds": {"ours": ours, "bare": bare},
    }


def cpu(one: dict[str, Any]) -> float:
    """What an item costs the server's machine: hardly moved by what else runs on it."""
    return float(one["web_ms"] + one["postgres_ms"])


def spread(figures: list[float]) -> list[float]:
    """Median, least, most."""
    return [round(float(figure), 3) for figure in (statistics.median(figures), min(figures), max(figures))]


def line(row: dict[str, Any]) -> str:
    ours, bare = row["ours"], row["bare"]
    cost = "{web_ms[0]:.2f} + {postgres_ms[0]:.2f} + {client_ms[0]:.2f}"
    waits = "p50 {took_p50[0]:.0f} ms, p95 {took_p95[0]:.0f} ms"
    return "\n    ".join(
        [
            f"{row['annotators']} annotators, {row['project']:,} items",
            "items a second: ours {:.0f} ({:.0f} to {:.0f}), ".format(*ours["rate"])
            + "bare {:.0f} ({:.0f} to {:.0f})".format(*bare["rate"]),
            "ratio {:.2f} ({:.2f} to {:.2f}), of CPU ".format(*row["ratio"])
            + "{:.2f} ({:.2f} to {:.2f}), goal ≥ 0.5".format(*row["cpu_ratio"]),
            "slope {:.2f} ({:.2f} to {:.2f}), of CPU ".format(*row["slope"])
            + "{:.2f} ({:.2f} to {:.2f}), goal ≤ 1.2".format(*row["cpu_slope"]),
            f"item and vote: ours {waits.format(**ours)}; bare {waits.format(**bare)}",
            f"CPU ms, web + PostgreSQL + client: ours {cost.format(**ours)}, bare {cost.format(**bare)}",
        ]
    )
