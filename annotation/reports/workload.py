"""What is still to do in a project, how fast it goes, what is handed out, and who is idle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.db.models import Count, Exists, Min, OuterRef, Q, Subquery
from django.db.models.functions import Now

from annotation.models import Annotator, Lease, Project, Vote
from annotation.reports import progress
from annotation.reports.display_names import called
from annotation.roles import ANNOTATOR, CURATOR, MAY_OVERSEE, require
from evalsvc.core.accounts.models import User

WEEK = timedelta(days=7)
IDLE_DAYS = 3


@dataclass(frozen=True, slots=True)
class Outlook:
    """Answers still wanted, and those of the last seven days and of the seven before."""

    wanted: int
    week: int
    before: int
    people: int

    @property
    def days_left(self) -> int | None:
        """At the pace of the last seven days; None when nobody worked."""
        return ceil(self.wanted * WEEK.days / self.week) if self.week else None


@dataclass(frozen=True, slots=True)
class HandedOut:
    """Leases that run: to how many people, and when the first one ends."""

    items: int
    people: int
    first_end: datetime | None


@dataclass(frozen=True, slots=True)
class Idle:
    """An annotator who did nothing for days and holds nothing; `since` is None before the first act."""

    name: str
    shown: str
    since: datetime | None


def outlook(project: Project, *, for_user: User) -> Outlook:
    """How much is left, and how much was done lately."""
    require(project, for_user, *MAY_OVERSEE)
    done = Vote.objects.filter(
        item__project=project, batch=None, act=Vote.Act.ANSWER, at__gt=Now() - 2 * WEEK
    )
    late = Q(at__gt=Now() - WEEK)
    told = done.aggregate(
        all=Count("pk"), week=Count("pk", filter=late), people=Count("annotator", filter=late, distinct=True)
    )
    return Outlook(progress.wanted(project), told["week"], told["all"] - told["week"], told["people"])


def handed_out(project: Project, *, for_user: User) -> HandedOut:
    """What people have in hand now."""
    require(project, for_user, *MAY_OVERSEE)
    running = Lease.objects.filter(item__project=project, ending="", expires_at__gt=Now())
    told = running.aggregate(
        items=Count("pk"), people=Count("annotator", distinct=True), first_end=Min("expires_at")
    )
    return HandedOut(**told)


def idle(project: Project, *, for_user: User) -> list[Idle]:
    """Annotators of an open project who are not paused and nevertheless do nothing, longest first."""
    role = require(project, for_user, *MAY_OVERSEE)
    if project.state != Project.State.OPEN:
        return []
    theirs = Annotator.objects.filter(project=project, user=OuterRef("user"))
    acts = Vote.objects.filter(annotator__project=project, annotator__user=OuterRef("user")).order_by("-at")
    holds = Lease.objects.filter(annotator__project=project, annotator__user=OuterRef("user"), ending="")
    members = project.members.filter(role=ANNOTATOR).select_related("user")
    members = members.filter(~Exists(theirs.filter(paused_at__isnull=False)), ~Exists(holds))
    rows = members.annotate(
        last=Subquery(acts.values("at")[:1]), known_as=Subquery(theirs.values("name")[:1])
    ).filter(Q(last=None) | Q(last__lte=Now() - timedelta(days=IDLE_DAYS)))
    if role != CURATOR:
        found = [Idle("an annotator", "an annotator", row.last) for row in rows]
    else:
        words = called(project, *(row.user for row in rows if not row.known_as))
        names = [row.known_as or row.user.username for row in rows]
        found = [Idle(name, words[name], row.last) for name, row in zip(names, rows, strict=True)]
    return sorted(found, key=lambda one: (one.since is not None, one.since, one.shown))
