"""`python -m bench.service`: how long the service lets a submission wait, and what a large one costs the web.

Starts the real thing on an empty folder (SQLite unless DATABASE_URL is set): Valkey, gunicorn, beat, and one
worker with one process. Times are those that the service itself wrote down, and those that a client sees.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SENTENCES, TOKENS, TYPES = 10_000, 20, ["PER", "LOC", "ORG", "MISC"]
PAIRS, RELATIONS, FACTS = 5_174, 24, 2_000
IDLE, ROUNDS = 20, 10
LARGE_BYTES = 100_000_000
Lines = Iterator[dict[str, Any]]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-bench-"))
    os.environ["EVALSVC_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    import django

    django.setup()
    try:
        with Service(folder) as service:
            for report in (idle(service), entities(service), bags(service), large(service)):
                print(json.dumps(report, indent=1), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Service:
    """The processes of the service on a free port, and one team with a token."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Service:
        from django.core.management import call_command

        from evalsvc.serving.broker import EmbeddedBroker
        from evalsvc.serving.children import Child
        from evalsvc.serving.supervisor import answers, commands

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.broker = EmbeddedBroker(self.folder / "broker")
        self.broker.start()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {**os.environ, "BROKER_URL": self.broker.url}
        self.children = []
        for name, command in commands(host="127.0.0.1", port=port).items():
            if name == "worker":
                command[command.index("--concurrency") + 1] = "1"
            if name == "web":
                command[command.index("--workers") + 1] = "1"
            self.children.append(Child(name, command, env=env, log=self.folder / f"{name}.log"))
            self.children[-1].start()
        until(lambda: answers(f"{self.url}/healthz"))
        self.people()
        return self

    def __exit__(self, *_: object) -> None:
        end = time.monotonic() + 10
        for child in reversed(self.children):
            child.tell_to_stop()
        for child in reversed(self.children):
            child.wait_or_kill(until=end)
        self.broker.close()

    def people(self) -> None:
        from evalsvc.teams.membership import create_team
        from evalsvc.teams.models import User
        from evalsvc.teams.tokens import issue

        self.olga = User.objects.create_user("olga", may_organise=True)
        self.team = create_team(name="Kelpie", by=self.olga)
        _, self.token = issue(self.olga, name="bench", team=self.team, scope="full")

    def submit(self, slug: str, body: Any, *, run: str, length: int | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/x-ndjson"}
        if length is not None:
            headers["Content-Length"] = str(length)
        address = f"{self.url}/api/v1/benchmarks/{slug}/submissions?system=Net&run={run}"
        with urlopen(Request(address, data=body, headers=headers), timeout=600) as answer:
            told: dict[str, Any] = json.load(answer)
            return told

    def ended(self, pk: int) -> Any:
        from evalsvc.evaluation.models import Submission

        until(lambda: Submission.objects.filter(pk=pk, ended_at__isnull=False).exists(), every=0.02)
        submission = Submission.objects.select_related("job").get(pk=pk)
        if submission.state != "scored":
            raise RuntimeError(f"{submission.state}: {submission.reason}")
        return submission

    def web(self) -> int:
        """The gunicorn child that answers."""
        (child,) = (child for child in self.children if child.name == "web")
        process: Any = child.process
        found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return int(found[0])


def until(holds: Callable[[], bool], *, seconds: float = 120, every: float = 0.1) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("It took too long.")
        time.sleep(every)


def spread(seconds: list[float]) -> dict[str, float]:
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    return {
        "median": round(statistics.median(seconds), 3),
        "p95": round(p95, 3),
        "max": round(max(seconds), 3),
    }


# ---- what is scored ------------------------------------------------------------------------------
def jsonl(lines: Lines) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def documents() -> Lines:
    rng = random.Random(1)
    for at in range(SENTENCES):
        tokens = [f"w{rng.randrange(20_000)}" for _ in range(TOKENS)]
        spans = [[start, start + 2, rng.choice(TYPES)] for start in (2, 8, 14) if rng.random() < 0.6]
        yield {"id": f"d{at}", "tokens": tokens, "spans": spans, "relations": []}


def said(seed: int) -> Lines:
    rng = random.Random(1_000 + seed)
    for at in range(SENTENCES):
        spans = [[s, s + rng.choice((1, 2)), rng.choice(TYPES)] for s in (2, 8, 14) if rng.random() < 0.6]
        yield {"id": f"d{at}", "spans": spans}


def pairs() -> Lines:
    rng = random.Random(2)
    for at in range(PAIRS):
        names = [f"rel{rng.randrange(RELATIONS)}"] if rng.random() < FACTS / PAIRS else []
        ends = {
            "h": {"id": f"h{at}", "name": "Aa", "pos": [0, 2]},
            "t": {"id": f"t{at}", "name": "Bb", "pos": [3, 5]},
        }
        yield {"id": f"s{at}", "text": "Aa Bb", **ends, "relations": names}


def scores(seed: int) -> Lines:
    rng = random.Random(2_000 + seed)
    for at in range(PAIRS):
        for relation in range(RELATIONS):
            score = round(rng.random(), 6)
            yield {"h": f"h{at}", "t": f"t{at}", "relation": f"rel{relation}", "score": score}


def opened(
    service: Service, slug: str, gold: Lines, *, task: str, labels: list[str], unit: str, main: str
) -> None:
    from evalsvc.evaluation import benchmarks
    from tests.evalsvc.evaluation.cast import freeze

    kind = "entities" if task == "entities" else "relations"
    test_set = freeze(f"{slug}-gold", gold, by=service.olga, labels=labels, kind=kind)
    told: dict[str, Any] = {"title": slug, "slug": slug, "task": task, "labels": labels, "by": service.olga}
    benchmark = benchmarks.create(**told, negative="" if task == "entities" else "N/A")
    benchmarks.add_setting(
        benchmark, key="main", title="Main", test_set=test_set, unit=unit, main=main, by=service.olga
    )


# ---- what is measured ----------------------------------------------------------------------------
def idle(service: Service) -> dict[str, Any]:
    """Small files, one after the other, each into an idle service: accepted to running."""
    few = [line for _, line in zip(range(50), pairs(), strict=False)]
    told = {"task": "relations", "labels": [f"rel{n}" for n in range(RELATIONS)]}
    opened(service, "idle", iter(few), unit="bag", main="ap", **told)  # type: ignore[arg-type]
    to_running, to_scored = [], []
    for run in range(IDLE + 1):
        body = jsonl(line for line in scores(run) if int(line["h"][1:]) < 50)
        submission = service.ended(service.submit("idle", body, run=str(run))["id"])
        queued, claimed = (submission.job.events.get(what=what).at for what in ("queued", "claimed"))
        to_running.append((claimed - queued).total_seconds())
        to_scored.append((submission.ended_at - queued).total_seconds())
        time.sleep(0.1)
    return {
        "case": "idle submit → running", "goal": "p95 ≤ 1 s", "first": round(to_running[0], 3),
        **spread(to_running[1:]), "to scored": spread(to_scored[1:]),
    }  # fmt: skip


def entities(service: Service) -> dict[str, Any]:
    opened(service, "ner", documents(), task="entities", labels=TYPES, unit="document", main="conll_micro_f1")
    return _scored(service, "ner", said, f"{SENTENCES:,} NER sentences", goal="p95 ≤ 2 s")


def bags(service: Service) -> dict[str, Any]:
    labels = [f"rel{n}" for n in range(RELATIONS)]
    opened(service, "nyt", pairs(), task="relations", labels=labels, unit="bag", main="ap")
    return _scored(service, "nyt", scores, f"{PAIRS:,} pairs × {RELATIONS} relations", goal="p95 ≤ 5 s")


def _scored(
    service: Service, slug: str, make: Callable[[int], Lines], title: str, *, goal: str
) -> dict[str, Any]:
    """Accepted to scored by the service, against the same handler called in this process."""
    waited, sent, here = [], [], []
    for run in range(ROUNDS + 1):
        body = jsonl(make(run))
        begun = time.perf_counter()
        pk = service.submit(slug, body, run=str(run))["id"]
        sent.append(time.perf_counter() - begun)
        submission = service.ended(pk)
        queued = submission.job.events.get(what="queued").at
        waited.append((submission.ended_at - queued).total_seconds())
        here.append(_in_process(submission))
    overhead = [w - h for w, h in zip(waited, here, strict=True)]
    return {
        "case": f"accepted → scored, {title}", "goal": goal, "megabytes": round(len(body) / 1e6, 1),
        "first": round(waited[0], 3), **spread(waited[1:]), "in this process": spread(here[1:]),
        "overhead": {"goal": "≤ 1 s", **spread(overhead[1:])}, "request itself": spread(sent[1:]),
    }  # fmt: skip


def _in_process(submission: Any) -> float:
    """Reading the stored file, the gold, and scoring; nothing stored, nothing reused."""
    from evalsvc.evaluation import identity
    from workers.scoring import _scored as scored_here

    begun = time.perf_counter()
    list(scored_here(submission, identity.fitting(submission), lambda *_: None))  # type: ignore[arg-type]
    return time.perf_counter() - begun


def large(service: Service) -> dict[str, Any]:
    """100 MB of JSONL through one gunicorn process: how far its memory goes up."""
    labels = [f"rel{n}" for n in range(RELATIONS)]
    opened(service, "large", pairs(), task="relations", labels=labels, unit="sentence", main="ap")
    path = service.folder / "large.jsonl"
    rng = random.Random(3)
    with path.open("wb") as file:
        for at in range(PAIRS):
            line = {"id": f"s{at}", "scores": {name: rng.random() for name in labels}}
            file.write(json.dumps(line).encode().ljust(LARGE_BYTES // PAIRS) + b"\n")
    service.ended(service.submit("large", path.read_bytes(), run="warm")["id"])
    pid = service.web()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the high-water mark begins anew
    before = memory(pid, "VmRSS")
    begun = time.perf_counter()
    with path.open("rb") as file:
        service.submit("large", file, run="cold", length=path.stat().st_size)
    return {
        "case": f"{path.stat().st_size / 1e6:.0f} MB of JSONL", "goal": "growth < 100 MB",
        "before": before, "peak": memory(pid, "VmHWM"), "growth": memory(pid, "VmHWM") - before,
        "seconds": round(time.perf_counter() - begun, 2),
    }  # fmt: skip


def memory(pid: int, name: str) -> int:
    """Megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) // 1024
    raise LookupError(name)


if __name__ == "__main__":
    main()
    sys.exit(0)
