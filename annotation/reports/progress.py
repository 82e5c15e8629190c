"""How far a person is in a project, and how much is left: one count for every page that says so."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Now, TruncDate

from annotation.adjudication import unanswerable_items
from annotation.models import Annotator, Item, ItemQuerySet, Lease, Project, Vote
from annotation.queue import gold_questions
from annotation.queue.assignment import deferred_items
from annotation.roles import CURATOR, MAY_LABEL, require
from evalsvc.core.accounts.models import User


def progress_of(project: Project, user: User) -> dict[str, Any]:
    """How far this person is; a sentence is answered, skipped or waiting, never two of them."""
    role = require(project, user)
    live = Item.objects.filter(project=project).live()
    annotator = Annotator.objects.filter(project=project, user=user).first()
    own = Vote.objects.filter(annotator=annotator) if annotator else Vote.objects.none()
    latest = own.order_by("-pk").values_list("milliseconds", flat=True)[:20]
    times = sorted(spent for spent in latest if spent is not None)
    return {
        "total": live.count(),
        "open": live.filter(state=Item.State.OPEN).count(),
        "answered": annotator.answers.count() if annotator else 0,
        "skipped": _skipped(project, annotator) if annotator else 0,
        "today": own.filter(at__date=TruncDate(Now())).values("item").distinct().count(),
        "waiting": left_for(project, user, role=role),
        "median_seconds": round(times[len(times) // 2] / 1000, 1) if times else None,
    }


def left_for(project: Project, user: User, *, role: str) -> int:
    """Sentences that this person holds or could still be given, those with a known answer among them.

    What it says never tells a hidden check from the rest: with the check still to come counted in,
    handing one out changes the number as little as handing out any other sentence does.
    """
    annotator = Annotator.objects.filter(project=project, user=user).first()
    paused = annotator is not None and annotator.paused_at is not None
    if role not in MAY_LABEL or project.state != Project.State.OPEN or paused:
        return 0
    held = Lease.objects.filter(annotator=annotator, ending="").count() if annotator else 0
    work = _coming(project, annotator)
    ahead = gold_questions.must_qualify(project, user, role=role)
    in_round = _known(project, annotator, Item.Use.QUALIFY) if ahead else 0
    return held + work + in_round + _checks(project, annotator, work, role=role)


def wanted(project: Project) -> int:
    """Answers that the sentences of a project still want, those being given now among them.

    Of what everybody passed on none is wanted: deciders have the word.
    """
    live = project.items.live().filter(state=Item.State.OPEN).order_by()
    passed = unanswerable_items.unanswerable(project).order_by()
    free, given_up = (items.aggregate(n=Sum("free"))["n"] or 0 for items in (live, passed))
    return int(free - given_up) + Lease.objects.filter(item__in=live, ending="").count()


def _coming(project: Project, annotator: Annotator | None) -> int:
    """Sentences of the work that this person could still be given.

    All with room, less those that the person acted on or holds, and again those put off: each part is as
    long as the person's own work or comes from one index, where looking for each sentence of the project
    whether the person has been there takes a second for every few hundred thousand.
    """
    room = Item.objects.filter(project=project, free__gt=0).live()
    if annotator is None:
        return room.count()
    acted = room.filter(pk__in=Vote.objects.filter(annotator=annotator).values("item")).count()
    return room.count() - acted - _held_at_first(room, annotator) + _put_off(project, annotator)


def _held_at_first(room: ItemQuerySet, annotator: Annotator) -> int:
    """Those of them that the person holds and has not acted on.

    Counted apart: asked for one or the other at once, PostgreSQL would read all acts anew for each sentence.
    """
    acts = Vote.objects.filter(item=OuterRef("item"), annotator=annotator)
    return room.filter(pk__in=_held(annotator).exclude(Exists(acts)).values("item")).count()


def _put_off(project: Project, annotator: Annotator) -> int:
    return deferred_items(project, annotator).order_by().values("pk").count()


def _known(project: Project, annotator: Annotator | None, use: str) -> int:
    """Sentences with a known answer that this person neither acted on nor holds."""
    items = project.items.present().filter(use=use, known__isnull=False)
    if annotator is None:
        return items.count()
    acts = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    held = _held(annotator).filter(item=OuterRef("pk"))
    return items.exclude(Exists(acts)).exclude(Exists(held)).count()


def _checks(project: Project, annotator: Annotator | None, work: int, *, role: str) -> int:
    """Hidden checks that come among so many sentences of the work."""
    if not project.check_every or role == CURATOR:
        return 0
    since = annotator.since_check if annotator else 0
    return min(_known(project, annotator, Item.Use.CHECK), (since + work) // project.check_every)


def _held(annotator: Annotator) -> QuerySet[Lease]:
    return Lease.objects.filter(annotator=annotator, ending="")


def _skipped(project: Project, annotator: Annotator) -> int:
    """Sentences whose last act is a skip and that do not come again."""
    own = Vote.objects.filter(annotator=annotator)
    after = own.filter(item=OuterRef("item"), number__gt=OuterRef("number"))
    last = own.filter(act=Vote.Act.SKIP).exclude(Exists(after))
    gone = last.exclude(item__in=_held(annotator).values("item")).count()
    return gone - _put_off(project, annotator)
