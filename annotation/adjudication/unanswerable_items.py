"""Sentences that nobody could decide: whoever could answer passed them on, so that deciders have the word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery

from annotation.models import Annotator, Item, ItemQuerySet, Member, Project, Vote
from annotation.queue.votes import SKIP_REASONS
from annotation.roles import MAY_LABEL

UNANSWERABLE = "nobody could decide"
FINAL_REASONS = [reason for reason in SKIP_REASONS if reason != "later"]
MOST = 10_000
ANNOTATOR = Member.Role.ANNOTATOR


@dataclass(frozen=True, slots=True)
class SkipNote:
    """Why somebody passed a sentence on, without the person."""

    reason: str
    comment: str = ""

    @property
    def words(self) -> str:
        return SKIP_REASONS[self.reason]


def unanswerable(project: Project, **one: Any) -> ItemQuerySet:
    """Open sentences that somebody passed on for good, and that nobody who works here is still to answer.

    What a person put off they are still to answer. While somebody has yet to begin there are none.
    The search begins with what was skipped, of all items or of one, whatever the size of the project.
    """
    still_here = _still_here(project)
    if still_here is None:
        return Item.objects.none()
    skips = Vote.objects.filter(annotator__project=project, act=Vote.Act.SKIP, reason__in=FINAL_REASONS)
    passes = _last(skips.filter(**one))
    items = Item.objects.filter(project=project, free__gt=0).live()
    items = items.filter(state=Item.State.OPEN, pk__in=passes.values("item"))
    theirs = Vote.objects.filter(item=OuterRef("pk"), annotator__in=still_here).order_by()
    if still_here:
        people = theirs.values("item").annotate(n=Count("annotator", distinct=True)).values("n")
        items = items.annotate(acted=Subquery(people)).filter(acted=len(still_here))
    return items.exclude(Exists(_last(theirs.filter(reason="later"))))


def unanswerable_ids(project: Project) -> list[int]:
    """The first of them in order of work, by their numbers."""
    return list(unanswerable(project).order_by("rank").values_list("pk", flat=True)[:MOST])


def is_unanswerable(item: Item) -> bool:
    """Whether it is one of them."""
    return item.state == Item.State.OPEN and unanswerable(item.project, item=item).exists()


def skip_notes(item: Item) -> list[SkipNote]:
    """Why people passed it on, the reason given most often first."""
    told = _last(item.votes.filter(act=Vote.Act.SKIP, reason__in=FINAL_REASONS))
    found = [SkipNote(*row) for row in told.order_by("pk").values_list("reason", "comment")]
    often = [one.reason for one in found]
    return sorted(
        found, key=lambda one: (-often.count(one.reason), FINAL_REASONS.index(one.reason), one.comment)
    )


def _last(acts: QuerySet[Vote]) -> QuerySet[Vote]:
    """Of these the ones that are the last word of their person on the item."""
    after = Vote.objects.filter(
        item=OuterRef("item"), annotator=OuterRef("annotator"), number__gt=OuterRef("number")
    )
    return acts.exclude(Exists(after))


def _still_here(project: Project) -> list[int] | None:
    """Who could be given a sentence, curators who label too; None when an annotator has yet to begin."""
    if project.state != Project.State.OPEN:
        return []
    roles = dict(project.members.filter(role__in=MAY_LABEL).values_list("user", "role"))
    began = Exists(Vote.objects.filter(annotator=OuterRef("pk")))
    rows = Annotator.objects.filter(project=project, user__in=roles).annotate(began=began)
    here = {row.user_id: row for row in rows}
    to_come = [user for user, role in roles.items() if role == ANNOTATOR and not _began(here.get(user))]
    if to_come:
        return None
    return [row.pk for row in here.values() if row.began and row.paused_at is None]


def _began(row: Annotator | None) -> bool:
    """Whoever is paused is not waited for."""
    return row is not None and (row.paused_at is not None or bool(getattr(row, "began", False)))
