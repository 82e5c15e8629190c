"""Run one job by the handler of its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module

from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, connection

from evalsvc.celery import app
from evalsvc.core.jobs import kinds, queue_status, transitions
from evalsvc.core.jobs import queue as job_queue
from evalsvc.core.jobs.exceptions import Cancelled, InputFault, LeaseLost, RetryLater, caught
from evalsvc.core.jobs.lease import Lease, Progress, reconcile
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store
from workers.sandbox import readiness

log = logging.getLogger(__name__)
DEFECT = "An internal error occurred. It was logged as job {pk}; the input is probably not at fault."
TIMED_OUT = "The job exceeded the time limit of the service."
INFRASTRUCTURE = (RetryLater, OperationalError, InterfaceError, ConnectionError)


# ---- the handler of each job kind, imported when first needed ------------------------------------
Handler = Callable[[int, Progress], Store]

HANDLER_PATHS = {
    "score": "workers.handlers.score:score",
    "check": "workers.handlers.score:check",
    "predict": "workers.handlers.predict:predict",
    "import": "workers.handlers.annotation:import_file",
    "freeze": "workers.handlers.annotation:freeze",
    "recompute": "workers.handlers.annotation:recompute",
    "describe": "workers.handlers.describe:describe",
    "agreement": "workers.handlers.agreement:agree",
}


def lazy_handler(path: str) -> Handler:
    """Return a handler that imports its module when called."""
    module, name = path.split(":")

    def handle(subject: int, progress: Progress) -> Store:
        handler: Handler = getattr(import_module(module), name)
        return handler(subject, progress)

    return handle


HANDLERS: dict[str, Handler] = {kind: lazy_handler(path) for kind, path in HANDLER_PATHS.items()}


# ---- running -------------------------------------------------------------------------------------
@app.task(name="workers.run_next")
def run_next_task(queue: str) -> None:
    """Run one job of the queue, if any; the only Celery task."""
    if readiness.serves_models(queue):
        readiness.record_active()
    queue_status.record_seen(queue)
    run_next(queue)


def run_next(queue: str) -> bool:
    """Run the fairest due job of the queue, if any."""
    reconcile()
    kinds.run_periodic()
    job = job_queue.claim(queue)
    if job is None:
        return False
    if job_queue.due(queue).exists():
        job_queue.wake_worker(queue)
    run(job)
    return True


def run_inline(job: Job) -> Job:
    """Run this job in this process unless another worker has it."""
    claimed = job_queue.claim_job(job)
    if claimed:
        run(claimed)
    return Job.objects.get(pk=job.pk)


def run(job: Job) -> None:
    """Run a claimed job and end this attempt, whatever happens."""
    log.info("Job %s: %s %s, attempt %s", job.pk, job.kind, job.subject, job.attempt)
    error = caught(lambda: _work(job))
    if error is None:
        log.info("Job %s: done", job.pk)
        return
    if isinstance(error, OperationalError | InterfaceError):
        connection.close()
    unended = caught(lambda: _end(job, error))
    if unended:  # the lease runs out and the job is queued again
        log.error("Job %s was not ended", job.pk, exc_info=unended)


def _work(job: Job) -> None:
    if job.kind not in HANDLERS:
        raise LookupError(f"There is no handler for the job kind {job.kind!r}.")
    with Lease(job) as lease:
        store = HANDLERS[job.kind](job.subject, Progress(lease))
    lease.check()
    transitions.complete(job, store)


def _end(job: Job, error: Exception) -> None:
    """End the attempt as the exception demands."""
    if isinstance(error, LeaseLost):
        log.warning("Job %s: attempt %s came too late; its result is discarded", job.pk, job.attempt)
    elif isinstance(error, InputFault):
        transitions.fail(job, code=error.code, reason=error.reason)
    elif isinstance(error, Cancelled):
        transitions.cancel(job)
    elif isinstance(error, SoftTimeLimitExceeded):
        transitions.fail(job, code="time_limit", reason=TIMED_OUT)
    elif isinstance(error, INFRASTRUCTURE):
        log.warning("Job %s is retried later: %s", job.pk, error)
        most = getattr(error, "most", None)
        transitions.retry(job, reason=str(error) or type(error).__name__, most=most)
    else:
        log.error("Job %s (%s %s) met a defect", job.pk, job.kind, job.subject, exc_info=error)
        transitions.fail(job, code="defect", reason=DEFECT.format(pk=job.pk))
