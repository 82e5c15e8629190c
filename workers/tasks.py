"""The one Celery task."""

from evalsvc.celery import app
from evalsvc.jobs import hearing
from workers import runner, trying


@app.task(name="workers.run_next")
def run_next(queue: str) -> None:
    """There may be work in this queue: do one job of it."""
    if trying.runs_models(queue):
        trying.still_here()
    hearing.looks_for_work(queue)
    runner.run_next(queue)
