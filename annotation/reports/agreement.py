"""How far annotators agree: asked for by a person, computed by a job, stored; the raw judgments beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.models import AgreementReport, Answer, Project
from annotation.reports.display_names import called, numbered
from annotation.roles import CURATOR, MAY_OVERSEE, require
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.writer import canonical_line
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

State = AgreementReport.State


@transaction.atomic
def ask(project: Project, *, by: User) -> AgreementReport:
    """Have the agreement computed; a report that is still waiting or being made is not made twice."""
    require(project, by, *MAY_OVERSEE)
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    going = project.agreements.filter(state__in=(State.WAITING, State.RUNNING)).first()
    if going is not None:
        return going
    if not Answer.objects.filter(item__in=project.items.live()).exists():
        raise Conflict("nothing_answered", "Nobody answered yet: there is nothing to compare.")
    report = AgreementReport.objects.create(project=project, by=by)
    enqueue("agreement", report.pk)
    report.refresh_from_db()
    return report


def latest(project: Project, *, for_user: User) -> AgreementReport | None:
    """The newest report."""
    require(project, for_user, *MAY_OVERSEE)
    return project.agreements.order_by("-pk").first()


def latest_done(project: Project, *, for_user: User) -> AgreementReport | None:
    """The newest report that has figures; another one may be under way."""
    require(project, for_user, *MAY_OVERSEE)
    return project.agreements.filter(state=State.DONE).order_by("-pk").first()


def figures_for(report: AgreementReport, user: User, *, shown: bool = False) -> dict[str, Any]:
    """The figures; people have names for curators (`shown`: those that people read), numbers for others."""
    told: dict[str, Any] = report.figures
    curates = require(report.project, user, *MAY_OVERSEE) == CURATOR
    if not told or (curates and not shown):
        return told
    words = called(report.project) if curates else numbered(report.project)
    names = [words.get(name, name if curates else "Annotator") for name in told["annotators"]]
    people = [one | {"name": name} for one, name in zip(told["people"], names, strict=True)]
    return told | {"annotators": names, "people": people}


def follow(job: Job) -> None:
    """Mirror the job's state; `done` comes with the figures."""
    report = AgreementReport.objects.filter(pk=job.subject)
    if job.state in (Job.State.QUEUED, Job.State.RUNNING):
        report.update(state=State.WAITING if job.state == Job.State.QUEUED else State.RUNNING)
    elif job.state in (Job.State.FAILED, Job.State.CANCELLED):
        report.update(state=State.FAILED, reason=job.error or "It was cancelled.", ended_at=Now())


def done(report: AgreementReport, figures: dict[str, Any]) -> None:
    """Keep the figures, in the transaction that ends the job."""
    AgreementReport.objects.filter(pk=report.pk).update(state=State.DONE, figures=figures, ended_at=Now())


def standing(project: Project) -> QuerySet[Answer]:
    """Every answer of the project that is not set aside, in order of work."""
    answers = Answer.objects.filter(item__project=project, item__use="", set_aside=False).active()
    return answers.filter(item__batch__state="done").order_by("item__rank", "item", "position")


def judgments(project: Project, *, by: User) -> Iterator[bytes]:
    """The raw judgments, one line each, as an import of answers takes them; for curators."""
    require(project, by, CURATOR)
    rows = standing(project).values_list("item__external_id", "annotator__name", "payload")
    return (canonical_line(_line(project.kind, *row)) for row in rows.iterator(chunk_size=2_000))


def _line(kind: str, item: str, annotator: str, payload: dict[str, Any]) -> dict[str, Any]:
    who = {"item": item, "annotator": annotator}
    if kind == Kind.RELATIONS:
        said = payload["relations"]
        return who | ({"labels": said} if said or payload.get("blank") else {"na": True})
    return who | {"spans": payload["spans"], "relations": payload["relations"]}
