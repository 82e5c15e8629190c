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
from pathlib import Path
from typing import Any, NamedTuple
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
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="imports by each way")
    parser.add_argument("--only", choices=GOALS, action="append", help="measure up to these imports")
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
            found = measured(arguments.items, rounds=arguments.rounds, only=arguments.only or list(GOALS))
            reports = [judged(report, report["goals"]) for report in found]
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


def lines_of(what: str, items: int) -> Iterator[dict[str, Any]]:
    """Yield sentences with source labels, which are gold as well, or answers to them."""
    for row in map(sentence, range(items)):
        if what != "votes":
            yield row
            continue
        for by in range(ANSWERS):
            yield {"item": row["id"], "annotator": f"a{by}", "labels": [row["relation"]]}


def measured(items: int, *, rounds: int = ROUNDS, only: Sequence[str] = tuple(GOALS)) -> list[dict[str, Any]]:
    """Import sentences with source labels, answers to them, and gold."""
    found: dict[str, dict[str, list[Measured]]] = {}
    for at in range(rounds):
        for way in ("copy", "bulk_create"):
            importer = Importer(f"{way}-{at}", way)
            for what in only:
                found.setdefault(what, {}).setdefault(way, []).append(importer.measured(what, items))
    return [report(what, items, ways) for what, ways in found.items()]


def report(what: str, items: int, ways: dict[str, list[Measured]]) -> dict[str, Any]:
    inserting, job = (
        {way: statistics.median(getattr(each, part) for each in rounds) for way, rounds in ways.items()}
        for part in ("inserting", "job")
    )
    return {
        "case": f"import of {what}, {items:,} sentences",
        "goals": [Goal("insert", least=GOALS[what])],
        "insert": round(inserting["bulk_create"] / inserting["copy"], 2),
        "job": round(job["bulk_create"] / job["copy"], 2),
        "seconds of inserting": {way: round(value, 2) for way, value in inserting.items()},
        "seconds of the job": {way: round(value, 2) for way, value in job.items()},
        "megabytes grown": {way: max(each.megabytes for each in rounds) for way, rounds in ways.items()},
        "load": os.getloadavg()[0],
    }


class Measured(NamedTuple):
    """Seconds of inserting rows and of the whole job; how much its process grew."""

    inserting: float
    job: float
    megabytes: int


class Importer:
    """A project of its own, imported into in one way."""

    def __init__(self, name: str, way: str) -> None:
        from annotation import projects
        from evalsvc.core.accounts.models import User

        self.name, self.way = name, way
        self.olga, _ = User.objects.get_or_create(username="olga", defaults={"may_organise": True})
        self.project = projects.create(title=name, kind="relations", by=self.olga)

    def measured(self, what: str, items: int) -> Measured:
        """Import a file, and return its seconds and memory."""
        from annotation.imports import batches
        from bench.service.cases import memory
        from evalsvc.core.jobs.models import Job
        from workers.runner import run_inline

        options = {"labels": "add"} if what != "gold" else {"name": self.name, "version": "1.0"}
        with tempfile.TemporaryFile() as file:
            file.writelines(json.dumps(line).encode() + b"\n" for line in lines_of(what, items))
            file.seek(0)
            batch = batches.receive(
                content=what,
                upload=file,
                filename=f"{what}.jsonl",
                by=self.olga,
                options=options,
                project=None if what == "gold" else self.project,
            )
        before = forget_peak()
        with timed(self.way) as clock:
            begun = time.perf_counter()
            job = run_inline(Job.objects.get(kind="import", subject=batch.pk))
            took = time.perf_counter() - begun
        batch.refresh_from_db()
        if batch.state != batch.State.DONE:
            raise RuntimeError(f"the import of {what} ended {batch.state}: {job.error}")
        return Measured(clock[0], took, memory(os.getpid(), "VmHWM") - before)


def forget_peak() -> int:
    """Let Linux record the peak memory anew; return the memory in use."""
    from bench.service.cases import memory

    Path("/proc/self/clear_refs").write_text("5")
    return memory(os.getpid(), "VmRSS")


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
