"""Alternating rounds of the service and the bare application: rate, waits and CPU time."""

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

import psycopg

from bench.harness import Goal, judged, log
from bench.queue import crowd, seeding, servers
from bench.queue.seeding import K
from tests.places import postgres as pg

MODULES = {
    "ours": ("evalsvc.wsgi", "evalsvc.settings"),
    "bare": ("bench.queue.bare.wsgi", "bench.queue.bare.settings"),
}
STEPS = ("item", "lease", "answer")
GOALS = (Goal("CPU ratio", least=0.5), Goal("CPU slope", most=1.2))

_REPEATED = "SELECT count(*) FROM (SELECT FROM {} GROUP BY {} HAVING count(*) > {}) x"
_ANSWERED = "FROM {} i JOIN (SELECT item_id, count(*) n FROM {} GROUP BY item_id) a ON a.item_id = i.id"
QUERIES = {
    "ours": {
        "votes": "SELECT client_id::text FROM annotation_vote",
        "items over k": _REPEATED.format("annotation_answer", "item_id", K),
        "votes twice": _REPEATED.format("annotation_vote", "item_id, annotator_id", 1),
        "leases left": "SELECT count(*) FROM annotation_lease WHERE ending <> 'answered'",
        "items wrong": f"SELECT count(*) {_ANSWERED.format('annotation_item', 'annotation_answer')} "
        f"WHERE i.free <> {K} - n OR (n = {K}) <> (i.state = 'settled')",
    },
    "bare": {
        "votes": "SELECT client_id::text FROM bare_vote",
        "items over k": _REPEATED.format("bare_vote", "item_id", K),
        "votes twice": _REPEATED.format("bare_vote", "item_id, person", 1),
        "leases left": "SELECT count(*) FROM bare_lease WHERE NOT ended",
        "items wrong": f"SELECT count(*) {_ANSWERED.format('bare_item', 'bare_vote')} "
        f"WHERE i.free <> {K} - n OR i.answers <> n",
    },
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
class Application:
    """One application with one database behind one gunicorn."""

    name: str
    items: int
    url: str
    port: int
    pid: int
    server: int
    project: seeding.SeededProject
    acknowledged: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} at {self.items:,} items"

    @classmethod
    @contextmanager
    def started(
        cls, cluster: servers.SyncedCluster, name: str, items: int, people: int, folder: Path
    ) -> Iterator[Application]:
        database = f"{name}_{items}"
        with pg.database(cluster.url, database, tables=name == "ours") as entry:
            url = cluster.address(database)
            if name == "ours":
                with pg.default_is(entry):
                    project = seeding.seed_service(url, items=items, people=people)
            else:
                migrate = [sys.executable, "-m", "django", "migrate", "--run-syncdb", "--verbosity", "0"]
                variables = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": MODULES[name][1]}
                subprocess.run(migrate, env={**os.environ, **variables}, check=True)
                project = seeding.seed_bare(url, items=items, people=people)
            log(f"{name} at {items:,} items: seeded")
            server = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
            with servers.web(*MODULES[name], url, folder / f"{database}.log") as (port, pid):
                yield cls(name, items, url, port, pid, server, project)

    def label(self, *, people: int | None = None, **limits: Any) -> crowd.CrowdResult:
        """Let annotators label, and record the votes that the application acknowledged."""
        result = crowd.run_crowd(self.port, self.project.slug, self.project.tokens[:people], **limits)
        self.acknowledged |= set(result.votes)
        self.faults += result.faults
        return result

    def verify(self) -> None:
        """Stop unless each acknowledged vote is stored once, no item has over k, and no lease is left."""
        queries = dict(QUERIES[self.name])
        with psycopg.connect(self.url) as db:
            stored = {row[0] for row in db.execute(queries.pop("votes"))}
            wrong = {name: db.execute(query).fetchone()[0] for name, query in queries.items()}  # type: ignore[index]
        if stored != self.acknowledged or any(wrong.values()) or self.faults:
            lost, more = len(self.acknowledged - stored), len(stored - self.acknowledged)
            raise SystemExit(f"{self}: {lost} votes lost, {more} nobody sent, {wrong}, {self.faults[:3]}")

    def round(self, people: int, seconds: float, most: int) -> dict[str, Any]:
        """Measure one crowd: items a second, waits, and CPU time by process."""
        web, database = servers.cpu_seconds(self.pid), servers.cpu_seconds(self.server)
        result = self.label(people=people, seconds=seconds, most=most)
        waits = {step: getattr(result, step) for step in STEPS}
        n = len(result.item)
        return {
            "items": n,
            "rate": result.rate,
            "web_ms": 1000 * (servers.cpu_seconds(self.pid) - web) / n,
            "postgres_ms": 1000 * (servers.cpu_seconds(self.server) - database) / n,
            "client_ms": 1000 * result.client / n,
            **{f"{step}_p50": 1000 * statistics.median(waits[step]) for step in STEPS},
            **{
                f"{step}_p95": 1000 * statistics.quantiles(waits[step], n=20, method="inclusive")[-1]
                for step in STEPS
            },
        }


