"""One person's own work in a project: by day, at which pace, and what they said. Nobody else's."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import TruncDate

from annotation.models import Project, Vote
from annotation.reports.project_stats import Day
from annotation.roles import MAY_LABEL, require
from evalsvc.core.accounts.models import User

LATELY = 50


@dataclass(frozen=True, slots=True)
class OwnPace:
    """The middle of the last timed answers, and of those before them."""

    lately: float | None
    before: float | None


def _log(project: Project, user: User) -> QuerySet[Vote]:
    require(project, user, *MAY_LABEL)
    return Vote.objects.filter(annotator__project=project, annotator__user=user, batch=None)


def by_day(project: Project, user: User, *, days: int = 90) -> list[Day]:
    """The last days on which this person did something, oldest first."""
    rows = (
        _log(project, user)
        .annotate(day=TruncDate("at"))
        .values("day")
        .annotate(
            answers=Count("pk", filter=Q(act=Vote.Act.ANSWER)), skips=Count("pk", filter=Q(act=Vote.Act.SKIP))
        )
        .order_by("-day")[:days]
    )
    return [Day(row["day"], row["answers"], row["skips"], 1) for row in reversed(rows)]


def pace(project: Project, user: User) -> OwnPace:
    """Seconds an answer took: lately, and before."""
    timed = _log(project, user).filter(act=Vote.Act.ANSWER, milliseconds__isnull=False).order_by("-pk")
    spent = timed.values_list("milliseconds", flat=True)[: 2 * LATELY]
    times = [each / 1_000 for each in spent if each is not None]
    lately, before = times[:LATELY], times[LATELY:]
    return OwnPace(median(lately) if lately else None, median(before) if before else None)


def history(project: Project, user: User) -> QuerySet[Vote]:
    """The last act on each item, latest first."""
    log = _log(project, user)
    last = log.filter(item=OuterRef("item")).order_by("-number").values("pk")[:1]
    return log.filter(pk=Subquery(last)).select_related("item").order_by("-pk")
