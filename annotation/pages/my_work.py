"""A person's own page in a project: how far they are, how fast, and all they said."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation import roles
from annotation.models import Annotator, Project, Vote
from annotation.ontology.inventory import inventory
from annotation.pages.daily_chart import both, calendar, days_svg
from annotation.pages.progress_view import seconds
from annotation.pages.view_helpers import around, project_for
from annotation.queue import votes as voting
from annotation.reports import my_work
from annotation.reports.progress import progress_of
from annotation.reports.project_stats import Day
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.views import page

PER_PAGE = 25


@page()
def mine(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_LABEL)
    return shown(request, project, role)


@page()
def mine_svg(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_LABEL)
    days = _days(project, person(request))
    return svg_file(days_svg(days) if days else "", f"{project.slug}-my-days.svg")


@page()
def mine_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_LABEL)
    rows = [[day.day, day.answers, day.skips] for day in _days(project, person(request))]
    return csv_file(f"{project.slug}-my-days.csv", ["day", "answers", "skips"], rows)


def _days(project: Project, user: User) -> list[Day]:
    until = timezone.now().date() if project.state == Project.State.OPEN else date.min
    return calendar(my_work.by_day(project, user), until=until)


def shown(request: HttpRequest, project: Project, role: str) -> HttpResponse:
    user = person(request)
    done = progress_of(project, user)
    days = _days(project, user)
    pages = Paginator(my_work.history(project, user), PER_PAGE).get_page(request.GET.get("page"))
    told = {
        "lead": _lead(done),
        "stats": _stats(done, my_work.pace(project, user)),
        "paused": Annotator.objects.filter(project=project, user=user, paused_at__isnull=False).first(),
        "days": days,
        "svg": both(days),
        "acts": _acts(project, list(pages)),
        "pages": pages,
        "may_label": project.state == Project.State.OPEN and project.kind == Kind.RELATIONS,
        "guideline": to_html(project.guideline),
    }
    return render(request, "annotation/project_annotator.html", around(project, role, **told))


def _lead(done: dict[str, Any]) -> str:
    if not done["answered"] + done["skipped"]:
        waits = counted(done["waiting"], "sentence")
        return f"You have answered nothing here yet; {waits} {_wait(done)} for you."
    skipped = f" and skipped {done['skipped']:,}" if done["skipped"] else ""
    waiting = f"{done['waiting']:,} more {_wait(done)}" if done["waiting"] else "nothing more waits"
    return f"You answered {counted(done['answered'], 'sentence')} here{skipped}; {waiting} for you."


def _wait(done: dict[str, Any]) -> str:
    return "waits" if done["waiting"] == 1 else "wait"


def _stats(done: dict[str, Any], pace: my_work.OwnPace) -> list[tuple[str, str, str]]:
    before = (
        f"{seconds(pace.before)} for those before"
        if pace.before is not None
        else "the middle of your last 50"
    )
    return [
        ("Answered", f"{done['answered']:,}", f"{done['today']:,} done today, UTC"),
        ("Skipped", f"{done['skipped']:,}", "somebody else answers them"),
        ("Wait for you", f"{done['waiting']:,}", f"of {counted(done['total'], 'sentence')} in all"),
        (
            "Per answer",
            seconds(pace.lately),
            before if pace.lately is not None else "no answer has a time yet",
        ),
    ]


def _acts(project: Project, votes: list[Vote]) -> list[tuple[Vote, str, str]]:
    titles = {
        choice.name: choice.title for part in ("relation", "entity") for choice in inventory(project, part)
    }
    return [(vote, _said(vote, titles), _took(vote)) for vote in votes]


def _took(vote: Vote) -> str:
    return seconds(None if vote.milliseconds is None else vote.milliseconds / 1_000)


def _said(vote: Vote, titles: dict[str, str]) -> str:
    """As it was said, in today's words where there are any."""
    if vote.act == Vote.Act.SKIP:
        return f"Skipped: {voting.SKIP_REASONS.get(vote.reason, vote.reason)}"
    said = vote.payload or {"spans": [], "relations": []}
    names = [x if isinstance(x, str) else x[1] for x in said["relations"]] or [
        span[2] for span in said["spans"]
    ]
    return ", ".join(titles.get(name, name) for name in names) or "N/A"
