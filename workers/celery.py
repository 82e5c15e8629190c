"""The app of `celery -A workers`: its task and start-up steps."""

import gc
import logging
from importlib import import_module
from typing import Any

import django
from celery import bootsteps
from celery.apps import worker
from django.conf import settings

from evalsvc.celery import app

django.setup()
logging.captureWarnings(True)  # lines of the log, as all others
if settings.LOG_FORMAT == "json":
    worker.safe_say = lambda *_: None  # “Warm shutdown”, written past the log
app.conf.imports = ("workers.runner",)


# Handlers load these when they need them; several processes share one copy.
SHARED = ("scipy.special", "scipy.sparse.csgraph", "spacy")


class Preload(bootsteps.Step):
    """Start-up step that imports all handlers before the pool forks."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        from workers.runner import HANDLER_PATHS

        for path in HANDLER_PATHS.values():
            import_module(path.partition(":")[0])
        if parent.concurrency > 1:
            for library in SHARED:
                import_module(library)
        gc.collect()
        gc.freeze()  # these objects stay: no process scans or copies them


for step in (Preload, "workers.sandbox.readiness:ModelSelfTest", "workers.interruption:HandBack"):
    app.steps["worker"].add(step)


__all__ = ["app"]
