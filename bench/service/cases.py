"""Cases measured on a running service."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from bench.harness import Goal
from bench.service import inputs
from bench.service.editor import editor
from bench.service.releases import release
from bench.service.rescoring import rescoring
from bench.service.running import Service, wait_until
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity
from evalsvc.evaluation.models import Submission
from workers.handlers import score
from workers.scoring.prediction_files import uncollected

IDLE, ROUNDS, WAITING, KILLS = 20, 10, 500, 3
SMALL = 50
Report = dict[str, Any]


def spread(seconds: list[float]) -> dict[str, float]:
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    figures = {"median": statistics.median(seconds), "p95": p95, "max": max(seconds)}
    return {name: round(value, 3) for name, value in figures.items()}


def idle(service: Service) -> Report:
    """Submit small files one by one to an idle service: accepted to running."""
    inputs.create_board(service, "idle", inputs.pairs(SMALL))
    to_running, to_scored = [], []
    for run in range(IDLE + 1):
        body = inputs.jsonl(inputs.claims(run, SMALL))
        submission = service.wait_for(service.submit("idle", body, run=str(run))["id"])
        queued, claimed = (submission.job.events.get(what=what).at for what in ("queued", "claimed"))
        to_running.append((claimed - queued).total_seconds())
        to_scored.append((submission.ended_at - queued).total_seconds())
        time.sleep(0.1)
    return {
        "case": "idle submit → running", "goals": [Goal("p95", most=1, unit=" s")],
        "first": round(to_running[0], 3),
        **spread(to_running[1:]),
        "to scored": {"first": round(to_scored[0], 3), **spread(to_scored[1:])},
    }  # fmt: skip


def entities(service: Service) -> Report:
    inputs.create_board(service, "ner", inputs.documents(), labels=inputs.TYPES, unit="document")
    return _scored(service, "ner", inputs.predictions, f"{inputs.SENTENCES:,} NER sentences", most=2)


def bags(service: Service) -> Report:
    inputs.create_board(service, "nyt", inputs.pairs())
    title = f"{inputs.PAIRS:,} pairs × {len(inputs.RELATIONS)} relations"
    return _scored(service, "nyt", inputs.claims, title, most=5)


def _scored(
    service: Service, slug: str, make: Callable[[int], inputs.Lines], title: str, *, most: float
) -> Report:
    """Measure accepted to scored, and the same handler in this process."""
    waited, sent, here = [], [], []
    for run in range(ROUNDS + 1):
        body = inputs.jsonl(make(run))
        begun = time.perf_counter()
        pk = service.submit(slug, body, run=str(run))["id"]
        sent.append(time.perf_counter() - begun)
        submission = service.wait_for(pk)
        queued = submission.job.events.get(what="queued").at
        waited.append((submission.ended_at - queued).total_seconds())
        here.append(scoring_seconds(submission))
    goals = [Goal("p95", most=most, unit=" s"), Goal("overhead.p95", most=1, unit=" s")]
    overhead = [w - h for w, h in zip(waited, here, strict=True)]
    return {
        "case": f"accepted → scored, {title}", "goals": goals, "megabytes": round(len(body) / 1e6, 1),
        "first": round(waited[0], 3), **spread(waited[1:]), "in this process": spread(here[1:]),
        "overhead": spread(overhead[1:]), "request itself": spread(sent[1:]),
    }  # fmt: skip


def scoring_seconds(submission: Submission) -> float:
    """Time to read file and gold and score; nothing is stored or reused."""
    begun = time.perf_counter()
    with uncollected():
        contract = file_contract.of_submission(submission)
        settings = scoring_identity.fitting(submission, contract)
        list(score._results(submission, contract, settings, lambda *_: None))  # type: ignore[arg-type]
    return time.perf_counter() - begun


def fair(service: Service) -> Report:
    """Measure one job of a team behind, and amid, 500 of another."""
    inputs.create_board(service, "fair", inputs.pairs(SMALL))
    bodies = [inputs.jsonl(inputs.claims(seed, SMALL)) for seed in range(WAITING + 2)]
    with service.worker_paused():
        for run in range(WAITING):
            service.submit("fair", bodies[run], run=str(run))
        last = service.submit("fair", bodies[-2], run="last", token=service.other)["id"]
    resumed = timezone.now()
    mine = Submission.objects.filter(benchmark__slug="fair")
    wait_until(lambda: mine.filter(state="scored").count() >= WAITING // 4)
    later = service.wait_for(service.submit("fair", bodies[-1], run="later", token=service.other)["id"])
    wait_until(lambda: mine.filter(state="scored").count() == WAITING + 2)
    jobs = Job.objects.filter(pk__in=mine.exclude(pk=later.pk).values("job"))
    waits = {job.subject: (job.started_at - resumed).total_seconds() for job in jobs if job.started_at}
    mean = statistics.fmean(waits.values())
    own_wait = (later.job.started_at - later.job.created_at).total_seconds()
    return {
        "case": f"one job beside {WAITING} of another team",
        "goals": [Goal("ratio", most=2, unit=" × the mean")],
        "mean wait": round(mean, 3), "wait of the last to come": round(waits[last], 3),
        "wait of one that comes later": round(own_wait, 3),
        "ratio": round(max(waits[last], own_wait) / mean, 3),
        "jobs a second": round(len(waits) / max(waits.values()), 1),
    }  # fmt: skip


def large(service: Service) -> Report:
    """Measure memory growth of a gunicorn process that receives 100 MB."""
    _wide(service)
    first, path = (inputs.scores(service.folder / f"{seed}.jsonl", seed=seed) for seed in (1, 2))
    service.wait_for(service.send("wide", first, run="warm")["id"])
    pid = service.web_worker_pid()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak
    before, begun = memory(pid, "VmRSS"), time.perf_counter()
    pk = service.send("wide", path, run="large")["id"]
    seconds, peak = time.perf_counter() - begun, memory(pid, "VmHWM")
    scored = service.wait_for(pk)
    return {
        "case": f"{path.stat().st_size / 1e6:.0f} MB of JSONL",
        "goals": [Goal("growth", most=100, unit=" MB")],
        "claims": scored.counts["claims"],
        "before": before, "peak": peak, "growth": peak - before, "seconds": round(seconds, 2),
        "to scored": round((scored.ended_at - scored.created_at).total_seconds(), 2),
    }  # fmt: skip


def killed(service: Service) -> Report:
    """Kill the scoring process; measure the time until its job runs again."""
    _wide(service)
    waits = []
    for kill in range(KILLS):
        path = inputs.scores(service.folder / "killed.jsonl", seed=10 + kill, n=inputs.PAIRS // 2)
        pk = service.send("wide", path, run=f"killed-{kill}")["id"]
        job = Submission.objects.get(pk=pk).job_id
        wait_until(lambda job=job: Job.objects.filter(pk=job, state="running").exists(), every=0.01)  # type: ignore[misc]
        os.kill(int(Job.objects.get(pk=job).worker.split(":")[1]), signal.SIGKILL)
        begun = timezone.now()
        again = service.wait_for(pk).job.events.get(what="claimed", attempt=2).at
        waits.append((again - begun).total_seconds())
    seconds = [round(wait, 2) for wait in waits]
    goals = [Goal("longest", most=15, unit=" s")]
    return {"case": "killed → running again", "goals": goals, "seconds": seconds, "longest": max(seconds)}


def _wide(service: Service) -> None:
    if not Submission.objects.filter(benchmark__slug="wide").exists():
        inputs.create_board(service, "wide", inputs.pairs(), labels=inputs.MANY, unit="sentence")


def memory(pid: int, name: str) -> int:
    """Memory of a process in MB, by a name in /proc/PID/status."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) // 1024
    raise LookupError(name)


CASES: dict[str, Callable[[Service], Report]] = {
    "idle": idle,
    "entities": entities,
    "bags": bags,
    "fair": fair,
    "large": large,
    "killed": killed,
    "rescoring": rescoring,
    "release": release,
    "editor": editor,
}
