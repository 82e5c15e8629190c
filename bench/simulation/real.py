"""Real workers under a load, and what the table of jobs says about it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.service.running import wait_until
from bench.simulation.model import Floats, Load
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue
from evalsvc.local.child_process import children
from evalsvc.local.embedded_broker import EmbeddedBroker

QUEUE, END_SECONDS = "score", 300


@dataclass
class Measured:
    """Seconds of each job from its arrival to its claim and its end, at work, and between jobs.

    `repair` is the median from the kill of a process to the first claim of its successor.
    """

    waits: Floats
    ends: Floats
    service: Floats
    gaps: Floats
    repair: float = 1.0


@contextmanager
def workers(folder: Path, broker: EmbeddedBroker, processes: int) -> Iterator[int]:
    """One worker with its beat; yield its process id."""
    log = folder / f"worker{processes}.log"
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "bench.simulation.timed_jobs",
        "worker",
        "--beat",
        "--loglevel",
        "INFO",
    ]
    command += ["--concurrency", str(processes), "-Q", QUEUE, "--schedule", str(folder / "beat")]
    with log.open("wb") as out:
        environment = {**os.environ, "BROKER_URL": broker.url, "MODEL_UPLOADS": "off"}
        worker = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        wait_until(lambda: b" ready." in log.read_bytes())
        yield worker.pid
    finally:
        worker.terminate()
        worker.wait(60)


def play(load: Load, worker: int, *, crashes: Sequence[float] = (), seed: int = 0) -> Measured:
    """Enqueue the jobs at their times, kill busy processes at theirs, and wait for the end of all."""
    kinds.register(kinds.Kind("timed", QUEUE))
    kills = list[float]()
    rng, rows, begun = np.random.default_rng(seed), list[int](), time.perf_counter()
    plan = [(float(at), job) for job, at in enumerate(load.at)] + [(at, -1) for at in crashes]
    for at, job in sorted(plan):
        time.sleep(max(0.0, begun + at - time.perf_counter()))
        if job < 0:
            kills += kill_one(worker, rng)
        else:
            subject = round(1e6 * float(load.seconds[job]))
            rows.append(enqueue("timed", subject, lane=f"team{load.lane[job]}").pk)
    jobs = Job.objects.filter(pk__in=rows)
    wait_until(lambda: not jobs.exclude(state__in=Job.ENDED).exists(), seconds=END_SECONDS, every=0.5)
    result = measured(rows)
    if repairs := [*successors(rows, kills)]:
        result.repair = float(np.median(repairs))
    return result


def successors(rows: Sequence[int], kills: Sequence[float]) -> Iterator[float]:
    """Seconds from each kill to the first claim of the process that came next."""
    firsts: dict[str, float] = {}
    for event in JobEvent.objects.filter(job__in=rows, what="claimed").order_by("pk"):
        firsts.setdefault(event.detail, event.at.timestamp())
    for kill in kills:
        later = [first - kill for first in firsts.values() if first > kill]
        yield from [min(later)] if later else []


def kill_one(worker: int, rng: np.random.Generator) -> list[float]:
    """Kill a busy process, if there is any; return when."""
    running = Job.objects.filter(state="running").values_list("worker", flat=True)
    busy = sorted({int(name.split(":")[1]) for name in running} & set(children(worker)))
    if busy:
        os.kill(int(rng.choice(busy)), signal.SIGKILL)
    return [time.time()] if busy else []


def measured(rows: Sequence[int]) -> Measured:
    """Read the events of these jobs, in their order."""
    events: dict[int, dict[str, float]] = {pk: {} for pk in rows}
    ends: dict[str, list[tuple[float, float]]] = defaultdict(list)
    service, claims = dict.fromkeys(rows, np.nan), dict[tuple[int, int], tuple[float, str]]()
    for event in JobEvent.objects.filter(job__in=rows).order_by("pk"):
        at, times = event.at.timestamp(), events[event.job_id]
        times.setdefault(event.what, at)
        if event.what == "claimed":
            claims[event.job_id, event.attempt] = at, event.detail
        elif event.what == "done":
            since, process = claims[event.job_id, event.attempt]
            service[event.job_id] = at - since
            ends[process].append((since, at))
    arrived, claimed, done = (
        np.array([times.get(what, np.nan) for times in events.values()])
        for what in ("queued", "claimed", "done")
    )
    waiting = np.sort(arrived)
    gaps = [
        start - end
        for spans in ends.values()
        for (_, end), (start, _) in pairwise(spans)
        # work was waiting: more had arrived than had been claimed when the job ended
        if np.searchsorted(waiting, end) > np.count_nonzero(claimed <= end)
    ]
    return Measured(claimed - arrived, done - arrived, np.array([*service.values()]), np.array(gaps or [0.0]))
