"""The job that builds or describes a test set: who may retry or cancel it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from annotation.imports import batches
from annotation.splits import making, mapping
from annotation.testset import TestSet, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.jobs import kinds, queue
from evalsvc.core.jobs.models import Job


def job_of(test_set: TestSet) -> Job | None:
    """Return the newest job of a set: of its making, or once it is frozen of its statistics."""
    annotated = test_set.twin_id or test_set.pk
    if test_set.state == TestSet.State.FROZEN:
        kind, subject = "describe", test_set.pk
    elif test_set.batch_id:
        kind, subject = "import", test_set.batch_id
    else:
        kinds = {"split": making.KIND, "mapped": mapping.KIND}
        kind = next((kinds[name] for name in kinds if name in test_set.manifest), "freeze")
        subject = annotated
    return Job.objects.filter(kind=kind, subject=subject).order_by("-pk").first()


def may_retry(test_set: TestSet) -> bool:
    job = job_of(test_set)
    return job is not None and job.state == Job.State.FAILED


@transaction.atomic
def retry(test_set: TestSet, *, by: User) -> None:
    """Restart the failed job of a set, for its curators or importer, in their name.

    Imported and mapped sets stay those of their importer, unless that one may no longer make them.
    """
    job = _job_for(test_set, by)
    if job is None or job.state != Job.State.FAILED:
        raise Conflict("not_failed", f"No job of {test_set} has failed.")
    if job.kind == "import" and test_set.batch is not None:
        batches.retry(test_set.batch, by=by)
    else:
        if test_set.state != TestSet.State.FROZEN:
            record_change(test_set, f"{job.kind} started again", by=by)
            if test_set.project is not None or kinds.has_lost_asker(job):
                both = Q(pk=job.subject) | Q(twin=job.subject)
                TestSet.objects.filter(both).update(by=by)
        queue.restart(job, by=by.shown_name)


@transaction.atomic
def cancel(test_set: TestSet, *, by: User) -> None:
    """Cancel the making of a set; a running job stops at its next report."""
    job = _job_for(test_set, by)
    if test_set.state != TestSet.State.BUILDING or job is None or job.state in Job.ENDED:
        raise Conflict("ended", f"{test_set} is {test_set.state}. Only one that is being made is cancelled.")
    record_change(test_set, f"cancellation of {job.kind}", by=by)
    queue.request_cancel(job)


def _job_for(test_set: TestSet, by: User) -> Job | None:
    if not test_set.readable_by(by):
        raise NotAllowed("not_allowed", f"Only its curators and importer can do this with {test_set}.")
    return job_of(test_set)
