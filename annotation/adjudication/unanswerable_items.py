"""Unanswerable items: skipped or short of a further answer, with nobody left to give one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from annotation.consensus.pending_recomputation import is_recomputing
from annotation.models import Annotator, Answer, Item, ItemCount, ItemQuerySet, Member, Project, Vote
from annotation.queue.votes import SKIP_REASONS
from annotation.roles import MAY_LABEL

UNANSWERABLE = "nobody could decide"
FINAL_REASONS = [reason for reason in SKIP_REASONS if reason != "later"]
MOST = 10_000
ANNOTATOR = Member.Role.ANNOTATOR


@dataclass(frozen=True, slots=True)
class SkipNote:
    """The reason of a skip, without the person."""

    reason: str
    comment: str = ""

    @property
    def words(self) -> str:
        return SKIP_REASONS[self.reason]


def unanswerable(project: Project, item: Item | None = None) -> ItemQuerySet:
    """Return items skipped, or short of an answer beyond k, that nobody is left to answer.

    Items deferred or asked again may still be answered. There are none while an annotator has yet to begin,
    or while the project is recomputed, which stores what is asked again.
    The query starts from skips and calls, of all items or of one, whatever the size of the project.
    """
    working = None if is_recomputing(project) else _working_annotators(project)
    if working is None:
        return Item.objects.none()
    of_item = {"item": item} if item else {}
    needed = _least_skips(project, len(working))
    skips = Vote.objects.filter(annotator__project=project, act=Vote.Act.SKIP, reason__in=FINAL_REASONS)
    skips = skips.filter(**of_item)
    if needed > 1:
        skips = skips.filter(item__in=_often_skipped(working, needed, **of_item))
    items = Item.objects.filter(project=project, free__gt=0).live().filter(state=Item.State.OPEN)
    candidates = _last(skips).order_by().values("item")
    if needed < 1:  # else somebody skipped each of them
        waiting = Item.objects.filter(project=project, free__gt=0, extra__gt=0, free__lte=F("extra"))
        waiting = waiting.filter(pk=item.pk) if item else waiting
        candidates = candidates.union(waiting.order_by().values("pk"))
    items = items.filter(pk__in=candidates)
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator__in=working).order_by()
    if working:
        people = votes.values("item").annotate(n=Count("annotator", distinct=True)).values("n")
        items = items.annotate(n_people=Subquery(people)).filter(n_people=len(working))
    again = Answer.objects.filter(item=OuterRef("pk"), annotator__in=working, again=True, set_aside=False)
    return items.exclude(Exists(_last(votes.filter(reason="later")))).exclude(Exists(again))


def unanswerable_ids(project: Project) -> list[int]:
    """Return the ids of the first unanswerable items, in order of work."""
    return list(unanswerable(project).order_by("rank").values_list("pk", flat=True)[:MOST])


def is_unanswerable(item: Item) -> bool:
    """True if the item is unanswerable."""
    return item.state == Item.State.OPEN and unanswerable(item.project, item).exists()


def may_be_answered(item: Item) -> bool:
    """True if somebody is left who could answer the item."""
    return item.pk in answerable(item.project, [item.pk])


def answerable(project: Project, pks: Collection[int]) -> set[int]:
    """Return the items that somebody who labels has neither answered nor skipped for good.

    Annotators who have yet to begin count; curators only once they label.
    """
    if project.state != Project.State.OPEN or not pks:
        return set()
    members = project.members.filter(user__is_active=True)
    annotators = members.filter(role=ANNOTATOR).values("user")
    people = Annotator.objects.filter(project=project)
    if annotators.exclude(user__in=people.exclude(user=None).values("user")).exists():
        return set(pks)
    labelling = people.filter(user__in=members.filter(role__in=MAY_LABEL).values("user"), paused_at=None)
    begun = Exists(Vote.objects.filter(annotator=OuterRef("pk")))
    working = list(labelling.filter(Q(begun) | Q(user__in=annotators)).values_list("pk", flat=True))
    done = Vote.objects.filter(Q(act=Vote.Act.ANSWER) | Q(reason__in=FINAL_REASONS), item__in=pks)
    rows = done.filter(annotator__in=working).order_by().values_list("item")
    numbers = dict(rows.annotate(n=Count("annotator", distinct=True)))
    return {pk for pk in pks if numbers.get(pk, 0) < len(working)}


def skip_notes(item: Item) -> list[SkipNote]:
    """Return the skips of an item, the most frequent reason first."""
    skips = _last(item.votes.filter(act=Vote.Act.SKIP, reason__in=FINAL_REASONS))
    notes = [SkipNote(*row) for row in skips.order_by("pk").values_list("reason", "comment")]
    reasons = [note.reason for note in notes]
    return sorted(
        notes, key=lambda note: (-reasons.count(note.reason), FINAL_REASONS.index(note.reason), note.comment)
    )


def _least_skips(project: Project, people: int) -> int:
    """Return how many skips an item has at least once nobody is left to answer it.

    Items with few skips need not be examined. The others voted: their answers count, at most one fewer than
    the item needs, or are excluded.
    """
    rows = ItemCount.objects.live(project).filter(state=Item.State.OPEN, free__gt=0).values_list("k", "extra")
    most = max(((k or project.k) + extra for k, extra in rows.distinct()), default=0)
    excluded = Answer.objects.filter(annotator__project=project, set_aside=True)
    return people - most + 1 - excluded.order_by().values("annotator").distinct().count()


def _often_skipped(working: list[int], needed: int, **of_item: Any) -> list[int]:
    """Return the items that so many of these people skipped.

    Of any people but `needed` - 1, one skipped each of these items: only the skips of these few are read.
    """
    own_skips = Vote.objects.filter(act=Vote.Act.SKIP, **of_item).order_by()
    few = own_skips.filter(annotator__in=working[: len(working) - needed + 1])
    rows = own_skips.filter(item__in=few.values("item"), annotator__in=working).values("item")
    people = rows.annotate(n=Count("annotator", distinct=True)).filter(n__gte=needed)
    return list(people.values_list("item", flat=True))


def _last(votes: QuerySet[Vote]) -> QuerySet[Vote]:
    """Keep votes that are their person's last on the item."""
    after = Vote.objects.filter(
        item=OuterRef("item"), annotator=OuterRef("annotator"), number__gt=OuterRef("number")
    )
    return votes.exclude(Exists(after))


def _working_annotators(project: Project) -> list[int] | None:
    """Return the people who label; None before every annotator has begun."""
    if project.state != Project.State.OPEN:
        return []
    roles = dict(project.members.filter(role__in=MAY_LABEL, user__is_active=True).values_list("user", "role"))
    voted = Exists(Vote.objects.filter(annotator=OuterRef("pk")))
    annotators = Annotator.objects.filter(project=project, user__in=roles).annotate(voted=voted)
    rows = list(annotators.values_list("pk", "user", "voted", "paused_at"))
    begun = {user for _, user, voted, paused in rows if voted or paused}  # nobody waits for paused people
    if any(role == ANNOTATOR and user not in begun for user, role in roles.items()):
        return None
    return [pk for pk, _, voted, paused in rows if voted and not paused]
