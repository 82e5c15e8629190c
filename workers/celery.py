"""The app of `celery -A workers`: its task, clock and start-up steps."""

import gc
from importlib import import_module
from typing import Any

import django
from celery import bootsteps
from django.conf import settings

from evalsvc.celery import app

django.setup()
app.conf.imports = ("workers.runner",)


class Preload(bootsteps.Step):
    """Start-up step that imports all handlers before the pool forks."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        from workers.runner import HANDLER_PATHS

        for path in HANDLER_PATHS.values():
            import_module(path.partition(":")[0])
        gc.freeze()  # these objects stay: no process scans or copies them


for step in (Preload, "workers.sandbox.readiness:ModelSelfTest", "workers.interruption:HandBack"):
    app.steps["worker"].add(step)
# A tick runs what a lost message, an expired lease or a retry left waiting. A late one is of no use.
app.conf.beat_schedule = {
    f"tick {queue}": {
        "task": "workers.run_next",
        "schedule": settings.JOB_RECONCILE_SECONDS,
        "args": (queue,),
        "options": {"queue": queue, "expires": settings.JOB_RECONCILE_SECONDS},
    }
    for queue in settings.JOB_QUEUES
}

__all__ = ["app"]
