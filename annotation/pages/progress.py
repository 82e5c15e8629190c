"""The progress page of those who oversee a project: days, people, relations, the other policy."""

from __future__ import annotations

from datetime import date

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation import insight, otherwise, outcomes, outlook, roles
from annotation.mapping import Payload
from annotation.models import Answer, Project
from annotation.ontology import inventory
from annotation.pages import going
from annotation.pages.asking import around, page, person, project_for
from annotation.pages.days import both, calendar, days_svg
from annotation.pages.intervals import share
from annotation.pages.projects import counts
from evalsvc.downloads import csv_file, svg_file
from evalsvc.teams.models import User

LIVE = 500_000
PER_PAGE = 50


@page()
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.OVERSEES)
    user = person(request)
    n, ahead = counts(project), outlook.outlook(project, for_user=user)
    idle = outlook.idle(project, for_user=user)
    people = insight.by_annotator(project, for_user=user)
    every, frequent = "all" in request.GET, request.GET.get("order") == "frequent"
    days, pace = _days(project, user), insight.pace(project, for_user=user)
    told = {
        "lead": going.lead(n, ahead),
        "stats": going.stats(ahead, pace, outlook.handed_out(project, for_user=user), idle),
        "idle": idle and going.idle_words(idle),
        "days": days,
        "rushed": going.rushed(pace),
        "finding": going.finding(days),
        "svg": both(days),
        "people": [
            (one, share(one.rushed), *going.state_of(one))
            for one in (people if every else people[: going.SHOWN])
        ],
        "everybody": len(people),
        "changes": outcomes.other_policy_changes(project),
        "other": outcomes.Rules(project).other_policy,
        "frequent": frequent,
    }
    return render(
        request,
        "annotation/progress.html",
        around(project, role, **told, **_labels(project, user, n, frequent=frequent)),
    )


def _days(project: Project, user: User) -> list[insight.Day]:
    today: date = timezone.now().date()
    until = today if project.state == Project.State.OPEN else date.min
    return calendar(insight.by_day(project, for_user=user), until=until)


def _labels(project: Project, user: User, n: dict[str, int], *, frequent: bool) -> dict[str, object]:
    """Counted while somebody waits, unless there are too many answers for that."""
    if Answer.objects.filter(item__project=project).count() > LIVE:
        return {"too_many": True}
    labels = insight.by_label(project, for_user=user)
    table = going.disputed(labels, _titles(project), frequent=frequent)
    disputed = n["all"] - n["open"] - n["settled"]
    return {"labels_table": table, "found": going.found(table, (disputed, n["all"] - n["open"]))}


def _titles(project: Project) -> dict[str, str]:
    return {
        choice.name: choice.title for part in ("relation", "entity") for choice in inventory(project, part)
    }


@page()
def days_drawn(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.OVERSEES)
    days = _days(project, person(request))
    return svg_file(days_svg(days) if days else "", f"{project.slug}-days.svg")


@page()
def days_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.OVERSEES)
    rows = [[day.day, day.answers, day.skips, day.annotators] for day in _days(project, person(request))]
    return csv_file(f"{project.slug}-days.csv", ["day", "answers", "skips", "annotators"], rows)


PEOPLE = (
    *("name", "answers", "counted", "surplus", "skips", "flags", "holding"),
    *("median_seconds", "rushed", "known_done", "known_right", "paused", "last_at", "idle"),
)


@page()
def people_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.OVERSEES)
    people = insight.by_annotator(project, for_user=person(request))
    rows = [[getattr(one, name) for name in PEOPLE] for one in people]
    return csv_file(f"{project.slug}-people.csv", PEOPLE, rows)


@page()
def labels_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.OVERSEES)
    labels = insight.by_label(project, for_user=person(request))
    rows = [[one.name, one.items, one.disputed, one.share, *(one.interval or ("", ""))] for one in labels]
    heads = ["relation", "items", "disputed", "share", "low", "high"]
    return csv_file(f"{project.slug}-disputed.csv", heads, rows)


@page()
def other_policy(request: HttpRequest, slug: str) -> HttpResponse:
    """The sentences that the other policy would decide otherwise, for those who see votes."""
    project, role = project_for(request, slug, *roles.DECIDES)
    changed = otherwise.changed(project, for_user=person(request))
    pages = Paginator(changed, PER_PAGE)
    shown = pages.get_page(request.GET.get("page"))
    titles = _titles(project)
    rows = [
        (one.item, _outcome(one.item.gold, titles), _outcome(None if one.disputed else one.gold, titles))
        for one in otherwise.by_other_policy(project, list(shown))
    ]
    told = {"rows": rows, "shown": shown, "other": outcomes.Rules(project).other_policy}
    return render(request, "annotation/otherwise.html", around(project, role, **told))


def _outcome(gold: Payload | None, titles: dict[str, str]) -> str:
    if gold is None:
        return "disputed"
    spans = [span[2] for span in gold["spans"]]
    names = [*spans, *(x if isinstance(x, str) else x[1] for x in gold["relations"])]
    return ", ".join(titles.get(name, name) for name in names) or "N/A"
