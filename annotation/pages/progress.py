"""The progress page of those who oversee a project: days, people, relations, the other policy."""

from __future__ import annotations

from datetime import date

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation import roles
from annotation.consensus import item_state
from annotation.consensus.label_mapping import Payload
from annotation.models import Answer, Project
from annotation.ontology.inventory import inventory
from annotation.pages import progress_view
from annotation.pages.daily_chart import both, calendar, days_svg
from annotation.pages.interval_chart import share
from annotation.pages.projects import counts
from annotation.pages.view_helpers import around, project_for
from annotation.reports import policy_comparison, project_stats, workload
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.views import page

LIVE = 500_000
PER_PAGE = 50


@page()
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    user = person(request)
    n, ahead = counts(project), workload.outlook(project, for_user=user)
    idle = workload.idle(project, for_user=user)
    people = project_stats.by_annotator(project, for_user=user)
    every, frequent = "all" in request.GET, request.GET.get("order") == "frequent"
    days, pace = _days(project, user), project_stats.pace(project, for_user=user)
    told = {
        "lead": progress_view.lead(n, ahead),
        "stats": progress_view.stats(ahead, pace, workload.handed_out(project, for_user=user), idle),
        "idle": idle and progress_view.idle_words(idle),
        "days": days,
        "rushed": progress_view.rushed(pace),
        "finding": progress_view.finding(days),
        "svg": both(days),
        "people": [
            (one, share(one.rushed), *progress_view.state_of(one))
            for one in (people if every else people[: progress_view.SHOWN])
        ],
        "everybody": len(people),
        "changes": item_state.other_policy_changes(project),
        "other": item_state.Rules(project).other_policy,
        "frequent": frequent,
    }
    return render(
        request,
        "annotation/progress.html",
        around(project, role, **told, **_labels(project, user, n, frequent=frequent)),
    )


def _days(project: Project, user: User) -> list[project_stats.Day]:
    today: date = timezone.now().date()
    until = today if project.state == Project.State.OPEN else date.min
    return calendar(project_stats.by_day(project, for_user=user), until=until)


def _labels(project: Project, user: User, n: dict[str, int], *, frequent: bool) -> dict[str, object]:
    """Counted while somebody waits, unless there are too many answers for that."""
    if Answer.objects.filter(item__project=project).count() > LIVE:
        return {"too_many": True}
    labels = project_stats.by_label(project, for_user=user)
    table = progress_view.disputed(labels, _titles(project), frequent=frequent)
    disputed = n["all"] - n["open"] - n["settled"]
    return {"labels_table": table, "found": progress_view.found(table, (disputed, n["all"] - n["open"]))}


def _titles(project: Project) -> dict[str, str]:
    return {
        choice.name: choice.title for part in ("relation", "entity") for choice in inventory(project, part)
    }


@page()
def days_drawn(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    days = _days(project, person(request))
    return svg_file(days_svg(days) if days else "", f"{project.slug}-days.svg")


@page()
def days_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    rows = [[day.day, day.answers, day.skips, day.annotators] for day in _days(project, person(request))]
    return csv_file(f"{project.slug}-days.csv", ["day", "answers", "skips", "annotators"], rows)


PEOPLE = (
    *("name", "answers", "counted", "surplus", "skips", "flags", "holding"),
    *("median_seconds", "rushed", "known_done", "known_right", "paused", "last_at", "idle"),
)


@page()
def people_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    people = project_stats.by_annotator(project, for_user=person(request))
    rows = [[getattr(one, name) for name in PEOPLE] for one in people]
    return csv_file(f"{project.slug}-people.csv", PEOPLE, rows)


@page()
def labels_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    labels = project_stats.by_label(project, for_user=person(request))
    rows = [[one.name, one.items, one.disputed, one.share, *(one.interval or ("", ""))] for one in labels]
    heads = ["relation", "items", "disputed", "share", "low", "high"]
    return csv_file(f"{project.slug}-disputed.csv", heads, rows)


@page()
def other_policy(request: HttpRequest, slug: str) -> HttpResponse:
    """The sentences that the other policy would decide otherwise, for those who see votes."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    changed = policy_comparison.changed(project, for_user=person(request))
    pages = Paginator(changed, PER_PAGE)
    shown = pages.get_page(request.GET.get("page"))
    titles = _titles(project)
    rows = [
        (one.item, _outcome(one.item.gold, titles), _outcome(None if one.disputed else one.gold, titles))
        for one in policy_comparison.by_other_policy(project, list(shown))
    ]
    told = {"rows": rows, "shown": shown, "other": item_state.Rules(project).other_policy}
    return render(request, "annotation/policy_comparison.html", around(project, role, **told))


def _outcome(gold: Payload | None, titles: dict[str, str]) -> str:
    if gold is None:
        return "disputed"
    spans = [span[2] for span in gold["spans"]]
    names = [*spans, *(x if isinstance(x, str) else x[1] for x in gold["relations"])]
    return ", ".join(titles.get(name, name) for name in names) or "N/A"
