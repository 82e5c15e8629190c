"""`python -m bench.load`: load the whole service with annotators, teams and readers, up to saturation.

Starts the service as `make up` does, on an empty folder and SQLite, on the database of DATABASE_URL (which
must be empty), or with --postgres on a PostgreSQL of its own that syncs every commit. Every step multiplies
how often people act; the load is saturated when acts are missed or a p95 exceeds the limit.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import log, save
from bench.load import generator

WARM_SECONDS = 5
Row = dict[str, Any]
FACTORS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.load", description=__doc__)
    parser.add_argument("--annotators", type=int, default=50, help="an answer every 6 s each, at factor 1")
    parser.add_argument("--teams", type=int, default=20, help="a submission every 30 s each, at factor 1")
    parser.add_argument("--readers", type=int, default=20, help="a page every 5 s each, at factor 1")
    parser.add_argument("--items", type=int, default=6_000, help="of the labelling project, 3 answers each")
    parser.add_argument("--factors", type=float, nargs="+", default=FACTORS, help="steps of the load")
    parser.add_argument("--seconds", type=float, default=10, help="of each step")
    parser.add_argument("--limit", type=float, default=1, help="seconds at p95 that still are no saturation")
    parser.add_argument("--closed", action="store_true", help="people wait for answers before their next act")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL for this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-load-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    with ExitStack() as started:
        started.callback(shutil.rmtree, folder, ignore_errors=True)
        import django

        django.setup()
        logging.getLogger("httpx").setLevel(logging.WARNING)
        if arguments.postgres:
            started.enter_context(own_postgres())
        report = run(arguments, folder)
    path = arguments.out / f"load-{report['database']}.json"
    print(f"Results written to {save(report, path)}")
    raise SystemExit(bool(report["wrong"] or any(row["errors"] for row in report["rows"])))


@contextmanager
def own_postgres() -> Iterator[None]:
    """Use a PostgreSQL that syncs every commit, here and in the service."""
    from environ import Env

    from bench.queue.servers import SyncedCluster
    from tests.places.tables import default_is

    cluster = SyncedCluster()
    os.environ["DATABASE_URL"] = cluster.address("postgres")
    try:
        with default_is(dict(Env.db_url_config(os.environ["DATABASE_URL"]))):
            yield
    finally:
        cluster.close()


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Seed, start and load the service; return the report."""
    from django.core.management import call_command
    from django.db import connection, connections

    from bench.load import running
    from evalsvc.core.accounts.models import User

    call_command("migrate", verbosity=0)
    if User.objects.exists():
        raise SystemExit("The database of DATABASE_URL has accounts. Use an empty one.")
    port = running.free_port()
    crowd = running.seed(
        f"http://127.0.0.1:{port}", annotators=arguments.annotators, teams=arguments.teams,
        readers=arguments.readers, items=arguments.items, seed=arguments.seed,
    )  # fmt: skip
    log("seeded")
    report = {"database": connection.vendor, "seed": arguments.seed, "closed": arguments.closed}
    with running.service(folder, port) as pid:
        connections.close_all()
        log("started")
        rows, held = asyncio.run(load(arguments, crowd, pid))
        report |= {"rows": rows, "held": held, "wrong": crowd.wrong()}
    print(summary(report))
    return report


async def load(
    arguments: argparse.Namespace, crowd: Any, pid: int
) -> tuple[list[dict[str, Any]], float | None]:
    begun = time.perf_counter()
    await asyncio.gather(*(annotator.open() for annotator in crowd.annotators))
    opened = generator.spread(crowd.record.seconds["label page"])
    log(f"{len(crowd.annotators)} forms opened in {time.perf_counter() - begun:.1f} s, page {opened}")
    # each web process imports some modules with its first submission
    await generator.step(crowd.people, crowd.record, factor=4, seconds=WARM_SECONDS, seed=0)
    if crowd.record.errors:
        raise SystemExit(f"Errors before the first step: {crowd.record.errors[:3]}")
    try:
        step = partial(report_step, arguments, crowd, pid)
        return await generator.climb(step, arguments.factors, limit=arguments.limit)
    finally:
        await crowd.close()


async def report_step(arguments: argparse.Namespace, crowd: Any, pid: int, factor: float) -> Row:
    from bench.queue.servers import cpu_seconds

    before = cpu_seconds(pid)
    row = await generator.step(
        crowd.people, crowd.record, factor=factor, seconds=arguments.seconds, seed=arguments.seed,
        closed=arguments.closed,
    )  # fmt: skip
    row["server ms"] = round(1000 * (cpu_seconds(pid) - before) / max(1, row["requests"]), 1)
    log(table_row(row))
    return row


def table_row(row: dict[str, Any]) -> str:
    head = (
        "factor {factor:g}: {rate}/s, {errors} errors, {missed} missed, client {client cpu} CPU, load {load}"
    )
    kinds = (f"    {kind}: {figures}" for kind, figures in row["kinds"].items())
    return "\n".join([head.format(**row), *kinds, *row["first errors"]])


def summary(report: dict[str, Any]) -> str:
    best = [row for row in report["rows"] if row["factor"] == report["held"]]
    held = f"held up to factor {best[0]['factor']:g}, {best[0]['rate']} requests/s" if best else "never held"
    errors = sum(row["errors"] for row in report["rows"])
    stored = report["wrong"] or "everything acknowledged is stored"
    return f"{report['database']}: {held}; {errors} errors; {stored}"


if __name__ == "__main__":
    main()
