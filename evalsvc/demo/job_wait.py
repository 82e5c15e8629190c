"""Waiting for a job that the loader needs done before it goes on."""

from __future__ import annotations

import time

from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job

PATIENCE = 2.0
"""Seconds a worker has to take a job before the loader does it itself."""


def done(kind: str, subject: int) -> None:
    """Return when the newest job of this kind on this subject is done; do it here when no worker takes it."""
    from workers.runner import run_inline

    job = Job.objects.filter(kind=kind, subject=subject).order_by("-id").first()
    since = time.monotonic()
    while job is not None and job.state not in Job.ENDED:
        if time.monotonic() - since > PATIENCE:
            run_inline(job)
        time.sleep(0.1)
        job = Job.objects.get(pk=job.pk)
    if job is not None and job.state != Job.State.DONE:
        raise Conflict("demo_failed", f"{job}: {job.error}")
