"""What the progress page says: a first sentence, a finding over the days, people and relations in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from annotation.pages.daily_chart import words
from annotation.pages.interval_chart import Column, Figure, share
from annotation.reports.project_stats import READ, Day, Label, Pace, Person
from annotation.reports.workload import HandedOut, Idle, Outlook
from evalsvc.core.web.formatting import DASH, counted, listed, moment, number

SHOWN = 20
FEW = 10


@dataclass(frozen=True, slots=True)
class Stat:
    """A big figure with its name and what it counts."""

    name: str
    figure: str
    detail: str


@dataclass(frozen=True, slots=True)
class Disputed:
    """Relations with the share of their sentences that were or are disputed."""

    axis: SafeString
    rows: list[tuple[str, Label, str, Any]]


def lead(counts: Mapping[str, int], ahead: Outlook) -> str:
    """What is decided, what is left, and how long it takes at this pace."""
    if not counts["all"]:
        return "No sentences yet."
    decided = counts["all"] - counts["open"] - counts["disputed"]
    parts = [f"{decided:,} of {counted(counts['all'], 'sentence')} {_is(decided)} decided"]
    waiting = counts["disputed"] + counts.get("passed_on", 0)
    if waiting:
        parts.append(f"{waiting:,} {'waits' if waiting == 1 else 'wait'} for a decision")
    first = " and ".join(parts) + "."
    if not ahead.wanted:
        return f"{first} No answer is wanted any more."
    wanted = f"{counted(ahead.wanted, 'answer')} {_is(ahead.wanted)} still wanted"
    if ahead.days_left is None:
        return f"{first} {wanted}, and nobody answered in the last 7 days."
    pace = f"about {counted(ahead.days_left, 'day')} more at the pace of the last 7 days"
    return f"{first} {wanted}: {pace}."


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def stats(ahead: Outlook, pace: Pace, held: HandedOut, idle: Sequence[Idle]) -> list[Stat]:
    people = f"by {counted(ahead.people, 'person', 'people')}" if ahead.week else "nobody answered"
    hands = f"to {counted(held.people, 'person', 'people')}" if held.items else "nobody holds one"
    return [
        Stat("Answers, last 7 days", f"{ahead.week:,}", f"{people}; {ahead.before:,} in the 7 before"),
        Stat("Still wanted", f"{ahead.wanted:,}", "answers"),
        Stat(
            "Median per answer", seconds(pace.median_seconds), f"of {counted(pace.answers, 'timed answer')}"
        ),
        Stat("Rushed", share(pace.rushed), _bound(pace)),
        Stat("Handed out", f"{held.items:,}", _until(hands, held.first_end)),
        Stat("Idle", f"{len(idle):,}", "did nothing for 3 days"),
    ]


def _bound(pace: Pace) -> str:
    """Under how many seconds an answer is rushed, and whence that comes."""
    if pace.bound is None:
        return "no answer has a time"
    under = f"under {seconds(pace.bound.seconds)}"
    if pace.bound.letters is None:
        return f"{under}, a third of the median"
    return f"{under}: too short to read {counted(pace.bound.letters, 'letter')}"


def rushed(pace: Pace) -> str:
    """The same over the table of people."""
    if pace.bound is None:
        return ""
    under = f"Rushed: share of a person’s timed answers given in under {seconds(pace.bound.seconds)}"
    if pace.bound.letters is None:
        return f"{under}, a third of everybody’s median."
    mean = f"a sentence has {counted(pace.bound.letters, 'letter')} on average"
    return f"{under}; {mean}, and nobody reads {READ} of them a second."


def _until(hands: str, end: datetime | None) -> str:
    return f"{hands}; the first until {end:%H:%M} UTC" if end else hands


def seconds(value: float | None) -> str:
    return DASH if value is None else f"{number(value)} s"


def finding(days: Sequence[Day]) -> str:
    """The busiest day, or how the last seven days stand to the seven before."""
    if not any(day.answers for day in days):
        return "No answers by day"
    if len(days) >= 14:
        late, before = (sum(day.answers for day in part) for part in (days[-7:], days[-14:-7]))
        if before:
            turn = 100 * (late - before) / before
            more = "more" if turn > 0 else "fewer"
            word = "as many as" if abs(turn) < 0.5 else f"{abs(turn):,.0f} % {more} than"
            return f"{counted(late, 'answer')} in the last 7 days shown, {word} in the 7 before"
    most = max(days, key=lambda day: day.answers)
    people = counted(most.annotators, "person", "people")
    return f"Most on {words(most.day)}: {counted(most.answers, 'answer')} by {people}"


def idle_words(people: Sequence[Idle]) -> str:
    """Who is idle, and since when."""
    told = [
        f"{one.shown} ({'since ' + moment(one.since) if one.since else 'never began'})" for one in people[:10]
    ]
    more = [f"{len(people) - 10} more"] if len(people) > 10 else []
    return listed([*told, *more])


def state_of(person: Person) -> tuple[str, str]:
    """A shape and a word."""
    if person.paused:
        return "warn", "paused"
    if person.holding:
        return "run", f"holds {person.holding:,}"
    if person.last_at is None:
        return "wait", "imported" if person.answers else "nothing yet"
    return ("wait", "idle") if person.idle else ("done", "active")


def disputed(labels: Sequence[Label], titles: Mapping[str, str], *, frequent: bool) -> Disputed | None:
    """Relations somebody chose on a sentence that has its answers; the most disputed first unless told."""
    seen = [label for label in labels if label.items]
    if not seen:
        return None
    seen.sort(key=(lambda one: (-one.items, one.name)) if frequent else _most_disputed)
    figures = [_figure(label) for label in seen]
    column = Column.of([Figure(0.0), *figures], width=260)
    rows = [
        (titles.get(one.name, one.name), one, share(one.share), column.interval(figure, write=share))
        for one, figure in zip(seen, figures, strict=True)
    ]
    return Disputed(column.axis(_percent), rows)


def _most_disputed(one: Label) -> Any:
    return (one.items < FEW, -(one.share or 0), one.name)


def _figure(label: Label) -> Figure:
    low, high = label.interval or (None, None)
    return Figure(label.share, low, high)


def _percent(value: float) -> str:
    return f"{number(100 * value, digits=0)} %"


def found(table: Disputed | None, everything: tuple[int, int]) -> str:
    """Over the table: the whole, and where it is worst among relations with enough sentences."""
    if table is None:
        return "No sentence has its answers yet."
    n, all_ = everything
    whole = f"{share(n / all_)} of the sentences with enough answers were or are disputed" if all_ else ""
    enough = [row for row in table.rows if row[1].items >= FEW and row[1].disputed]
    worst = max(enough, key=lambda row: row[1].share or 0, default=None)
    return f"{whole}; most with {worst[0]}, {worst[2]}." if worst else f"{whole}."
