"""Timeline of a submission."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.humanize.templatetags.humanize import intcomma

from evalsvc.core.jobs.models import JobEvent
from evalsvc.evaluation.models import Submission

TITLES: dict[str, tuple[str, str]] = {
    "queued": ("Waiting for a worker", ""),
    "claimed": ("Attempt {attempt} started", ""),
    "lost": ("Attempt {attempt} lost its worker", "slip"),
    "lapsed": ("Attempt {attempt} could not be stored in time", "slip"),
    "returned": ("Attempt {attempt} was interrupted: its worker stopped for maintenance", ""),
    "retried": ("Waiting to retry", "slip"),
    "restarted": ("Restarted", ""),
    "cancel asked": ("Cancellation requested", ""),
    "cancelled": ("Cancelled", "bad"),
    "failed": ("Attempt {attempt} failed", "bad"),
    "done": ("Attempt {attempt} scored", "good"),
}
# Checking a dense file and running a model are jobs before the scoring.
DONE_BEFORE = {
    "check": "Attempt {attempt} checked every number",
    "predict": "Attempt {attempt} ran the model",
}
# Teams don't read the detail of a fault, which may name hosts and files.
DETAILS = {
    "lost": "The worker stopped responding. Your quota is not affected.",
    "retried": "A fault of the service, not of your file. Your quota is not affected.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """Step of the timeline; `kind` is empty, good, slip or bad."""

    title: str
    at: datetime
    detail: str = ""
    kind: str = ""


def timeline(submission: Submission) -> list[Step]:
    """Return the steps: received, checked, events of all its jobs, withdrawn."""
    way = f"by API, token “{submission.token.name}”" if submission.token else f"by {submission.by.shown_name}"
    sent = submission.model or submission.file
    steps = [Step("Received", submission.created_at, f"{_size(sent.size)}, {way}")]
    steps.append(Step("Checked", submission.created_at, _checked(submission)))
    jobs = JobEvent.objects.filter(job__kind__in=("score", "check", "predict"), job__subject=submission.pk)
    steps += [_step(event) for event in list(jobs.select_related("job").order_by("job", "id"))]
    if submission.job_id is None and submission.state == Submission.State.SCORED and submission.ended_at:
        steps.append(Step("Scored", submission.ended_at, "Scores of the same file were reused.", "good"))
    if submission.withdrawn_at:
        steps.append(Step("Withdrawn", submission.withdrawn_at, "Removed from all boards."))
    return steps


def _step(event: JobEvent) -> Step:
    title, kind = TITLES.get(event.what, (event.what.capitalize(), ""))
    if event.what == "done" and event.job.kind in DONE_BEFORE:
        title, kind = DONE_BEFORE[event.job.kind], ""
    detail = DETAILS.get(event.what, event.detail if event.what == "failed" else "")
    return Step(title.format(attempt=event.attempt), event.at, detail, kind)


def _checked(submission: Submission) -> str:
    """Counts of the checked file, such as `8,028 lines, no errors`."""
    if submission.model_id:
        return "valid pipeline"
    counts = submission.counts
    named = [
        f"{intcomma(counts[key])} {key}"
        for key in ("lines", "claims", "missing", "mapped", "warnings")
        if counts.get(key)
    ]
    return ", ".join([*named, "no errors"])


def _size(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
