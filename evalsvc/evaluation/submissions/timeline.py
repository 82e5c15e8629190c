"""Timeline of a submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.humanize.templatetags.humanize import intcomma

from evalsvc.core.jobs.models import JobEvent
from evalsvc.evaluation.measures.composition import BASES
from evalsvc.evaluation.models import Setting, SettingVersion, Submission

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
AGAIN = {
    "done": ("Scored again", "good"),
    "failed": ("Scoring again failed", "bad"),
    "cancelled": ("Scoring again was cancelled", "bad"),
}
SHOWN_AGAIN = 2  # re-scorings with a step each
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
    """Return the steps: received, checked, events of its jobs until it is scored, re-scorings, withdrawn."""
    way = f"by API, token “{submission.token.name}”" if submission.token else f"by {submission.by.shown_name}"
    sent = submission.model or submission.file
    steps = [Step("Received", submission.created_at, f"{_size(sent.size)}, {way}")]
    steps.append(Step("Checked", submission.created_at, _checked(submission)))
    first, *again = _scorings(submission)
    steps += [_step(event) for event in first]
    steps += _again(submission, again)
    if submission.job_id is None and submission.state == Submission.State.SCORED and submission.ended_at:
        steps.append(Step("Scored", submission.ended_at, "Scores of the same file were reused.", "good"))
    if submission.withdrawn_at:
        steps.append(Step("Withdrawn", submission.withdrawn_at, "Removed from all boards."))
    return steps


def _scorings(submission: Submission) -> list[list[JobEvent]]:
    """Return the events of all its jobs, parted after each scoring."""
    events = JobEvent.objects.filter(job__kind__in=("score", "check", "predict"), job__subject=submission.pk)
    parts: list[list[JobEvent]] = [[]]
    for event in events.select_related("job").order_by("job", "id"):
        before = parts[-1][-1] if parts[-1] else None
        if before and event.job_id != before.job_id and _is_scored(before):
            parts.append([])
        parts[-1].append(event)
    return parts


def _is_scored(event: JobEvent) -> bool:
    return event.what == "done" and event.job.kind not in DONE_BEFORE


def _again(submission: Submission, scorings: Sequence[Sequence[JobEvent]]) -> list[Step]:
    """Return a step for each re-scoring with its causes; older ones are one step."""
    causes = _causes(submission, scorings) if scorings else []
    steps = []
    for events, of_scoring in zip(scorings, causes, strict=True):
        last = events[-1]
        ended = last.what if last.what != "done" or _is_scored(last) else ""
        title, kind = AGAIN.get(ended, ("Being scored again", ""))
        steps.append(Step(title, last.at, "; ".join(of_scoring), kind))
    older = steps[:-SHOWN_AGAIN]
    if len(older) > 1:
        detail = "; ".join(filter(None, (step.detail for step in older)))
        steps[: len(older)] = [Step(f"Scored again {len(older)} times", older[-1].at, detail)]
    return steps


def _causes(submission: Submission, scorings: Sequence[Sequence[JobEvent]]) -> list[list[str]]:
    """Name the versions and measures since it was sent, by the re-scoring that followed."""
    settings = list(Setting.objects.filter(evaluations__submissions=submission).distinct())
    made = SettingVersion.objects.filter(setting__in=settings, created_at__gt=submission.created_at)
    causes = [
        (
            each.created_at,
            f"version {each.number} of “{each.setting.title}”"
            if each.number > 1
            else f"“{each.setting.title}” was added",
        )
        for each in made.select_related("setting")
    ]
    bases = {base for setting in settings for base in BASES[setting.kind]}
    measures = submission.benchmark.measures.filter(decided_at__gt=submission.created_at)
    for measure in measures.filter(state__in=("admitted", "retired")):
        if measure.decided_at and measure.composition["base"] in bases:
            causes.append((measure.decided_at, f"measure “{measure.title}”"))
    found: list[list[str]] = [[] for _ in scorings]
    for at, text in sorted(causes):
        after = [place for place, events in enumerate(scorings) if events[0].at >= at]
        if after or scorings[-1][-1].at >= at:  # else it concerned other runs
            found[after[0] if after else -1].append(text)
    return found


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
