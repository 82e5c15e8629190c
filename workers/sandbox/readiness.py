"""Whether strangers' pipelines may run on this machine: every forbidden thing is tried first."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workers.sandbox import allowed_syscalls, landlock
from workers.sandbox.confinement import Bounds
from workers.sandbox.launcher import Ended, launch, place
from workers.sandbox.prctl import NotConfined

BOUNDS = Bounds(seconds=180, memory_bytes=2_000_000_000, result_bytes=100_000)


@dataclass(frozen=True, slots=True)
class Readiness:
    """`why_not` is empty when everything was refused as it must be."""

    why_not: str
    told: str = ""

    @property
    def ready(self) -> bool:
        return not self.why_not


@lru_cache(maxsize=1)
def readiness() -> Readiness:
    """Try once per process."""
    if platform.system() != "Linux":
        return Readiness("Models need Linux.")
    try:
        allowed_syscalls.machine()
        abi = landlock.version()
    except NotConfined as error:
        return Readiness(str(error))
    why_not, report = self_test()
    return Readiness(why_not, f"Landlock {abi}, {len(report)} forbidden things were tried and refused.")


def self_test() -> tuple[str, dict[str, bool]]:
    """Why models can't run here, or nothing; and each thing tried with whether it was refused."""
    with place() as folder:
        (folder / "beside.txt").write_text("not for the model")
        (folder / "beside.txt").chmod(0o666)
        (folder / "model" / "config.cfg").write_text("[nlp]\n")
        given = {"memory_bytes": BOUNDS.memory_bytes}
        ended = launch("probe", folder, bounds=BOUNDS, given=given, modules=["spacy.lang.xx"])
        return judged(ended, folder / "out" / "result.jsonl")


def judged(ended: Ended, result: Path) -> tuple[str, dict[str, bool]]:
    """Only a whole report in which everything was refused counts; silence doesn't."""
    text = result.read_text()
    if ended.overdue or ended.code != 0 or not text:
        return f"The self-test of the sandbox did not end: {ended.kind} {ended.said}".rstrip(), {}
    report: dict[str, bool] = json.loads(text)["refused"]
    allowed = [name for name, was_refused in report.items() if not was_refused]
    if allowed:
        return f"The sandbox let through what it must refuse: {', '.join(allowed)}.", report
    return "", report
