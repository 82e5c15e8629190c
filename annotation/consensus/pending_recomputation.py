"""The recomputation of a project that is not done; until then, states may be those of earlier rules."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F

from annotation.models import Project
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from evalsvc.core.upkeep.registry import Finding


def pending(project: Project) -> Job | None:
    """Return a recomputation that has not ended, or that failed or was cancelled and was not repeated since.

    Jobs of a project may run beside each other, and be tried again behind newer ones: only one that began
    after the failure has done what that left.
    """
    jobs = Job.objects.filter(kind="recompute", subject=project.pk)
    last = jobs.exclude(state=Job.State.DONE).order_by(F("ended_at").desc(nulls_first=True), "-pk").first()
    if last and last.ended_at and jobs.filter(state=Job.State.DONE, claimed_at__gt=last.ended_at).exists():
        return None
    return last


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
