"""Answers needed, recent pace, active leases and idle annotators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.db.models import Count, Exists, Min, OuterRef, Q, Subquery
from django.db.models.functions import Now

from annotation.models import Annotator, Lease, Project, Vote
from annotation.reports.progress import answers_needed
from annotation.roles import ANNOTATOR, CURATOR, MAY_OVERSEE, display_names, require
from evalsvc.core.accounts.models import User

WEEK = timedelta(days=7)
LEAST_FOR_PACE = 20  # answers in a week that tell a pace
IDLE_DAYS = 3


@dataclass(frozen=True, slots=True)
class Workload:
    """Answers needed, and given in the last two weeks, by week."""

    needed: int
    week: int
    week_before: int
    people: int

    @property
    def days_left(self) -> int | None:
        """Days left at the last week's pace; None with too few answers."""
        return ceil(self.needed * WEEK.days / self.week) if self.week >= LEAST_FOR_PACE else None


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


def workload(project: Project, *, for_user: User) -> Workload:
    """Count the answers needed and those given in the last two weeks."""
    require(project, for_user, *MAY_OVERSEE)
    answers = Vote.objects.filter(
        item__project=project, batch=None, act=Vote.Act.ANSWER, at__gt=Now() - 2 * WEEK
    )
    last_week = Q(at__gt=Now() - WEEK)
    counts = answers.aggregate(
        all=Count("pk"),
        week=Count("pk", filter=last_week),
        people=Count("annotator", filter=last_week, distinct=True),
    )
    week = counts["week"]
    return Workload(answers_needed(project), week, counts["all"] - week, counts["people"])


def active_leases(project: Project, *, for_user: User) -> ActiveLeases:
    """Count the items leased now."""
    require(project, for_user, *MAY_OVERSEE)
    active = Lease.objects.filter(item__project=project, ending="", expires_at__gt=Now())
    counts = active.aggregate(
        items=Count("pk"), people=Count("annotator", distinct=True), first_expiry=Min("expires_at")
    )
    return ActiveLeases(**counts)


def idle_annotators(project: Project, *, for_user: User) -> list[IdleAnnotator]:
    """Return idle annotators of an open project, longest first."""
    role = require(project, for_user, *MAY_OVERSEE)
    if project.state != Project.State.OPEN:
        return []
    own = Annotator.objects.filter(project=project, user=OuterRef("user"))
    votes = Vote.objects.filter(annotator__project=project, annotator__user=OuterRef("user")).order_by("-at")
    leases = Lease.objects.filter(annotator__project=project, annotator__user=OuterRef("user"), ending="")
    members = project.members.filter(role=ANNOTATOR).select_related("user")
    members = members.filter(~Exists(own.filter(paused_at__isnull=False)), ~Exists(leases))
    rows = members.annotate(
        last=Subquery(votes.values("at")[:1]), annotator_name=Subquery(own.values("name")[:1])
    ).filter(Q(last=None) | Q(last__lte=Now() - timedelta(days=IDLE_DAYS)))
    if role != CURATOR:
        idle = [IdleAnnotator("an annotator", "an annotator", row.last) for row in rows]
    else:
        by_name = display_names(project, *(row.user for row in rows if not row.annotator_name))
        names = [row.annotator_name or row.user.username for row in rows]
        idle = [IdleAnnotator(name, by_name[name], row.last) for name, row in zip(names, rows, strict=True)]
    return sorted(idle, key=lambda person: (person.since is not None, person.since, person.display_name))
