"""A person's own page in a project: their progress, pace and answers."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import roles
from annotation.models import Annotator, Project, Vote
from annotation.pages.daily_chart import calendar_of, days_svg, responsive_chart
from annotation.pages.project_page import answer_text, label_titles, project_context, project_for
from annotation.queue.votes import SKIP_REASONS
from annotation.reports import progress as reports
from annotation.reports.progress import OwnAnswerTimes, WorkDay
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.figures import Stat
from evalsvc.core.web.formatting import are, counted, seconds
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.views import page, page_of

PER_PAGE = 25


@page()
def mine(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_LABEL)
    return my_work_page(request, project, role)


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


def _days(project: Project, user: User) -> list[WorkDay]:
    return calendar_of(project, reports.own_days(project, user))


def my_work_page(request: HttpRequest, project: Project, role: str) -> HttpResponse:
    """Render a person's own page; annotators get it as the project's page."""
    user = person(request)
    progress = reports.progress_of(project, user)
    days, titles = _days(project, user), label_titles(project)
    history = reports.own_history(project, user)
    pages = page_of(request, history, size=PER_PAGE, count=reports.own_items(project, user))
    context = project_context(
        project,
        role,
        lead=_lead(progress),
        stats=_stats(progress, reports.own_times(project, user)),
        paused=Annotator.objects.filter(project=project, user=user, paused_at__isnull=False).first(),
        days=days,
        chart=responsive_chart(days),
        votes=[_vote_row(vote, titles) for vote in pages],
        pages=pages,
        may_label=project.state == Project.State.OPEN,
        guideline=to_html(project.guideline),
    )
    return render(request, "annotation/project_annotator.html", context)


def _lead(progress: dict[str, Any]) -> str:
    n = progress["waiting"]
    if not progress["answered"] + progress["skipped"]:
        return f"You have not answered any sentence yet; {counted(n, 'sentence')} {are(n)} available."
    skipped = f" and skipped {progress['skipped']:,}" if progress["skipped"] else ""
    available = f"{n:,} more {are(n)} available" if n else "no more are available"
    if progress["recomputing"] and not n:
        available = "more may come once the project is recomputed"
    return f"You have answered {counted(progress['answered'], 'sentence')}{skipped}; {available}."


def _stats(progress: dict[str, Any], times: OwnAnswerTimes) -> list[Stat]:
    if times.recent is None:
        detail = "no timed answers yet"
    elif times.earlier is None:
        detail = "median of your last 50"
    else:
        detail = f"median of your last 50; {seconds(times.earlier)} for the 50 before"
    return [
        Stat("Answered", f"{progress['answered']:,}", f"{progress['today']:,} today (UTC)"),
        Stat("Skipped", f"{progress['skipped']:,}", "left to others"),
        Stat("Available", f"{progress['waiting']:,}", f"of {counted(progress['total'], 'sentence')}"),
        Stat("Time per answer", seconds(times.recent), detail),
    ]


def _vote_row(vote: Vote, titles: dict[str, str]) -> tuple[Vote, str, str]:
    """Write a vote as it was given, and its time."""
    time = seconds(None if vote.milliseconds is None else vote.milliseconds / 1_000)
    if vote.act == Vote.Act.SKIP:
        return vote, f"Skipped: {SKIP_REASONS.get(vote.reason, vote.reason)}", time
    return vote, answer_text(vote.payload, titles), time
