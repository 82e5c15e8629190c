"""How a project goes: by day, by person, by relation; who is idle, who hurries, who fails known items."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import sqrt
from typing import Any

from django.db.models import Avg, Count, Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Length, Now, TruncDate

from annotation.consensus import item_state
from annotation.models import Annotator, Answer, Item, Lease, Mark, Project, Vote
from annotation.ontology import label_usage
from annotation.reports import workload
from annotation.reports.display_names import called, numbered
from annotation.roles import CURATOR, MAY_OVERSEE, require
from evalsvc.core.accounts.models import User

BUCKET = 250
RUSHED = 3
READ = 60  # letters a second, some 600 words a minute: more than twice what people read (Brysbaert 2019)


@dataclass(frozen=True, slots=True)
class Day:
    """What was done on one day (UTC)."""

    day: date
    answers: int
    skips: int
    annotators: int


@dataclass(frozen=True, slots=True)
class Person:
    """One annotator's counts; `name` is the one in downloads, `shown` the one that people read.

    `rushed` is the share of answers given in less time than the project's bound.
    """

    annotator: int
    name: str
    shown: str
    answers: int
    counted: int
    skips: int
    flags: int
    surplus: int
    holding: int
    median_seconds: float | None
    rushed: float | None
    known_done: int
    known_right: int
    paused: bool
    pause_reason: str
    last_at: datetime | None
    idle: bool


@dataclass(frozen=True, slots=True)
class Label:
    """How often items on which somebody chose this relation were or are disputed."""

    name: str
    items: int
    disputed: int

    @property
    def share(self) -> float | None:
        return self.disputed / self.items if self.items else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % by Wilson: it stays within 0 and 1, also for few items."""
        if not self.items:
            return None
        n, p, z = self.items, self.disputed / self.items, 1.959964
        middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