def run(plan: Plan, folder: Path, cluster: servers.SyncedCluster) -> list[dict[str, Any]]:
    """Start the applications, verify what they store, measure, and verify again."""
    with ExitStack() as started:
        applications = [
            started.enter_context(Application.started(cluster, name, items, max(plan.crowds), folder))
            for items in plan.sizes
            for name in MODULES
        ]
        for application in applications:
            application.label(most=plan.first)
            application.verify()
        log("verified: both applications stored each vote once, and no item has over k")
        rows = measure(plan, applications)
        for application in applications:
            application.verify()
        return rows


def measure(plan: Plan, applications: list[Application]) -> list[dict[str, Any]]:
    """Measure every crowd on every application; the order is reversed after each round."""
    rounds: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    for people in plan.crowds:
        for application in applications:
            application.round(people, plan.warm, plan.most)
        for number in range(plan.rounds):
            for application in applications if number % 2 == 0 else applications[::-1]:
                key = (people, application.name, application.items)
                rounds.setdefault(key, []).append(application.round(people, plan.seconds, plan.most))
            log(f"{people} annotators: round {number + 1} of {plan.rounds}")
    return [row(plan, rounds, people, items) for people in plan.crowds for items in plan.sizes]


def row(plan: Plan, rounds: dict[Any, list[dict[str, Any]]], people: int, items: int) -> dict[str, Any]:
    """Summarise a crowd and size; `slope` compares with the smallest project."""
    ours, bare = rounds[people, "ours", items], rounds[people, "bare", items]
    small = rounds[people, "ours", min(plan.sizes)]
    report: dict[str, Any] = {
        "case": f"{people} annotators, {items:,} items",
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
    medians = {"CPU ratio": report["cpu_ratio"][0], "CPU slope": report["cpu_slope"][0]}
    return judged(report | medians, GOALS)


def p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def cpu(measured: dict[str, Any]) -> float:
    """CPU time of the server per item; other load on the machine hardly changes it."""
    return float(measured["web_ms"] + measured["postgres_ms"])


def spread(figures: list[float]) -> list[float]:
    """Median, minimum and maximum."""
    return [round(float(figure), 3) for figure in (statistics.median(figures), min(figures), max(figures))]


def table_row(row: dict[str, Any]) -> str:
    ours, bare = row["ours"], row["bare"]
    cost = "{web_ms[0]:.2f} + {postgres_ms[0]:.2f} + {client_ms[0]:.2f}"
    waits = "p50 {item_p50[0]:.0f} ms, p95 {item_p95[0]:.0f} ms"
    return "\n    ".join(
        [
            f"{row['case']}; goals {', '.join(row['goals'])}",
            "items a second: ours {:.0f} ({:.0f} to {:.0f}), ".format(*ours["rate"])
            + "bare {:.0f} ({:.0f} to {:.0f})".format(*bare["rate"]),
            "ratio {:.2f} ({:.2f} to {:.2f}), of CPU ".format(*row["ratio"])
            + "{:.2f} ({:.2f} to {:.2f})".format(*row["cpu_ratio"]),
            "slope {:.2f} ({:.2f} to {:.2f}), of CPU ".format(*row["slope"])
            + "{:.2f} ({:.2f} to {:.2f})".format(*row["cpu_slope"]),
            f"item and vote: ours {waits.format(**ours)}; bare {waits.format(**bare)}",
            f"CPU ms, web + PostgreSQL + client: ours {cost.format(**ours)}, bare {cost.format(**bare)}",
        ]
    )
