"""The self-test at a worker's start, without which no model runs."""

from __future__ import annotations

import json
import logging
import platform
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from celery import bootsteps
from django.conf import settings

from evalsvc.core.database import insist
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import caught
from evalsvc.evaluation.submissions import model_intake
from workers.sandbox import landlock, system_calls
from workers.sandbox.confinement import Bounds
from workers.sandbox.launcher import ProcessEnd, launch, share, work_folder

log = logging.getLogger(__name__)
TRIES = 3
REAPED_EVERY_SECONDS = 10
BOUNDS = Bounds(seconds=180, memory_bytes=2_000_000_000, result_bytes=100_000)


@dataclass(frozen=True, slots=True)
class Readiness:
    """`reason` is empty where models can run."""

    reason: str
    detail: str = ""
    interrupted: bool = False

    @property
    def ready(self) -> bool:
        return not self.reason


def readiness() -> Readiness:
    """Run the self-test once per process, and again if it was interrupted."""
    result = _tested()
    if result.interrupted:
        _tested.cache_clear()
    return result


@lru_cache(maxsize=1)
def _tested() -> Readiness:
    if platform.system() != "Linux":
        return Readiness("Models need Linux.")
    try:
        system_calls.machine()
        abi = landlock.version()
    except system_calls.NotConfined as error:
        return Readiness(str(error))
    for _ in range(TRIES):
        end, reason, report = self_test()
        if not end.killed:
            break
    else:
        return Readiness(model_intake.INTERRUPTED, interrupted=True)
    return Readiness(reason, f"Landlock {abi}; {len(report)} forbidden actions were tried and denied.")


def self_test() -> tuple[ProcessEnd, str, dict[str, bool]]:
    """Try every forbidden action.

    Return the end, the reason against models, and results.
    """
    with work_folder() as folder:
        (folder / "beside.txt").write_text("not for the model")
        (folder / "beside.txt").chmod(0o666)
        (folder / "model" / "config.cfg").write_text("[nlp]\n")
        share(folder / "model" / "config.cfg")
        arguments = {"memory_bytes": BOUNDS.memory_bytes}
        end = launch("probe", folder, bounds=BOUNDS, arguments=arguments, modules=["spacy.lang.xx"])
        return end, *evaluate(end, folder / "out" / "result.jsonl")


def evaluate(end: ProcessEnd, result: Path) -> tuple[str, dict[str, bool]]:
    """Accept only a complete report in which everything was denied."""
    text = result.read_text()
    if end.overdue or end.code != 0 or not text:
        return f"The self-test of the sandbox failed: {end.kind} {end.message}".rstrip(), {}
    report: dict[str, bool] = json.loads(text)["denied"]
    allowed = [name for name, was_denied in report.items() if not was_denied]
    return (f"The sandbox allowed what it must deny: {', '.join(allowed)}." if allowed else ""), report


# ---- at the start of a worker --------------------------------------------------------------------
class ModelSelfTest(bootsteps.StartStopStep):
    """Start-up step that runs the self-test beside the worker.

    It is a process, not a thread: a thread that starts a program while the worker forks its pool leaves
    an end of its pipe in the new process, and then waits for that process for ever.
    """

    requires = ("celery.worker.components:Timer",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, parent: Any) -> None:
        if serves_models(*parent.app.amqp.queues.consume_from):
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "try_models"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own code
            parent.timer.call_repeatedly(REAPED_EVERY_SECONDS, self.process.poll)  # else it stays as a zombie

    def stop(self, parent: Any) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()


def serves_models(*queues: str) -> bool:
    """True when a worker of these queues may get a model."""
    return settings.MODEL_UPLOADS == "auto" and kinds.get("predict").queue in queues


def record_active() -> None:
    """Record that this machine asked for work; only log failures."""
    error = caught(_record_seen)
    if error:
        log.warning("The presence of a model host was not recorded: %s", error)


def _record_seen() -> None:
    """Record it, and run an interrupted self-test again."""
    model_intake.record_seen(platform.node())
    if model_intake.self_test_interrupted(platform.node()):
        run_and_record()


def run_and_record() -> Readiness:
    """Run the self-test and record its result under this machine's name.

    Without the result models are refused, so it waits for a database that is away.
    """
    name = platform.node()
    insist(
        lambda: model_intake.record_self_test(name, why_not=model_intake.INTERRUPTED)
    )  # until it has ended
    result = readiness()
    insist(lambda: model_intake.record_self_test(name, why_not=result.reason))
    return result
