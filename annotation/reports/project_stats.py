"""Statistics by day, annotator and label, and under the other policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import sqrt
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from annotation.consensus import effects, item_state, majority, recomputation
from annotation.consensus.rules import Rules, label_names
from annotation.models import Annotator, Item, ItemCount, ItemQuerySet, Lease, Mark, Project, Vote
from annotation.reports import workload
from annotation.reports.progress import WorkDay
from annotation.reports.vote_figures import BUCKET, VoteFigures, figures_of, rows_by_annotator, votes_here
from annotation.roles import (
    CURATOR,
    MAY_DECIDE,
    MAY_OVERSEE,
    display_names,
    numbered_names,
    reads_label_counts,
    reads_outcomes,
    require,
    require_label_counts,
)
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.label_mapping import Payload

RUSHED_FRACTION = 3
# Characters a second, some 600 words a minute: more than twice what people read (Brysbaert 2019).
READING_SPEED = 60
LEAST_TIMED = 10  # timed answers that a share of rushed ones is stated for


@dataclass(frozen=True, slots=True)
class AnnotatorStats:
    """Counts of one annotator; `name` is the one in downloads.

    `counted` and `surplus` are None for people who may not read counts of labels: which answers count follows
    from what others answered, where labels are split, answers asked again, or people called.
    `rushed` is the share of answers given faster than the project's bound.
    """

    annotator: int
    name: str
    display_name: str
    answers: int
    counted: int | None
    skips: int
    flags: int
    surplus: int | None
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


def by_day(project: Project, *, for_user: User, figures: VoteFigures | None = None) -> list[WorkDay]:
    """Return the last ninety days with votes, oldest first."""
    require(project, for_user, *MAY_OVERSEE)
    figures = figures or figures_of(project)
    return [WorkDay(date.fromisoformat(day), *counts) for day, *counts in figures["days"]]


def by_annotator(
    project: Project, *, for_user: User, figures: VoteFigures | None = None
) -> list[AnnotatorStats]:
    """Return every annotator, busiest first; curators see names, others numbers."""
    role = require(project, for_user, *MAY_OVERSEE)
    numbers = None if role == CURATOR else numbered_names(project)
    shown_names = display_names(project) if numbers is None else numbers
    figures = figures or figures_of(project)
    answers, skips, flags = (figures[name] for name in ("answers", "skips", "flags"))
    reads_counted = reads_label_counts(project, role)
    uncounted, surplus = (figures[name] if reads_counted else {} for name in ("uncounted", "surplus"))
    leases = rows_by_annotator(Lease.objects.filter(annotator__project=project, ending=""))
    marks = Mark.objects.filter(annotator__project=project)
    graded, right = rows_by_annotator(marks), rows_by_annotator(marks.filter(right=True))
    times = {pk: Counter(of_annotator) for pk, of_annotator in figures["times"].items()}
    none = Counter[int]()
    bound = _rushed_bound(figures, _median(_all_times(figures)))
    newest = Vote.objects.filter(annotator=OuterRef("pk")).order_by("-at").values("at")
    recent = timezone.now() - timedelta(days=workload.IDLE_DAYS)
    stats = [
        AnnotatorStats(
            annotator=row.pk,
            name=row.name if numbers is None else numbers[row.name],
            display_name=shown_names[row.name],
            answers=answers.get(row.pk, 0),
            counted=answers.get(row.pk, 0) - uncounted.get(row.pk, 0) - surplus.get(row.pk, 0)
            if reads_counted
            else None,
            skips=skips.get(row.pk, 0),
            flags=flags.get(row.pk, 0),
            surplus=surplus.get(row.pk, 0) if reads_counted else None,
            leases=leases.get(row.pk, 0),
            median_seconds=_median(times.get(row.pk, none)),
            rushed=_rushed_share(times.get(row.pk, none), bound),
            gold_answered=graded.get(row.pk, 0),
            gold_right=right.get(row.pk, 0),
            paused=row.paused_at is not None,
            pause_reason=row.pause_reason,
            last_at=row.here_at,
            idle=row.pk not in leases and (row.last is None or row.last <= recent),
        )
        for row in Annotator.objects.filter(project=project).annotate(
            last=Subquery(newest[:1]), here_at=Subquery(newest.filter(batch=None)[:1])
        )
    ]
    return sorted(stats, key=lambda person: (-person.answers, person.display_name))


def answer_times(project: Project, *, for_user: User, figures: VoteFigures | None = None) -> AnswerTimes:
    """Return the median and the rushed share of all timed answers."""
    require(project, for_user, *MAY_OVERSEE)
    figures = figures or figures_of(project)
    times = _all_times(figures)
    usual = _median(times)
    bound = _rushed_bound(figures, usual)
    return AnswerTimes(times.total(), usual, bound, _rushed_share(times, bound))


def _all_times(figures: VoteFigures) -> Counter[int]:
    times = Counter[int]()
    for of_annotator in figures["times"].values():
        times.update(of_annotator)
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


def _rushed_bound(figures: VoteFigures, usual: float | None) -> RushedBound | None:
    """Return a third of the usual time, at least the reading time.

    Where everybody rushes, the usual time alone would hide it.
    """
    if usual is None:
        return None
    length = figures["length"]
    bounds = (RushedBound(usual / RUSHED_FRACTION), RushedBound(length / READING_SPEED, length))
    return max(bounds, key=lambda bound: bound.seconds)


def _rushed_share(times: Counter[int], bound: RushedBound | None) -> float | None:
    if bound is None or times.total() < LEAST_TIMED:
        return None
    rushed = sum(n for bucket, n in times.items() if (bucket + 0.5) * BUCKET / 1_000 < bound.seconds)
    return rushed / times.total()


def by_label(project: Project, *, for_user: User, figures: VoteFigures | None = None) -> list[LabelStats]:
    """Count items and disputes per label, among items with enough answers."""
    require_label_counts(project, for_user)
    counts = (figures or figures_of(project))["labels"]
    rows = [LabelStats(name, *counts.get(name, (0, 0))) for name in label_names(project)]
    return sorted(rows, key=lambda row: (-row.disputed, -row.items, row.name))


def states_for(project: Project, role: str) -> dict[str, int]:
    """Return the number of items in each state, or for people who may not read outcomes of all.

    Also how many items have enough answers follows from outcomes, where further people are called.
    """
    counts = ItemCount.objects.live(project)
    return counts.by_state() if reads_outcomes(project, role) else {"all": counts.total()}


def overview(project: Project, *, for_user: User, figures: VoteFigures | None = None) -> dict[str, Any]:
    """Count items by state, flags and skips; list idle people."""
    role = require(project, for_user, *MAY_OVERSEE)
    changes = effects.other_policy_changes(project) if reads_label_counts(project, role) else None
    counts = states_for(project, role)
    flagged = votes_here(project).filter(flagged=True).values("item").distinct()
    return {
        "states": {state: n for state, n in counts.items() if n},
        "other_policy_changes": changes,
        "flagged": flagged.count(),
        "reasons": (figures or figures_of(project))["reasons"],
        "idle": [person.name for person in workload.idle_annotators(project, for_user=for_user)],
    }


def changed_by_other_policy(project: Project, *, for_user: User) -> ItemQuerySet:
    """Return items with another outcome under the other policy, in order."""
    require(project, for_user, *MAY_DECIDE)
    require_label_counts(project, for_user)
    return project.items.live().filter(policy_matters=True).order_by("rank", "pk")


def outcomes_by_other_policy(project: Project, items: Sequence[Item]) -> list[PolicyOutcome]:
    """Compute outcomes under the other policy without storing them."""
    rules = Rules(project)
    records = recomputation.load_records([item.pk for item in items])
    outcomes = []
    for item in items:
        k = item_state.answers_needed(item, project)
        answers = item_state.counted_answers(records[item.pk].answers, k=k)
        payloads = [rules.mapping.payload(answer.payload).payload for answer in answers]
        verdict = rules.verdict(payloads, k, rules.other_policy)
        outcomes.append(PolicyOutcome(item, verdict.gold, verdict.state == majority.DISPUTED))
    return outcomes
