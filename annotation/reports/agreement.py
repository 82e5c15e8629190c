"""Agreement reports, computed by a job, and raw answers for download."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from annotation.consensus.rules import Rules
from annotation.models import AgreementReport, Answer, Project
from annotation.roles import CURATOR, display_names, numbered_names, require, require_label_counts
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.database import in_batches
from evalsvc.core.errors.exceptions import Conflict, QuotaExceeded
from evalsvc.core.formats.records import canonical_line
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

State = AgreementReport.State
SHARE_OF_TIME, QUICK = 9, timedelta(seconds=5)


@transaction.atomic
def request_report(project: Project, *, by: User) -> AgreementReport:
    """Request a report, or return the one that is already under way."""
    require_label_counts(project, by)
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    pending = project.agreements.filter(state__in=(State.WAITING, State.RUNNING)).first()
    if pending is not None:
        return pending
    if not Answer.objects.filter(item__in=project.items.live()).exists():
        raise Conflict(
            "nothing_answered",
            f"{project} has no answers to compare.",
            hint="Request agreement when at least two people have answered.",
        )
    _require_pause(project)
    report = AgreementReport.objects.create(project=project, by=by)
    enqueue("agreement", report.pk, lane=f"user {by.pk}")
    report.refresh_from_db()
    return report


def _require_pause(project: Project) -> None:
    """Let reports that take long be computed for a tenth of the time at most."""
    jobs = Job.objects.filter(kind="agreement", subject__in=project.agreements.values("pk"))
    last = jobs.filter(state=Job.State.DONE, started_at__isnull=False).order_by("-pk").first()
    if last is None or last.started_at is None or last.ended_at is None:
        return
    took = last.ended_at - last.started_at
    left = int((last.ended_at + SHARE_OF_TIME * took - timezone.now()).total_seconds())
    if took > QUICK and left > 0:
        detail = f"The last report took {took.total_seconds():.0f} s. You can request another in {left:,} s."
        raise QuotaExceeded("too_many_reports", detail, retry_after=left)


def latest(project: Project, *, for_user: User) -> AgreementReport | None:
    """Return the latest report in any state."""
    require_label_counts(project, for_user)
    return project.agreements.order_by("-pk").first()


def latest_done(project: Project, *, for_user: User) -> AgreementReport | None:
    """Return the latest report with figures."""
    require_label_counts(project, for_user)
    return project.agreements.filter(state=State.DONE).order_by("-pk").first()


def figures_for(report: AgreementReport, user: User, *, display: bool = False) -> dict[str, Any]:
    """Return the figures, with annotators' names for curators and numbers for others.

    `display` asks for display names instead of those in downloads.
    """
    figures: dict[str, Any] = report.figures
    curates = require_label_counts(report.project, user) == CURATOR
    if not figures or (curates and not display):
        return figures
    by_name = display_names(report.project) if curates else numbered_names(report.project)
    names = [by_name.get(name, name if curates else "Annotator") for name in figures["annotators"]]
    people = [row | {"name": name} for row, name in zip(figures["people"], names, strict=True)]
    return figures | {"annotators": names, "people": people}


def mirror_job(job: Job) -> None:
    """Copy the job's state to its report; `store_figures` sets `done`."""
    report = AgreementReport.objects.filter(pk=job.subject)
    if job.state in (Job.State.QUEUED, Job.State.RUNNING):
        report.update(state=State.WAITING if job.state == Job.State.QUEUED else State.RUNNING)
    elif job.state in (Job.State.FAILED, Job.State.CANCELLED):
        report.update(state=State.FAILED, reason=job.error or "The job was cancelled.", ended_at=Now())


def store_figures(report: AgreementReport, figures: dict[str, Any]) -> None:
    """Store the figures, in the transaction that ends the job."""
    AgreementReport.objects.filter(pk=report.pk).update(state=State.DONE, figures=figures, ended_at=Now())


def included_answers(project: Project, *fields: str) -> Iterator[tuple[Any, ...]]:
    """Yield these fields and the payloads of all included answers, in the order of items.

    What is asked again goes by the rules: the stored marks may wait for a recomputation.
    """
    rules = Rules(project)
    answers = Answer.objects.filter(item__project=project, item__use="", set_aside=False).active()
    rows = answers.filter(item__batch__state="done").order_by("item__rank", "item", "position")
    for *row, guideline, payload in in_batches(rows, *fields, "guideline", "payload"):
        if not rules.is_asked_again(payload, guideline):
            yield (*row, payload)


def has_answers(project: Project) -> bool:
    """True if any answer is included; each person's first ones decide, not all of them."""
    own = Answer.objects.filter(annotator=OuterRef("pk")).included()
    return project.annotators.filter(Exists(own.filter(item__use="", item__batch__state="done"))).exists()


def judgments(project: Project, *, by: User) -> Iterator[bytes]:
    """Yield the raw answers as importable JSON lines."""
    require(project, by, CURATOR)
    rows = included_answers(project, "item__external_id", "annotator__name")
    return (canonical_line(judgment(project.kind, *row)) for row in rows)


def judgment(kind: str, item: str, annotator: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as a line of votes."""
    row = {"item": item, "annotator": annotator}
    if kind == Kind.RELATIONS:
        labels = payload["relations"]
        return row | ({"labels": labels} if labels or payload.get("blank") else {"na": True})
    return row | {"spans": payload["spans"], "relations": payload["relations"]}