@dataclass(frozen=True, slots=True)
class Bound:
    """An answer in less than so many seconds is rushed; `letters` where reading that many sets it."""

    seconds: float
    letters: int | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an answer takes, and which bound makes one rushed."""

    answers: int
    median_seconds: float | None
    bound: Bound | None
    rushed: float | None


def _log(project: Project) -> QuerySet[Vote]:
    """What was done here; answers brought by imports have no day of their own."""
    return Vote.objects.filter(item__project=project, batch=None)


def by_day(project: Project, *, for_user: User, days: int = 90) -> list[Day]:
    """The last days on which something was done, oldest first."""
    require(project, for_user, *MAY_OVERSEE)
    rows = (
        _log(project)
        .annotate(day=TruncDate("at"))
        .values("day")
        .annotate(
            answers=Count("pk", filter=Q(act=Vote.Act.ANSWER)),
            skips=Count("pk", filter=Q(act=Vote.Act.SKIP)),
            annotators=Count("annotator", distinct=True),
        )
        .order_by("-day")[:days]
    )
    return [Day(row["day"], row["answers"], row["skips"], row["annotators"]) for row in reversed(rows)]


def by_annotator(project: Project, *, for_user: User) -> list[Person]:
    """Everybody who answered, holds something or was paused, busiest first; by name for curators."""
    numbers = None if require(project, for_user, *MAY_OVERSEE) == CURATOR else numbered(project)
    words = called(project) if numbers is None else numbers
    acts = _acts(project)
    answers = _counts(Answer.objects.filter(item__project=project, item__use="").active())
    aside = _counts(Answer.objects.filter(item__project=project, item__use="", set_aside=True).active())
    surplus = _surplus(project)
    holding = _counts(Lease.objects.filter(item__project=project, ending=""))
    marks = _marks(project)
    times = _times(project)
    everybody = sum(times.values(), Counter[int]())
    bound = _bound(project, _median(everybody))
    found = []
    for row in Annotator.objects.filter(project=project).annotate(is_idle=_idle()):
        own = acts.get(row.pk, {})
        done, right = marks.get(row.pk, (0, 0))
        found.append(
            Person(
                annotator=row.pk,
                name=row.name if numbers is None else numbers[row.name],
                shown=words[row.name],
                answers=answers[row.pk],
                counted=answers[row.pk] - aside[row.pk] - surplus[row.pk],
                skips=own.get("skips", 0),
                flags=own.get("flags", 0),
                surplus=surplus[row.pk],
                holding=holding[row.pk],
                median_seconds=_median(times[row.pk]),
                rushed=_rushed(times[row.pk], bound),
                known_done=done,
                known_right=right,
                paused=row.paused_at is not None,
                pause_reason=row.pause_reason,
                last_at=own.get("last"),
                idle=row.is_idle,
            )
        )
    return sorted(found, key=lambda person: (-person.answers, person.shown))


def pace(project: Project, *, for_user: User) -> Pace:
    """Over all answers given here with a time."""
    require(project, for_user, *MAY_OVERSEE)
    times = sum(_times(project).values(), Counter[int]())
    usual = _median(times)
    bound = _bound(project, usual)
    return Pace(times.total(), usual, bound, _rushed(times, bound))


def _acts(project: Project) -> dict[int, dict[str, Any]]:
    rows = (
        _log(project)
        .values("annotator")
        .annotate(
            skips=Count("pk", filter=Q(act=Vote.Act.SKIP)),
            flags=Count("pk", filter=Q(flagged=True)),
            last=Max("at"),
        )
    )
    return {row["annotator"]: dict(row) for row in rows}


def _counts(rows: QuerySet[Any]) -> Counter[int]:
    return Counter(dict(rows.order_by().values_list("annotator").annotate(n=Count("pk"))))


def _surplus(project: Project) -> Counter[int]:
    """Answers behind those that count, by person; only items with more answers than k are looked at."""
    crowded = (
        Answer.objects.filter(item__project=project, item__use="", set_aside=False)
        .order_by()
        .values("item", "item__k")
        .annotate(n=Count("pk"))
        .filter(n__gt=Coalesce(F("item__k"), project.k))
    )
    keys = [row["item"] for row in crowded]
    found: Counter[int] = Counter()
    rules = item_state.Rules(project)
    for start in range(0, len(keys), item_state.CHUNK):
        some = keys[start : start + item_state.CHUNK]
        around = item_state.load_records(some)
        for item in Item.objects.filter(pk__in=some).only("k", "extra", "project_id"):
            answers = [answer for answer in around[item.pk].answers if not answer.set_aside]
            counted = item_state.counted_answers(answers, k=item_state.answers_needed(item, rules))
            found.update(answer.annotator_id for answer in answers if answer not in counted)
    return found


def _marks(project: Project) -> dict[int, tuple[int, int]]:
    rows = Mark.objects.filter(item__project=project).values("annotator")
    told = rows.annotate(n=Count("pk"), right=Count("pk", filter=Q(right=True)))
    return {row["annotator"]: (row["n"], row["right"]) for row in told}


def _times(project: Project) -> dict[int, Counter[int]]:
    """How often each person took how many quarters of a second: a table whose size no project outgrows."""
    timed = _log(project).filter(milliseconds__isnull=False, act=Vote.Act.ANSWER)
    rows = timed.annotate(bucket=F("milliseconds") / BUCKET).values_list("annotator", "bucket")
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for annotator, bucket, n in rows.annotate(n=Count("pk")).order_by():
        found[annotator][int(bucket)] += n
    return found


def _median(times: Counter[int]) -> float | None:
    """The middle in seconds, to a quarter."""
    middle = times.total() / 2
    seen = 0
    for bucket in sorted(times):
        seen += times[bucket]
        if seen >= middle:
            return (bucket + 0.5) * BUCKET / 1_000
    return None


def _bound(project: Project, usual: float | None) -> Bound | None:
    """A third of the usual time, and no less than reading takes: where all rush, their pace says nothing."""
    if usual is None:
        return None
    letters = round(project.items.live().order_by().aggregate(mean=Avg(Length("text")))["mean"] or 0)
    return max(Bound(usual / RUSHED), Bound(letters / READ, letters), key=lambda bound: bound.seconds)


def _rushed(times: Counter[int], bound: Bound | None) -> float | None:
    if bound is None or not times.total():
        return None
    quick = sum(n for bucket, n in times.items() if (bucket + 0.5) * BUCKET / 1_000 < bound.seconds)
    return quick / times.total()


def _idle() -> Any:
    """Nothing done for some days, and nothing in hand."""
    recent = Vote.objects.filter(annotator=OuterRef("pk"), at__gt=Now() - timedelta(days=workload.IDLE_DAYS))
    held = Lease.objects.filter(annotator=OuterRef("pk"), ending="")
    return ~Exists(recent) & ~Exists(held)


def by_label(project: Project, *, for_user: User) -> list[Label]:
    """For each relation or type: items with enough answers on which somebody chose it, and disputed ones."""
    require(project, for_user, *MAY_OVERSEE)
    disputed = (Item.State.DISPUTED, *Item.DECIDED)
    seen: Counter[str] = Counter()
    hard: Counter[str] = Counter()
    answers = Answer.objects.filter(item__project=project, item__use="", set_aside=False).active()
    for state, chosen, n in label_usage.label_sets_of_items(
        project, answers.exclude(item__state=Item.State.OPEN)
    ):
        for counts in (seen, hard) if state in disputed else (seen,):
            counts.update(dict.fromkeys(chosen, n))
    names = sorted(item_state.label_names(project), key=lambda name: (-hard[name], -seen[name], name))
    return [Label(name, seen[name], hard[name]) for name in names]


def overview(project: Project, *, for_user: User) -> dict[str, Any]:
    """Items by state, what the other policy would change, flags, and who is idle."""
    require(project, for_user, *MAY_OVERSEE)
    live = project.items.live().order_by()
    return {
        "states": dict(live.values_list("state").annotate(n=Count("pk"))),
        "other_policy_changes": item_state.other_policy_changes(project),
        "flagged": _log(project).filter(flagged=True).values("item").distinct().count(),
        "reasons": dict(
            _log(project).filter(act=Vote.Act.SKIP).order_by().values_list("reason").annotate(n=Count("pk"))
        ),
        "idle": [one.name for one in workload.idle(project, for_user=for_user)],
    }
