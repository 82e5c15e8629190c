"""Statistics by day, annotator and label, and under the other policy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from typing import Any

from django.db.models import Avg, Count, Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Length, Now

from annotation.consensus import item_state, majority
from annotation.consensus.label_mapping import Payload
from annotation.models import Annotator, Answer, Item, ItemCount, ItemQuerySet, Lease, Mark, Project, Vote
from annotation.ontology import label_usage
from annotation.reports import workload
from annotation.reports.progress import WorkDay, work_days
from annotation.roles import CURATOR, MAY_DECIDE, MAY_OVERSEE, display_names, numbered_names, require
from evalsvc.core.accounts.models import User

BUCKET = 250  # milliseconds
RUSHED_FRACTION = 3
# Characters a second, some 600 words a minute: more than twice what people read (Brysbaert 2019).
READING_SPEED = 60
LEAST_TIMED = 10  # timed answers that a share of rushed ones is stated for


@dataclass(frozen=True, slots=True)
class AnnotatorStats:
    """Counts of one annotator; `name` is the one in downloads.

    `rushed` is the share of answers given faster than the project's bound.
    """

    annotator: int
    name: str
    display_name: str
    answers: int
    counted: int
    skips: int
    flags: int
    surplus: int
    leases: int
    median_seconds: float | None
    rushed: float | None
    gold_answered: int
    gold_right: int
    paused: bool
    pause_reason: str
    last_at: datetime | None
    idle: bool


@dataclass(frozen=True, slots=True)
class LabelStats:
    """Items on which somebody chose a label, and those ever disputed."""

    name: str
    items: int
    disputed: int

    @property
    def share(self) -> float | None:
        return self.disputed / self.items if self.items else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson interval at 95 %, which stays within 0 and 1."""
        if not self.items:
            return None
        n, p, z = self.items, self.disputed / self.items, 1.959964
        middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


