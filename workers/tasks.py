"""The one Celery task."""

from evalsvc.celery import app
from evalsvc.core.jobs import queue_status
from workers import runner
from workers.sandbox import readiness


@app.task(name="workers.run_next")
def run_next(queue: str) -> None:
    """Run one job of the queue, if any is due."""
    if readiness.serves_models(queue):
        readiness.record_active()
    queue_status.record_seen(queue)
    runner.run_next(queue)
