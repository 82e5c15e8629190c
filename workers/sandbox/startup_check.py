"""At the start of a worker: whether models can run here is tried, and told to the web."""

from __future__ import annotations

import logging
import platform
import subprocess
import sys
from typing import Any

from celery import bootsteps
from django.conf import settings

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import caught
from evalsvc.evaluation.submissions import model_intake
from workers.sandbox.readiness import Readiness, readiness

log = logging.getLogger(__name__)


class ModelSelfTest(bootsteps.StartStopStep):
    """A step of the worker's start; the test takes seconds, so the worker doesn't wait for it.

    It is a process of its own, not a thread: one that starts a program while the worker forks its pool
    leaves an end of its pipe in the new process, and then waits for that process for ever.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, parent: Any) -> None:
        if runs_models(*parent.app.amqp.queues.consume_from):
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "try_models"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own code

    def stop(self, parent: Any) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()


def runs_models(*queues: str) -> bool:
    """Whether a worker of these queues may be given a model."""
    return settings.MODEL_UPLOADS == "auto" and kinds.get("predict").queue in queues


def still_here() -> None:
    """This machine looks for work; what hinders the telling must not hinder the work."""
    error = caught(lambda: model_intake.record_seen(platform.node()))
    if error:
        log.warning("It was not written down that models can still run here: %s", error)


def try_and_tell() -> Readiness:
    """Run the self-test and keep its outcome under this machine's name."""
    found = readiness()
    model_intake.record_self_test(platform.node(), why_not=found.why_not)
    return found
