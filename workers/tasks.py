"""The one Celery task."""

from evalsvc.celery import app
from evalsvc.core.jobs import worker_presence
from workers import runner
from workers.sandbox import startup_check


@app.task(name="workers.run_next")
def run_next(queue: str) -> None:
    """There may be work in this queue: do one job of it."""
    if startup_check.runs_models(queue):
        startup_check.still_here()
    worker_presence.record_seen(queue)
    runner.run_next(queue)
