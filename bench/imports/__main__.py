"""`python -m bench.imports [--items N]`: imports on PostgreSQL, by COPY and by `bulk_create`, in one run.

Whole import jobs on a temporary PostgreSQL with its default settings, both ways in turn. `insert` compares
the seconds in which rows are inserted, `job` those of the whole import, reading included. The server's
indexes and foreign keys cost both ways the same. Ends with exit code 1 if a ratio misses its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.harness import Goal, exit_code, judged, save

ROUNDS, ANSWERS = 3, 2
TEXT = "In the spring of that year Ida Holm moved from Bergen to {0}, where she worked for number {0}."
GOALS = {"items": 4, "votes": 4, "gold": 3}  # gold has one wide row, which costs the server most
RELATIONS = [f"people/person/relation_{number}" for number in range(20)]
Way = Callable[[Sequence[Any]], Any]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.imports", description=__doc__)
    parser.add_argument("--items", type=int, default=20_000, help="sentences of a file")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the JSON")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-bench-"))
    os.environ |= {"EVALSVC_DATA": str(folder), "BROKER_URL": "memory://"}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from bench.load.__main__ import own_postgres

    try:
        with own_postgres():
            call_command("migrate", verbosity=0)
            reports = [judged(report, report["goals"]) for report in measured(arguments.items)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(reports, indent=1, ensure_ascii=False))
    path = arguments.out / f"imports-{time.strftime('%Y%m%d-%H%M%S')}.json"
    print(f"Results written to {save({'cases': reports}, path)}")
    return exit_code(reports, "case")


def sentence(number: int) -> dict[str, Any]:
    text = TEXT.format(number)
    places = {"h": "Ida Holm", "t": "Bergen"}
    mentions = {
        key: {"id": f"{key}{number}", "name": name, "pos": [text.index(name), text.index(name) + len(name)]}
        for key, name in places.items()
    }
    return {"id": f"s{number}", "text": text, **mentions, "relation": RELATIONS[number % len(RELATIONS)]}


def measured(items: int) -> list[dict[str, Any]]:
    """Import sentences with source labels, answers to them, and gold."""
    rows = [sentence(number) for number in range(items)]
    answers = [
        {"item": row["id"], "annotator": f"a{by}", "labels": [row["relation"]]}
        for row in rows
        for by in range(ANSWERS)
    ]
    seconds: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for at in range(ROUNDS):
        for way in ("copy", "bulk_create"):
            importer = Importer(f"{way}-{at}", way)
            for what, lines in (("items", rows), ("votes", answers), ("gold", rows)):
                seconds.setdefault(what, {}).setdefault(way, []).append(importer.seconds(what, lines))
    return [report(what, items, ways) for what, ways in seconds.items()]


def report(what: str, items: int, ways: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    inserted, whole = (
        {way: statistics.median(round_[part] for round_ in rounds) for way, rounds in ways.items()}
        for part in (0, 1)
    )
    return {
        "case": f"import of {what}, {items:,} sentences",
        "goals": [Goal("insert", least=GOALS[what])],
        "insert": round(inserted["bulk_create"] / inserted["copy"], 2),
        "job": round(whole["bulk_create"] / whole["copy"], 2),
        "seconds of inserting": {way: round(value, 2) for way, value in inserted.items()},
        "seconds of the job": {way: round(value, 2) for way, value in whole.items()},
    }


class Importer:
    """A project of its own, imported into in one way."""

    def __init__(self, name: str, way: str) -> None:
        from annotation import projects
        from evalsvc.core.accounts.models import User

        self.name, self.way = name, way
        self.olga, _ = User.objects.get_or_create(username="olga", defaults={"may_organise": True})
        self.project = projects.create(title=name, kind="relations", by=self.olga)

    def seconds(self, what: str, lines: list[dict[str, Any]]) -> tuple[float, float]:
        """Return the seconds of inserting rows, and of the whole job."""
        from annotation.imports import batches
        from evalsvc.core.jobs.models import Job
        from workers.runner import run_inline

        options = {"labels": "add"} if what != "gold" else {"name": self.name, "version": "1.0"}
        batch = batches.receive(
            content=what,
            upload=BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()),
            filename=f"{what}.jsonl",
            by=self.olga,
            options=options,
            project=None if what == "gold" else self.project,
        )
        with timed(self.way) as clock:
            begun = time.perf_counter()
            job = run_inline(Job.objects.get(kind="import", subject=batch.pk))
            took = time.perf_counter() - begun
        batch.refresh_from_db()
        if batch.state != batch.State.DONE:
            raise RuntimeError(f"the import of {what} ended {batch.state}: {job.error}")
        return clock[0], took


@contextmanager
def timed(way: str) -> Iterator[list[float]]:
    """Insert rows this way, and add up the seconds."""
    from evalsvc.core.database import insert_many

    def bulk_create(rows: Sequence[Any]) -> list[Any]:
        return list(type(rows[0])._default_manager.bulk_create(rows, batch_size=500)) if rows else []

    insert: Way = insert_many if way == "copy" else bulk_create
    clock = [0.0]

    def insert_timed(rows: Sequence[Any]) -> Any:
        begun = time.perf_counter()
        try:
            return insert(rows)
        finally:
            clock[0] += time.perf_counter() - begun

    modules = ("annotation.imports.items", "annotation.imports.votes", "annotation.freezing.writer")
    patches = [patch(f"{module}.insert_many", insert_timed) for module in modules]
    for each in patches:
        each.start()
    try:
        yield clock
    finally:
        for each in patches:
            each.stop()


if __name__ == "__main__":
    sys.exit(main())
