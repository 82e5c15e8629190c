"""How far a person is in a project and how much waits for them, without looking through all of it."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now, TruncDate

from annotation.assignment import put_off
from annotation.models import Annotator, Item, Lease, Project, Vote
from annotation.roles import require
from evalsvc.teams.models import User


def progress_of(project: Project, user: User) -> dict[str, Any]:
    """How far this person is, and whether something waits for them."""
    require(project, user)
    live = Item.objects.filter(project=project).live()
    annotator = Annotator.objects.filter(project=project, user=user).first()
    own = Vote.objects.filter(annotator=annotator) if annotator else Vote.objects.none()
    latest = own.order_by("-pk").values_list("milliseconds", flat=True)[:20]
    times = sorted(spent for spent in latest if spent is not None)
    return {
        "total": live.count(),
        "open": live.filter(state=Item.State.OPEN).count(),
        "answered": annotator.answers.count() if annotator else 0,
        "skipped": _skipped(own),
        "today": own.filter(at__date=TruncDate(Now())).values("item").distinct().count(),
        "waiting": waiting_for(project, annotator),
        "median_seconds": round(times[len(times) // 2] / 1000, 1) if times else None,
    }


def waiting_for(project: Project, annotator: Annotator | None) -> int:
    """Sentences that this person could still be given.

    All with room, less those that the person acted on or holds, and again those put off: each part is as
    long as the person's own work or comes from one index, where looking for each sentence of the project
    whether the person has been there takes a second for every few hundred thousand.
    """
    room = Item.objects.filter(project=project, free__gt=0).live()
    if annotator is None:
        return room.count()
    acted = Vote.objects.filter(annotator=annotator).values("item")
    held = Lease.objects.filter(annotator=annotator, ending="").values("item")
    own = room.filter(Q(pk__in=acted) | Q(pk__in=held)).count()
    return room.count() - own + put_off(project, annotator).order_by().values("pk").count()


def _skipped(own: QuerySet[Vote]) -> int:
    """Items whose last act is a skip."""
    after = own.filter(item=OuterRef("item"), number__gt=OuterRef("number"))
    return own.filter(act=Vote.Act.SKIP).exclude(Exists(after)).count()
