"""Progress page: days, people, labels, and outcomes under the other policy."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import roles
from annotation.consensus import effects
from annotation.consensus.rules import Rules
from annotation.models import Project
from annotation.models.project import RULE_TITLES
from annotation.pages import progress_view
from annotation.pages.daily_chart import calendar_of, days_svg, responsive_chart
from annotation.pages.interval_chart import share
from annotation.pages.project_page import answer_text, label_titles, project_context, project_for
from annotation.pages.projects import state_counts
from annotation.reports import project_stats, workload
from annotation.reports.progress import WorkDay
from annotation.reports.project_stats import LabelStats
from annotation.reports.vote_figures import figures_of
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.views import page, page_of

PER_PAGE = 50
# Columns of the CSV file by attribute; the file keeps its headings
PEOPLE_COLUMNS = {
    **{name: name for name in ("name", "answers", "counted", "surplus", "skips", "flags")},
    "holding": "leases",
    **{name: name for name in ("median_seconds", "rushed")},
    "known_done": "gold_answered",
    "known_right": "gold_right",
    **{name: name for name in ("paused", "last_at", "idle")},
}


@page()
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    user = person(request)
    counts = state_counts(project, role)
    figures = figures_of(project)
    by_user: dict[str, Any] = {"for_user": user, "figures": figures}
    work = workload.workload(project, **by_user)
    idle = workload.idle_annotators(project, for_user=user)
    leases = workload.active_leases(project, for_user=user)
    people = project_stats.by_annotator(project, **by_user)
    shown = people if "all" in request.GET else people[: progress_view.SHOWN]
    times = project_stats.answer_times(project, **by_user)
    days = calendar_of(project, project_stats.by_day(project, **by_user))
    context = project_context(
        project,
        role,
        lead=progress_view.lead(counts, work),
        stats=progress_view.stats(work, times, leases, idle),
        idle=idle and progress_view.idle_text(idle),
        days=days,
        rushed_note=progress_view.rushed_note(times),
        finding=progress_view.days_finding(days),
        chart=responsive_chart(days),
        people=[(row, share(row.rushed), *progress_view.state_of(row)) for row in shown],
        n_people=len(people),
        other=RULE_TITLES[Rules(project).other_policy],
        computed_at=figures.computed_at,
    )
    by_frequency = request.GET.get("order") == "frequent"
    if context["reads_label_counts"]:
        labels = project_stats.by_label(project, **by_user)
        context["changes"] = effects.other_policy_changes(project)
        context |= _label_context(project, labels, counts, by_frequency=by_frequency)
    return render(request, "annotation/progress.html", context)


def _days(project: Project, user: User) -> list[WorkDay]:
    return calendar_of(project, project_stats.by_day(project, for_user=user))


def _label_context(
    project: Project, labels: list[LabelStats], counts: dict[str, int], *, by_frequency: bool
) -> dict[str, object]:
    table = progress_view.disputed_labels(labels, label_titles(project), by_frequency=by_frequency)
    disputed, decided = counts["all"] - counts["open"] - counts["settled"], counts["all"] - counts["open"]
    summary = progress_view.disputed_summary(table, disputed, decided)
    return {"labels_table": table, "labels_summary": summary, "by_frequency": by_frequency}


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


@page()
def people_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    people = project_stats.by_annotator(project, for_user=person(request))
    left_out = () if roles.reads_label_counts(project, role) else ("counted", "surplus")
    columns = {head: name for head, name in PEOPLE_COLUMNS.items() if name not in left_out}
    rows = [[getattr(row, name) for name in columns.values()] for row in people]
    return csv_file(f"{project.slug}-people.csv", list(columns), rows)


@page()
def labels_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    labels = project_stats.by_label(project, for_user=person(request))
    rows = [
        [label.name, label.items, label.disputed, label.share, *(label.interval or ("", ""))]
        for label in labels
    ]
    heads = ["relation", "items", "disputed", "share", "low", "high"]
    return csv_file(f"{project.slug}-disputed.csv", heads, rows)


@page()
def other_policy(request: HttpRequest, slug: str) -> HttpResponse:
    """List the sentences with another outcome under the other policy."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    items = project_stats.changed_by_other_policy(project, for_user=person(request))
    shown = page_of(request, items, size=PER_PAGE, count=effects.other_policy_changes(project))
    titles = label_titles(project)

    def text(gold: dict[str, object] | None) -> str:
        return "disputed" if gold is None else answer_text(gold, titles)

    rows = [
        (outcome.item, text(outcome.item.gold), text(None if outcome.disputed else outcome.gold))
        for outcome in project_stats.outcomes_by_other_policy(project, list(shown))
    ]
    other = RULE_TITLES[Rules(project).other_policy]
    context = project_context(project, role, rows=rows, shown=shown, other=other)
    return render(request, "annotation/policy_comparison.html", context)
