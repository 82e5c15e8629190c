"""Answers needed, recent pace, active leases and idle annotators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil

from django.db.models import Count, Exists, Min, OuterRef, Subquery
from django.db.models.functions import Now
from django.utils import timezone

from annotation.models import Annotator, Lease, Project, Vote
from annotation.reports.progress import answers_needed
from annotation.reports.vote_figures import WEEK, VoteFigures, figures_of
from annotation.roles import (
    ANNOTATOR,
    CURATOR,
    MAY_OVERSEE,
    NAME_FIELDS,
    display_names,
    reads_outcomes,
    require,
)
from evalsvc.core.accounts.models import User

LEAST_FOR_PACE = 20  # answers in a week that tell a pace
IDLE_DAYS = 3


@dataclass(frozen=True, slots=True)
class Workload:
    """Answers needed, none for people who may not read outcomes, and given in the last two weeks, by week.

    The pace is that of the days (UTC) that have ended, at most the last seven since work began.
    """

    needed: int | None
    week: int
    week_before: int
    people: int
    days: int
    in_days: int

    @property
    def days_left(self) -> int | None:
        """Days left at the pace of whole days; None with too few answers."""
        if self.needed is None or self.in_days < LEAST_FOR_PACE:
            return None
        return ceil(self.needed * self.days / self.in_days)


@dataclass(frozen=True, slots=True)
class ActiveLeases:
    """Items leased now, to how many people, and the earliest expiry."""

    items: int
    people: int
    first_expiry: datetime | None


@dataclass(frozen=True, slots=True)
class IdleAnnotator:
    """Annotator without recent votes; `since` is None before the first."""

    name: str
    display_name: str
    since: datetime | None


def workload(project: Project, *, for_user: User, figures: VoteFigures | None = None) -> Workload:
    """Count the answers needed and those given in the last two weeks."""
    role = require(project, for_user, *MAY_OVERSEE)
    figures = figures or figures_of(project)
    both, week, people = figures["weeks"]
    answers = {date.fromisoformat(day): n for day, n, *_ in figures["days"]}
    today = timezone.now().date()
    begun = max(min(answers, default=today), today - WEEK)
    in_days = sum(n for day, n in answers.items() if begun <= day < today)
    days = max((today - begun).days, 0)
    needed = answers_needed(project) if reads_outcomes(project, role) else None
    return Workload(needed, week, both - week, people, days, in_days)


def active_leases(project: Project, *, for_user: User) -> ActiveLeases:
    """Count the items leased now."""
    require(project, for_user, *MAY_OVERSEE)
    active = Lease.objects.filter(annotator__project=project, ending="", expires_at__gt=Now())
    counts = active.aggregate(
        items=Count("pk"), people=Count("annotator", distinct=True), first_expiry=Min("expires_at")
    )
    return ActiveLeases(**counts)


def idle_annotators(project: Project, *, for_user: User) -> list[IdleAnnotator]:
    """Return idle annotators of an open project, longest first."""
    role = require(project, for_user, *MAY_OVERSEE)
    if project.state != Project.State.OPEN:
        return []
    newest = Vote.objects.filter(annotator=OuterRef("pk")).order_by("-at").values("at")[:1]
    leases = Lease.objects.filter(annotator=OuterRef("pk"), ending="")
    annotators = Annotator.objects.filter(project=project, user__isnull=False)
    annotators = annotators.only("user", "name", "paused_at")
    begun = {
        row.user_id: row for row in annotators.annotate(last=Subquery(newest), is_leasing=Exists(leases))
    }
    recent = timezone.now() - timedelta(days=IDLE_DAYS)
    people: list[tuple[User, str, datetime | None]] = []
    members = project.members.filter(role=ANNOTATOR).select_related("user")
    for member in members.only("project", *(f"user__{field}" for field in NAME_FIELDS)):
        row = begun.get(member.user_id)
        if row is None:
            people.append((member.user, "", None))
        elif not (row.paused_at or row.is_leasing) and (row.last is None or row.last <= recent):
            people.append((member.user, row.name, row.last))
    if role != CURATOR:
        idle = [IdleAnnotator("an annotator", "an annotator", since) for *_, since in people]
    else:
        by_name = display_names(project, *(user for user, name, _ in people if not name))
        names = [(name or user.username, since) for user, name, since in people]
        idle = [IdleAnnotator(name, by_name[name], since) for name, since in names]
    return sorted(idle, key=lambda person: (person.since is not None, person.since, person.display_name))
