"""Presentation of a project's progress: summary, days, people and disputed labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from annotation.pages.daily_chart import date_text
from annotation.pages.interval_chart import Estimate, IntervalColumn, share
from annotation.reports.progress import WorkDay
from annotation.reports.project_stats import (
    LEAST_TIMED,
    READING_SPEED,
    AnnotatorStats,
    AnswerTimes,
    LabelStats,
)
from annotation.reports.workload import IDLE_DAYS, ActiveLeases, IdleAnnotator, Workload
from evalsvc.core.web.figures import Stat
from evalsvc.core.web.formatting import are, counted, listed, moment, number, seconds

SHOWN = 20
MIN_ITEMS = 10


@dataclass(frozen=True, slots=True)
class DisputedLabels:
    """Labels with the share of their sentences that are or were disputed."""

    axis: SafeString
    rows: list[tuple[str, LabelStats, str, Any]]


def lead(counts: Mapping[str, int], workload: Workload) -> str:
    """Summarise the sentences decided, the answers needed and the time left."""
    if not counts["all"]:
        return "This project has no sentences yet."
    if workload.needed is None:
        return f"{counted(counts['all'], 'sentence')}. Outcomes are shown when the project is closed."
    decided = counts["all"] - counts["open"] - counts["disputed"]
    have = "has" if decided == 1 else "have"
    summary = f"{decided:,} of {counted(counts['all'], 'sentence')} {have} an outcome"
    if waiting := counts["disputed"] + counts.get("unanswerable", 0):
        summary = f"{summary}, and {waiting:,} {'needs' if waiting == 1 else 'need'} a decision"
    if not workload.needed:
        return f"{summary}. No more answers are needed."
    needed = f"{counted(workload.needed, 'answer')} {are(workload.needed)} still needed"
    if not workload.week:
        return f"{summary}. {needed}, but nobody answered in the last 7 days."
    if workload.days_left is None:
        return f"{summary}. {needed}. There are too few answers on whole days to say how long that takes."
    days = counted(workload.days_left, "day")
    return f"{summary}. {needed}: about {days} at the pace of the last {counted(workload.days, 'whole day')}."


def stats(
    workload: Workload, times: AnswerTimes, leases: ActiveLeases, idle: Sequence[IdleAnnotator]
) -> list[Stat]:
    """Return the figures at the top of the page."""
    needed = []
    if workload.needed is not None:
        needed.append(Stat("Answers needed", f"{workload.needed:,}", "to reach enough answers per sentence"))
    people = f"by {counted(workload.people, 'person', 'people')}" if workload.week else "nobody answered"
    reserved = f"for {counted(leases.people, 'person', 'people')}" if leases.items else "for nobody"
    if leases.first_expiry:
        reserved = f"{reserved}; the first until {leases.first_expiry:%H:%M} UTC"
    return [
        Stat(
            "Answers, last 7 days",
            f"{workload.week:,}",
            f"{people}; {workload.week_before:,} the week before",
        ),
        *needed,
        Stat("Median time", seconds(times.median_seconds), f"of {counted(times.answers, 'timed answer')}"),
        Stat("Rushed", share(times.rushed), _bound_text(times)),
        Stat("Reserved", f"{leases.items:,}", reserved),
        Stat("Idle", f"{len(idle):,}", f"no answer for {IDLE_DAYS} days"),
    ]


def _bound_text(times: AnswerTimes) -> str:
    if times.bound is None:
        return "no timed answers"
    if times.rushed is None:
        return f"needs {LEAST_TIMED} timed answers"
    under = f"under {seconds(times.bound.seconds)}"
    if times.bound.characters is None:
        return f"{under}, a third of the median"
    return f"{under}, too short to read {counted(times.bound.characters, 'character')}"


def rushed_note(times: AnswerTimes) -> str:
    """Explain the column of rushed answers."""
    if times.bound is None:
        return ""
    bound = seconds(times.bound.seconds)
    rushed = f"Rushed: share of timed answers, at least {LEAST_TIMED}, given in under {bound}"
    if times.bound.characters is None:
        return f"{rushed}, a third of the overall median."
    mean = f"sentences have {counted(times.bound.characters, 'character')} on average"
    return f"{rushed}. The {mean}, and nobody reads {READING_SPEED} characters a second."


def days_finding(days: Sequence[WorkDay]) -> str:
    """Compare the last two weeks, or name the busiest day."""
    if not any(day.answers for day in days):
        return "No answers by day"
    if len(days) >= 14:
        week, before = (sum(day.answers for day in part) for part in (days[-7:], days[-14:-7]))
        if before:
            change = 100 * (week - before) / before
            more = "more" if change > 0 else "fewer"
            comparison = "as many as" if abs(change) < 0.5 else f"{abs(change):,.0f} % {more} than"
            return f"{counted(week, 'answer')} in the last 7 days shown, {comparison} in the 7 before"
    busiest = max(days, key=lambda day: day.answers)
    people = counted(busiest.annotators, "person", "people")
    return f"Busiest day: {date_text(busiest.day)}, {counted(busiest.answers, 'answer')} by {people}"


def idle_text(people: Sequence[IdleAnnotator]) -> str:
    """List the idle annotators with their last activity."""
    listing = [
        f"{person.display_name} ({'since ' + moment(person.since) if person.since else 'not started'})"
        for person in people[:10]
    ]
    more = [f"{len(people) - 10} more"] if len(people) > 10 else []
    return listed([*listing, *more])


def state_of(person: AnnotatorStats) -> tuple[str, str]:
    """Return the shape and the text of an annotator's state."""
    if person.paused:
        return "warn", "paused"
    if person.leases:
        return "run", f"{person.leases:,} reserved"
    if person.last_at is None:
        return "wait", "imported" if person.answers else "not started"
    return ("wait", "idle") if person.idle else ("done", "active")


def disputed_labels(
    labels: Sequence[LabelStats], titles: Mapping[str, str], *, by_frequency: bool
) -> DisputedLabels | None:
    """Present labels chosen on decided sentences, most disputed or most frequent first."""
    rows = [label for label in labels if label.items]
    if not rows:
        return None
    rows.sort(key=lambda label: label.name)
    if by_frequency:
        rows.sort(key=lambda label: -label.items)
    else:  # labels on few items last
        rows.sort(key=lambda label: (label.items < MIN_ITEMS, -(label.share or 0)))
    estimates = [Estimate(label.share, *(label.interval or (None, None))) for label in rows]
    column = IntervalColumn.of([Estimate(0.0), *estimates], width=260)
    axis = column.axis(lambda value: f"{number(100 * value, digits=0)} %")
    charts = [column.interval(estimate, write=share) for estimate in estimates]
    return DisputedLabels(
        axis,
        [
            (titles.get(label.name, label.name), label, share(label.share), chart)
            for label, chart in zip(rows, charts, strict=True)
        ],
    )


def disputed_summary(table: DisputedLabels | None, disputed: int, decided: int) -> str:
    """State the disputed share and the most disputed label."""
    if table is None:
        return "No sentence has enough answers yet."
    overall = ""
    if decided:
        overall = f"{share(disputed / decided)} of sentences with enough answers are or were disputed"
    enough = [row for row in table.rows if row[1].items >= MIN_ITEMS and row[1].disputed]
    worst = max(enough, key=lambda row: row[1].share or 0, default=None)
    return f"{overall}, most often with {worst[0]} ({worst[2]})." if worst else f"{overall}."
