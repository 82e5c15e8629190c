"""The recomputation of a project that is not done; until then, states may be those of earlier rules."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F

from annotation.models import Project
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from evalsvc.core.upkeep.registry import Finding


def pending(project: Project) -> Job | None:
    """Return a recomputation that has not ended, or else the last to end unless that is done.

    It may have failed or been cancelled. An older one may end last: it is tried again behind a newer one.
    """
    jobs = Job.objects.filter(kind="recompute", subject=project.pk)
    last = jobs.order_by(F("ended_at").desc(nulls_first=True), "-pk").first()
    return last if last and last.state != Job.State.DONE else None


def is_recomputing(project: Project) -> bool:
    """True while states may be those of earlier rules, labels or k."""
    return pending(project) is not None


def failure(project: Project, job: Job) -> Conflict:
    """Return the rejection of what waits for a recomputation that ended before it was done."""
    hint = f"Ask the operator to run: {cure(project)}"
    return Conflict("recomputing", f"Recomputing the items of {project} {_ended(job)}.", hint=hint)


def require_recomputed(project: Project) -> None:
    """Reject what would read states of earlier rules, labels or k."""
    job = pending(project)
    if job and job.state in Job.ENDED:
        raise failure(project, job)
    if job:
        reason = f"The items of {project} are being recomputed."
        raise Conflict("recomputing", reason, hint="Try again when that is done.")


def cure(project: Project) -> str:
    """Return the command that repeats a recomputation."""
    return f"manage.py recompute {project.slug}"


def check_pending(share: str) -> Iterator[Finding]:
    """Report projects whose last recomputation ended before it was done."""
    subjects = Job.objects.filter(kind="recompute", state__in=(Job.State.FAILED, Job.State.CANCELLED))
    for project in Project.objects.filter(pk__in=subjects.values("subject")).order_by("pk"):
        if (job := pending(project)) and job.state in Job.ENDED:
            detail = f"Recomputing the items of {project} {_ended(job)}: {job.error or 'not finished'}"
            blocked = "Nobody gets sentences, decides disputes or freezes it until that is repeated"
            yield Finding("not_recomputed", detail, f"{blocked}: {cure(project)}")


def _ended(job: Job) -> str:
    return "was cancelled" if job.state == Job.State.CANCELLED else "failed"
