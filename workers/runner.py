"""Run one job by the handler of its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings

from evalsvc.celery import app
from evalsvc.core import log_context
from evalsvc.core.database import insist, is_database_away
from evalsvc.core.jobs import kinds, queue_status, transitions
from evalsvc.core.jobs import queue as job_queue
from evalsvc.core.jobs.exceptions import (
    Cancelled,
    InputFault,
    LeaseLost,
    RetryLater,
    TurnOver,
    caught,
)
from evalsvc.core.jobs.lease import Lease, Progress, hand_back, reconcile
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store
from workers.interruption import Stopped, interruption
from workers.memory_limit import memory_limit
from workers.sandbox import readiness

log = logging.getLogger(__name__)
DEFECT = "An internal error occurred. It was logged as job {pk}; the input is probably not at fault."
TIMED_OUT = "The job exceeded the time limit of the service."
TOO_LARGE = (
    "The job needs more than {:,} MB of memory. If it reads a file, send a smaller one; else ask an "
    "administrator to raise JOB_MEMORY_BYTES."
)
STORE_TRIES = 10


# ---- the handler of each job kind, imported when first needed ------------------------------------
Handler = Callable[[int, Progress], Store]

HANDLER_PATHS = {
    "score": "workers.handlers.score:score",
    "check": "workers.handlers.score:check",
    "predict": "workers.handlers.predict:predict",
    "import": "workers.handlers.annotation:import_file",
    "split": "workers.handlers.annotation:split",
    "map": "workers.handlers.annotation:map_labels",
    "export": "workers.handlers.annotation:export",
    "leakage": "workers.handlers.annotation:leakage",
    "freeze": "workers.handlers.annotation:freeze",
    "vote figures": "workers.handlers.annotation:figures",
    "candidates": "workers.handlers.annotation:candidates",
    "recompute": "workers.handlers.annotation:recompute",
    "board": "workers.handlers.score:board",
    "compare": "workers.handlers.compare:compare",
    "compare parts": "workers.handlers.compare:compare_parts",
    "board tests": "workers.handlers.compare:compare_board",
    "reported": "workers.handlers.reported:compare_reported",
    "describe": "workers.handlers.describe:describe",
    "upkeep": "workers.handlers.upkeep:keep_up",
    "agreement": "workers.handlers.annotation:agree",
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
    with interruption.delayed():
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
    with log_context.bound(**transitions.log_ids(job)):
        _run(job)


def _run(job: Job) -> None:
    log.info("Job %s: %s %s, attempt %s", job.pk, job.kind, job.subject, job.attempt)
    try:
        with interruption.allowed(), Lease(job) as lease:
            error = caught(lambda: _work(job, lease))
            if error:
                _end(job, error)
    except (Stopped, KeyboardInterrupt) as stop:  # this process ends
        log.warning("Job %s is handed back, as its process stops", job.pk)
        _end(job, stop)
        if not isinstance(stop, Stopped):
            raise


def _work(job: Job, lease: Lease) -> None:
    if job.kind not in HANDLERS:
        raise LookupError(f"There is no handler for the job kind {job.kind!r}.")
    kinds.require_allowed(job)
    with memory_limit(settings.JOB_MEMORY_BYTES):
        store = HANDLERS[job.kind](job.subject, Progress(lease))
    lease.check()

    def store_if_allowed() -> None:
        kinds.require_allowed(job)
        store()

    insist(lambda: transitions.complete(job, store_if_allowed), most=STORE_TRIES)
    log.info("Job %s: done", job.pk)


def _end(job: Job, error: BaseException) -> None:
    """End the attempt, or report a late one as alive."""
    unended = caught(lambda: insist(lambda: _end_as_demanded(job, error)))
    if isinstance(unended, LeaseLost):
        log.warning("Job %s: attempt %s came too late; its result is discarded", job.pk, job.attempt)
        unended = caught(lambda: insist(lambda: transitions.report_alive(job)))
    if unended:  # the lease runs out and the job is queued again
        log.error("Job %s was not ended", job.pk, exc_info=unended)


def _end_as_demanded(job: Job, error: BaseException) -> None:
    if isinstance(error, LeaseLost):
        raise error
    if isinstance(error, InputFault):
        transitions.fail(job, code=error.code, reason=error.reason)
    elif isinstance(error, TurnOver):
        hand_back(job, event="turn over")
    elif isinstance(error, Cancelled):
        transitions.cancel(job)
    elif isinstance(error, SoftTimeLimitExceeded):
        transitions.fail(job, code="time_limit", reason=TIMED_OUT)
    elif isinstance(error, MemoryError):
        reason = TOO_LARGE.format(settings.JOB_MEMORY_BYTES // 1_000_000)
        transitions.fail(job, code="memory_limit", reason=reason)
    elif isinstance(error, RetryLater | OSError) or is_database_away(error):
        log.warning("Job %s is retried later: %s", job.pk, error)
        later = error if isinstance(error, RetryLater) else RetryLater(str(error) or type(error).__name__)
        transitions.retry(job, reason=later.reason, most=later.most, code=later.code)
    elif isinstance(error, Exception):
        log.error("Job %s (%s %s) met a defect", job.pk, job.kind, job.subject, exc_info=error)
        transitions.fail(job, code="defect", reason=DEFECT.format(pk=job.pk))
    else:
        hand_back(job)
