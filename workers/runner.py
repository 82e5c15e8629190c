"""One job from claim to end: the only way work gets done."""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, connection

from evalsvc.core.jobs import claim, completion, periodic
from evalsvc.core.jobs import queue as queueing
from evalsvc.core.jobs.exceptions import Cancelled, InputFault, LeaseLost, TryLater, caught
from evalsvc.core.jobs.lease import Lease, Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.reconciler import reconcile
from workers.handlers.registry import HANDLERS

log = logging.getLogger(__name__)
DEFECT = "Something broke on our side; it is logged as job {pk}. The input is not known to be at fault."
TOO_LONG = "The work took longer than the time limit of the service."


def run_next(queue: str) -> bool:
    """Do the fairest due job of the queue; False when nothing is due."""
    reconcile()
    periodic.run()
    job = claim.claim(queue)
    if job is None:
        return False
    if claim.due(queue).exists():
        queueing.hint(queue)
    run(job)
    return True


def run_inline(job: Job) -> Job:
    """Do this one job in this process, if nobody else has it; the job as it is afterwards."""
    claimed = claim.claim_this(job)
    if claimed:
        run(claimed)
    return Job.objects.get(pk=job.pk)


def run(job: Job) -> None:
    """Do a claimed job and end this attempt at it, whatever happens."""
    log.info("Job %s: %s %s, attempt %s", job.pk, job.kind, job.subject, job.attempt)
    error = caught(lambda: _work(job))
    if error is None:
        log.info("Job %s: done", job.pk)
        return
    if isinstance(error, OperationalError | InterfaceError):
        connection.close()
    unended = caught(lambda: _end(job, error))
    if unended:  # the lease runs out and the job comes back
        log.error("Job %s was not ended", job.pk, exc_info=unended)


def _work(job: Job) -> None:
    if job.kind not in HANDLERS:
        raise LookupError(f"No handler for the kind of job {job.kind!r}.")
    with Lease(job) as lease:
        store = HANDLERS[job.kind](job.subject, Progress(lease))
    lease.check()
    completion.complete(job, store)


def _end(job: Job, error: Exception) -> None:
    """Turn what was raised into the end of this attempt."""
    for kinds, end in ENDS:
        if isinstance(error, kinds):
            return end(job, error)
    log.error("Job %s (%s %s) met a defect", job.pk, job.kind, job.subject, exc_info=error)
    completion.fail(job, code="defect", reason=DEFECT.format(pk=job.pk))
    return None


def _left_to_others(job: Job, error: Exception) -> None:
    log.warning("Job %s: attempt %s came too late, its result is thrown away", job.pk, job.attempt)


def _refused(job: Job, error: Exception) -> None:
    assert isinstance(error, InputFault)
    completion.fail(job, code=error.code, reason=error.reason)


def _put_off(job: Job, error: Exception) -> None:
    log.warning("Job %s is put off: %s", job.pk, error)
    completion.retry(job, reason=str(error) or type(error).__name__)


def _stopped(job: Job, error: Exception) -> None:
    completion.cancel(job)


def _overdue(job: Job, error: Exception) -> None:
    completion.fail(job, code="time_limit", reason=TOO_LONG)


End = Callable[[Job, Exception], None]
ENDS: tuple[tuple[tuple[type[Exception], ...], End], ...] = (
    ((LeaseLost,), _left_to_others),
    ((InputFault,), _refused),
    ((Cancelled,), _stopped),
    ((SoftTimeLimitExceeded,), _overdue),
    ((TryLater, OperationalError, InterfaceError, ConnectionError), _put_off),
)