@dataclass(frozen=True, slots=True)
class RushedBound:
    """Seconds below which answers are rushed; `characters` if reading sets them."""

    seconds: float
    characters: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Median time of all timed answers, and the share of rushed ones."""

    answers: int
    median_seconds: float | None
    bound: RushedBound | None
    rushed: float | None


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """Outcome under the other policy; no gold means disputed."""

    item: Item
    gold: Payload | None
    disputed: bool


def _votes(project: Project) -> QuerySet[Vote]:
    """Return votes given here; imported answers have no date of their own."""
    return Vote.objects.filter(item__project=project, batch=None)


def by_day(project: Project, *, for_user: User, days: int = 90) -> list[WorkDay]:
    """Return the last days with votes, oldest first."""
    require(project, for_user, *MAY_OVERSEE)
    return work_days(_votes(project), days=days)


def by_annotator(project: Project, *, for_user: User) -> list[AnnotatorStats]:
    """Return every annotator, busiest first; curators see names, others numbers."""
    numbers = None if require(project, for_user, *MAY_OVERSEE) == CURATOR else numbered_names(project)
    shown_names = display_names(project) if numbers is None else numbers
    skips, flags = Count("pk", filter=Q(act=Vote.Act.SKIP)), Count("pk", filter=Q(flagged=True))
    votes = _by_annotator(_votes(project), skips=skips, flags=flags, last=Max("at"))
    included = Answer.objects.filter(item__project=project, item__use="").active()
    answers, excluded = _by_annotator(included), _by_annotator(included.filter(set_aside=True))
    surplus = _surplus(project)
    leases = _by_annotator(Lease.objects.filter(item__project=project, ending=""))
    marks = Mark.objects.filter(item__project=project)
    gold = _by_annotator(marks, right=Count("pk", filter=Q(right=True)))
    times = _times(project)
    bound = _rushed_bound(project, _median(sum(times.values(), Counter[int]())))
    recent = Vote.objects.filter(annotator=OuterRef("pk"), at__gt=Now() - timedelta(days=workload.IDLE_DAYS))
    active_leases = Lease.objects.filter(annotator=OuterRef("pk"), ending="")
    rows = Annotator.objects.filter(project=project)
    stats = [
        AnnotatorStats(
            annotator=row.pk,
            name=row.name if numbers is None else numbers[row.name],
            display_name=shown_names[row.name],
            answers=answers[row.pk]["n"],
            counted=answers[row.pk]["n"] - excluded[row.pk]["n"] - surplus[row.pk],
            skips=votes[row.pk]["skips"],
            flags=votes[row.pk]["flags"],
            surplus=surplus[row.pk],
            leases=leases[row.pk]["n"],
            median_seconds=_median(times[row.pk]),
            rushed=_rushed_share(times[row.pk], bound),
            gold_answered=gold[row.pk]["n"],
            gold_right=gold[row.pk]["right"],
            paused=row.paused_at is not None,
            pause_reason=row.pause_reason,
            last_at=votes[row.pk]["last"] or None,
            idle=row.is_idle,
        )
        for row in rows.annotate(is_idle=~Exists(recent) & ~Exists(active_leases))
    ]
    return sorted(stats, key=lambda person: (-person.answers, person.display_name))


def answer_times(project: Project, *, for_user: User) -> AnswerTimes:
    """Return the median and the rushed share of all timed answers."""
    require(project, for_user, *MAY_OVERSEE)
    times = sum(_times(project).values(), Counter[int]())
    usual = _median(times)
    bound = _rushed_bound(project, usual)
    return AnswerTimes(times.total(), usual, bound, _rushed_share(times, bound))


def _by_annotator(rows: QuerySet[Any], **figures: Any) -> dict[int, dict[str, Any]]:
    """Return the number of rows, and other figures, by annotator."""
    groups = rows.order_by().values("annotator").annotate(n=Count("pk"), **figures)
    zeros = dict.fromkeys(("n", *figures), 0)
    return defaultdict(lambda: zeros, {row["annotator"]: dict(row) for row in groups})


def _surplus(project: Project) -> Counter[int]:
    """Count surplus answers by annotator."""
    crowded = (
        Answer.objects.filter(item__project=project, item__use="", set_aside=False)
        .order_by()
        .values("item", "item__k")
        .annotate(n=Count("pk"))
        .filter(n__gt=Coalesce(F("item__k"), project.k))
    )
    keys = [row["item"] for row in crowded]
    surplus: Counter[int] = Counter()
    for start in range(0, len(keys), item_state.CHUNK):
        chunk = keys[start : start + item_state.CHUNK]
        records = item_state.load_records(chunk)
        for item in Item.objects.filter(pk__in=chunk).only("k", "extra", "project_id"):
            answers = [answer for answer in records[item.pk].answers if not answer.set_aside]
            surplus.update(item_state.surplus_annotators(item, answers, project))
    return surplus


def _times(project: Project) -> dict[int, Counter[int]]:
    """Histogram of answer times by annotator.

    Its size does not grow with the number of answers.
    """
    timed = _votes(project).filter(milliseconds__isnull=False, act=Vote.Act.ANSWER)
    rows = timed.annotate(bucket=F("milliseconds") / BUCKET).values_list("annotator", "bucket")
    times: dict[int, Counter[int]] = defaultdict(Counter)
    for annotator, bucket, n in rows.annotate(n=Count("pk")).order_by():
        times[annotator][int(bucket)] += n
    return times


def _median(times: Counter[int]) -> float | None:
    """Median in seconds, exact to a bucket."""
    middle = times.total() / 2
    seen = 0
    for bucket in sorted(times):
        seen += times[bucket]
        if seen >= middle:
            return (bucket + 0.5) * BUCKET / 1_000
    return None


def _rushed_bound(project: Project, usual: float | None) -> RushedBound | None:
    """Return a third of the usual time, at least the reading time.

    Where everybody rushes, the usual time alone would hide it.
    """
    if usual is None:
        return None
    length = round(project.items.live().order_by().aggregate(mean=Avg(Length("text")))["mean"] or 0)
    bounds = (RushedBound(usual / RUSHED_FRACTION), RushedBound(length / READING_SPEED, length))
    return max(bounds, key=lambda bound: bound.seconds)


def _rushed_share(times: Counter[int], bound: RushedBound | None) -> float | None:
    if bound is None or times.total() < LEAST_TIMED:
        return None
    rushed = sum(n for bucket, n in times.items() if (bucket + 0.5) * BUCKET / 1_000 < bound.seconds)
    return rushed / times.total()


def by_label(project: Project, *, for_user: User) -> list[LabelStats]:
    """Count items and disputes per label, among items with enough answers."""
    require(project, for_user, *MAY_OVERSEE)
    disputed_states = (Item.State.DISPUTED, *Item.DECIDED)
    items: Counter[str] = Counter()
    disputed: Counter[str] = Counter()
    answers = Answer.objects.filter(item__project=project, item__use="", set_aside=False).active()
    answers = answers.exclude(item__state=Item.State.OPEN)
    for state, chosen, n in label_usage.label_sets_of_items(project, answers):
        for counts in (items, disputed) if state in disputed_states else (items,):
            counts.update(dict.fromkeys(chosen, n))
    names = sorted(item_state.label_names(project), key=lambda name: (-disputed[name], -items[name], name))
    return [LabelStats(name, items[name], disputed[name]) for name in names]


def overview(project: Project, *, for_user: User) -> dict[str, Any]:
    """Count items by state, flags and skips; list idle people."""
    require(project, for_user, *MAY_OVERSEE)
    counts = ItemCount.objects.live(project).by_state()
    skips = _votes(project).filter(act=Vote.Act.SKIP).order_by()
    return {
        "states": {state: n for state, n in counts.items() if n},
        "other_policy_changes": item_state.other_policy_changes(project),
        "flagged": _votes(project).filter(flagged=True).values("item").distinct().count(),
        "reasons": dict(skips.values_list("reason").annotate(n=Count("pk"))),
        "idle": [person.name for person in workload.idle_annotators(project, for_user=for_user)],
    }


def changed_by_other_policy(project: Project, *, for_user: User) -> ItemQuerySet:
    """Return items with another outcome under the other policy, in order."""
    require(project, for_user, *MAY_DECIDE)
    return project.items.live().filter(policy_matters=True).order_by("rank", "pk")


def outcomes_by_other_policy(project: Project, items: Sequence[Item]) -> list[PolicyOutcome]:
    """Compute outcomes under the other policy without storing them."""
    rules = item_state.Rules(project)
    records = item_state.load_records([item.pk for item in items])
    outcomes = []
    for item in items:
        k = item_state.answers_needed(item, project)
        answers = item_state.counted_answers(records[item.pk].answers, k=k)
        payloads = [rules.mapping.payload(answer.payload).payload for answer in answers]
        verdict = rules.verdict(payloads, k, rules.other_policy)
        outcomes.append(PolicyOutcome(item, verdict.gold, verdict.state == majority.DISPUTED))
    return outcomes
