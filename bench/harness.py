"""How a comparison is measured: own process, one CPU, ABBA order, equality first, medians with spread."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 5


@dataclass(frozen=True)
class Side:
    """One way to do the work: `build` makes its natural in-memory form (timed apart), `run` does it.

    `units` is how often a run does it: sides that do it differently often are compared per unit.
    """

    name: str
    build: Callable[[], Any]
    run: Callable[[Any], Any]
    units: int = 1


@dataclass(frozen=True)
class Case:
    """One comparison. `same` raises when the figures of the two sides are not equal."""

    key: str
    title: str
    goal: str
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
    """Seconds of CPU per unit, round by round."""

    name: str
    build: float
    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


def pin() -> None:
    """Stay on one CPU: the scheduler's moves are noise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def clocked(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work`, those of its child processes included, and what it gave."""
    gc.collect()
    start = spent()
    result = work()
    return spent() - start, result


def spent() -> float:
    """CPU seconds so far, of this process and of the children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(case: Case) -> dict[str, Any]:
    """Run one case in this process and report it."""
    pin()
    sides = [case.ours, case.theirs] + ([case.floor] if case.floor else [])
    data, timings = {}, {}
    for side in sides:
        seconds, data[side.name] = clocked(side.build)
        timings[side.name] = Timing(side.name, seconds)
    told(f"{case.key}: built, comparing the figures")
    case.same(case.ours.run(data[case.ours.name]), case.theirs.run(data[case.theirs.name]))
    for number in range(case.rounds):
        order = sides if number % 2 == 0 else sides[::-1]
        for side in order:
            seconds, _ = clocked(lambda side=side: side.run(data[side.name]))
            timings[side.name].rounds.append(seconds / side.units)
        told(f"{case.key}: round {number + 1} of {case.rounds}")
    return report(case, timings)


def spread(ours: Timing, theirs: Timing) -> tuple[float, float, float]:
    """Median, least and greatest ratio theirs / ours over the rounds."""
    ratios = sorted(b / a for a, b in zip(ours.rounds, theirs.rounds, strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


def report(case: Case, timings: dict[str, Timing]) -> dict[str, Any]:
    ours, theirs = timings[case.ours.name], timings[case.theirs.name]
    floor = timings[case.floor.name] if case.floor else None
    middle, least, most = spread(ours, theirs)
    return {
        "key": case.key,
        "title": case.title,
        "goal": case.goal,
        "remark": case.remark,
        "ratio": middle,
        "ratio_range": [least, most],
        "to_floor": ours.median / floor.median if floor else None,
        "timings": [asdict(t) | {"median": t.median} for t in timings.values()],
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": {name: importlib.metadata.version(name) for name in case.versions},
    }


def apart(key: str) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "bench", "--one", key], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def peak(side: Side) -> float:
    """Build and run one side in this process; its peak of memory in MB."""
    side.run(side.build())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peaks(key: str, case: Case) -> dict[str, float]:
    """The peak of each side, in a process of its own."""
    found = {}
    for name in ("ours", "theirs"):
        run = subprocess.run(
            [sys.executable, "-m", "bench", "--peak", key, name],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found[getattr(case, name).name] = float(run.stdout)
    return found


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    least, most = row["ratio_range"]
    floor = f"{row['to_floor']:.2f}× the floor" if row["to_floor"] else "no floor"
    medians = ", ".join(_timing(one) for one in row["timings"])
    built = ", ".join(f"{one['name']} {one['build']:.3f} s" for one in row["timings"])
    memory = "".join(f"; peak of {name} {size:,.0f} MB" for name, size in row.get("peaks", {}).items())
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    return "\n    ".join(
        [
            row["title"],
            f"{row['ratio']:.2f}× ({least:.2f} to {most:.2f}), goal {row['goal']}; ours is {floor}",
            f"medians: {medians}{memory}",
            f"building, apart: {built}",
            *filter(None, [row["remark"], versions]),
        ]
    )


def _timing(one: dict[str, Any]) -> str:
    return f"{one['name']} {one['median']:.4f} s ({min(one['rounds']):.4f} to {max(one['rounds']):.4f})"


def save(rows: list[dict[str, Any]], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine(), "cases": rows}, indent=1))
    return path
