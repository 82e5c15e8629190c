"""What `celery -A workers` finds: the app of the service, with the one task and the clock that repeats it."""

import django
from django.conf import settings

from evalsvc.celery import app

django.setup()
app.conf.imports = ("workers.tasks",)
for step in ("workers.preload:Warmed", "workers.sandbox.startup_check:ModelSelfTest"):
    app.steps["worker"].add(step)
# A tick heals what a lost hint, an expired lease or a back-off left waiting. A late one is of no use.
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
