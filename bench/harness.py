"""Measurement of a case: own process, one CPU, ABBA order, equal figures, medians."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 5
Row = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """A bound on a figure of a report; a dot leads into a part of the report."""

    figure: str
    least: float | None = None
    most: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        sign, bound = ("≤", self.most) if self.least is None else ("≥", self.least)
        return f"{self.figure} {sign} {bound:g}{self.unit}"

    def missed(self, report: Row) -> bool:
        value: Any = report
        for name in self.figure.split("."):
            value = value[name]
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        return not low <= value <= high


def judged(report: Row, goals: Iterable[Goal]) -> Row:
    """The report with its goals and those that it misses, as text."""
    return report | {
        "goals": [str(goal) for goal in goals],
        "missed": [str(goal) for goal in goals if goal.missed(report)],
    }


def exit_code(rows: Sequence[Row], title: str) -> int:
    """Name each goal that was missed; 1 if there is any."""
    missed = [f"{row[title]}: missed {goal}" for row in rows for goal in row["missed"]]
    for line in missed:
        log(line)
    return int(bool(missed))


@dataclass(frozen=True)
class Side:
    """One implementation: `build` makes its input in memory (timed separately), `run` does the work.

    `units` is the number of repetitions in a run; sides are compared per unit.
    """

    name: str
    build: Callable[[], Any]
    run: Callable[[Any], Any]
    units: int = 1


@dataclass(frozen=True)
class Case:
    """One comparison; `same` raises if the figures of the two sides differ."""

    key: str
    title: str
    goals: tuple[Goal, ...]
    ours: Side
    theirs: Side
    same: Callable[[Any, Any], None]
    floor: Side | None = None
    versions: tuple[str, ...] = ()
    rounds: int = ROUNDS
    memory: bool = False
    remark: str = ""


@dataclass
class Timing:
    """CPU seconds per unit in each round."""

    name: str
    build: float
    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


def pin() -> None:
    """Pin this process to one CPU, since moves add noise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work`, including its child processes, and its result."""
    gc.collect()
    start = cpu_seconds()
    result = work()
    return cpu_seconds() - start, result


def cpu_seconds() -> float:
    """CPU seconds so far of this process and its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(case: Case) -> dict[str, Any]:
    """Run a case in this process and return its report."""
    pin()
    sides = [case.ours, case.theirs] + ([case.floor] if case.floor else [])
    data, timings = {}, {}
    for side in sides:
        seconds, data[side.name] = timed(side.build)
        timings[side.name] = Timing(side.name, seconds)
    log(f"{case.key}: built, comparing the figures")
    case.same(case.ours.run(data[case.ours.name]), case.theirs.run(data[case.theirs.name]))
    for number in range(case.rounds):
        order = sides if number % 2 == 0 else sides[::-1]
        for side in order:
            seconds, _ = timed(lambda side=side: side.run(data[side.name]))
            timings[side.name].rounds.append(seconds / side.units)
        log(f"{case.key}: round {number + 1} of {case.rounds}")
    return report(case, timings)


def spread(ours: Timing, theirs: Timing) -> tuple[float, float, float]:
    """Median, minimum and maximum of theirs / ours over the rounds."""
    ratios = sorted(b / a for a, b in zip(ours.rounds, theirs.rounds, strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


def report(case: Case, timings: dict[str, Timing]) -> dict[str, Any]:
    ours, theirs = timings[case.ours.name], timings[case.theirs.name]
    floor = timings[case.floor.name] if case.floor else None
    middle, least, most = spread(ours, theirs)
    return {
        "key": case.key,
        "title": case.title,
        "remark": case.remark,
        "ratio": middle,
        "ratio_range": [least, most],
        "to_floor": ours.median / floor.median if floor else None,
        "timings": [asdict(t) | {"median": t.median} for t in timings.values()],
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": {name: importlib.metadata.version(name) for name in case.versions},
    }


def measure_apart(key: str) -> dict[str, Any]:
    """Measure a case in its own process."""
    run = subprocess.run(
        [sys.executable, "-m", "bench", "--one", key], stdout=subprocess.PIPE, text=True, check=True
    )
    row: dict[str, Any] = json.loads(run.stdout)
    return row


def peak(side: Side) -> float:
    """Run one side in this process; return the peak memory in MB."""
    side.run(side.build())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peaks(key: str, case: Case) -> dict[str, float]:
    """Peak memory of each side, each in its own process."""
    sizes = {}
    for name in ("ours", "theirs"):
        run = subprocess.run(
            [sys.executable, "-m", "bench", "--peak", key, name],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        sizes[getattr(case, name).name] = float(run.stdout)
    return sizes


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def table_row(row: dict[str, Any]) -> str:
    """Format a report for the terminal."""
    least, most = row["ratio_range"]
    floor = f"{row['to_floor']:.2f}× the floor" if row["to_floor"] else "no floor"
    medians = ", ".join(_timing(timing) for timing in row["timings"])
    built = ", ".join(f"{timing['name']} {timing['build']:.3f} s" for timing in row["timings"])
    memory = "".join(f"; peak memory of {name} {size:,.0f} MB" for name, size in row.get("peaks", {}).items())
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    goals = f"goals {', '.join(row['goals'])}" if row["goals"] else "no goal"
    missed = f"MISSED: {', '.join(row['missed'])}" if row["missed"] else ""
    return "\n    ".join(
        [
            row["title"],
            f"{row['ratio']:.2f}× ({least:.2f} to {most:.2f}), {goals}; ours is {floor}",
            f"medians: {medians}{memory}",
            f"building, not included: {built}",
            *filter(None, [row["remark"], versions, missed]),
        ]
    )


def _timing(timing: dict[str, Any]) -> str:
    low, high = min(timing["rounds"]), max(timing["rounds"])
    return f"{timing['name']} {timing['median']:.4f} s ({low:.4f} to {high:.4f})"


def save(results: dict[str, Any], path: Path) -> Path:
    """Write results as JSON, with the machine they come from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine()} | results, indent=1))
    return path
