"""At the start of a worker: whether models can run here is tried, and told to the web."""

from __future__ import annotations

import logging
import platform
import threading
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.db import connection

from evalsvc.evaluation import modelhosts
from evalsvc.jobs import kinds
from evalsvc.jobs.faults import caught
from workers.sandbox.readiness import readiness

log = logging.getLogger(__name__)


class ModelSelfTest(bootsteps.StartStopStep):
    """A step of the worker's start; it takes seconds, so the worker doesn't wait for it."""

    def start(self, parent: Any) -> None:
        if runs_models(*parent.app.amqp.queues.consume_from):
            threading.Thread(target=self._try, name="model self-test", daemon=True).start()

    def _try(self) -> None:
        error = caught(try_and_tell)
        connection.close()
        if error:
            log.error("The self-test for models was not stored", exc_info=error)


def runs_models(*queues: str) -> bool:
    """Whether a worker of these queues may be given a model."""
    return settings.MODEL_UPLOADS == "auto" and kinds.get("predict").queue in queues


def still_here() -> None:
    """This machine looks for work; what hinders the telling must not hinder the work."""
    error = caught(lambda: modelhosts.heard_of(platform.node()))
    if error:
        log.warning("It was not written down that models can still run here: %s", error)


def try_and_tell() -> None:
    """Run the self-test and keep its outcome under this machine's name."""
    found = readiness()
    modelhosts.report(platform.node(), why_not=found.why_not)
    if found.ready:
        log.info("Models can run here. %s", found.told)
    else:
        log.warning("Models can't run here: %s", found.why_not)
