"""Answers taken out of the count and put back, one or all of a person's: kept, recorded, decided anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotation.consensus import item_state
from annotation.models import Annotator, Answer, Item, Lease, Oversight, Project, Vote
from annotation.queue import gold_questions
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict

CHUNK = 1_000
ANSWER = Vote.Act.ANSWER


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Whether what a person says anew of an item is set aside, and by which act among all of theirs."""

    aside: bool
    among: int | None = None


COUNTS = Exclusion(aside=False)


def inherited_exclusion(item: Item, annotator: Annotator, standing: Iterable[Answer]) -> Exclusion:
    """As the person's answer here was, so is the next one, also when a skip took it back in between."""
    own = next((answer for answer in standing if answer.annotator_id == annotator.pk), None)
    if own is not None:
        return Exclusion(own.set_aside, own.aside_id)
    acts = Vote.objects.filter(item=item, annotator=annotator)
    if acts.order_by("-number").values_list("aside", flat=True).first():
        return Exclusion(aside=True)
    if annotator.aside_at is None or not acts.filter(act=ANSWER, at__lte=annotator.aside_at).exists():
        return COUNTS
    made = annotator.oversights.filter(act=Oversight.Act.SET_ASIDE).last()
    return Exclusion(aside=True, among=made.pk if made else None)


@transaction.atomic
def exclude_answer(answer: Answer, *, by: User, aside: bool = True) -> Item:
    """A curator takes one answer out of the count, or puts it back; it stays in the log."""
    item = Item.objects.select_for_update(no_key=True).get(pk=answer.item_id)
    require(item.project, by, CURATOR)
    Answer.objects.filter(pk=answer.pk).update(set_aside=aside)
    return item_state.update_state(item)


@transaction.atomic
def exclude_annotator(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """No answer of this person counts from now on; whoever can still answer is paused."""
    require(annotator.project, by, CURATOR)
    mine = Answer.objects.filter(annotator=annotator, set_aside=False)
    items = _locked(mine, Lease.objects.filter(annotator=annotator, ending=""))
    made = _noted(annotator, Oversight.Act.SET_ASIDE, by, reason, n=mine.count())
    mine.update(set_aside=True, aside=made)
    _redone(annotator.project, items)
    # the person's own row comes last, as it does when sentences are handed out
    if not Annotator.objects.filter(pk=annotator.pk, aside_at=None).update(aside_at=Now()):
        raise Conflict("already_aside", f"The answers of {annotator} are set aside already.")
    if annotator.user_id is not None and annotator.paused_at is None:
        gold_questions.pause(annotator, by=by, reason=reason)
    return made


@transaction.atomic
def include_annotator(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """What was set aside counts again; whether the person may go on is another question."""
    require(annotator.project, by, CURATOR)
    mine = Answer.objects.filter(annotator=annotator, aside__isnull=False)
    items = _locked(mine)
    made = _noted(annotator, Oversight.Act.PUT_BACK, by, reason, n=mine.count())
    mine.update(set_aside=False, aside=None)
    _redone(annotator.project, items)
    if not Annotator.objects.filter(pk=annotator.pk, aside_at__isnull=False).update(aside_at=None):
        raise Conflict("not_aside", f"The answers of {annotator} count: none are set aside.")
    return made


def _noted(annotator: Annotator, act: str, by: User, reason: str, *, n: int) -> Oversight:
    return Oversight.objects.create(annotator=annotator, act=act, reason=reason[:200], n=n, by=by)


def _locked(*rows: QuerySet[Any]) -> list[int]:
    """The items of work under these answers and leases, held in one order: what is just coming in is in."""
    items = sorted(
        {item for some in rows for item in some.filter(item__use="").values_list("item", flat=True)}
    )
    for start in range(0, len(items), CHUNK):
        some = Item.objects.filter(pk__in=items[start : start + CHUNK]).order_by("pk")
        list(some.select_for_update(no_key=True).values_list("pk", flat=True))
    return items


def _redone(project: Project, items: list[int]) -> None:
    """Few items are decided anew at once, many by a job."""
    for start in range(0, len(items), CHUNK):
        _recount(items[start : start + CHUNK])
    if len(items) > item_state.RECOMPUTE_AT_ONCE:
        item_state.recompute_after_change(project)
        return
    for start in range(0, len(items), item_state.CHUNK):
        item_state.recompute_items(project, items[start : start + item_state.CHUNK])


def _recount(keys: list[int]) -> None:
    """Where k is what an import brought, it is what still counts of that; a k that was stated stays."""
    brought = Answer.objects.filter(item__in=keys, item__k__isnull=False).active()
    stated = brought.filter(vote__batch__options__has_key="k").values_list("item", flat=True)
    given_here = brought.filter(vote__batch=None).values_list("item", flat=True)
    fixed = {*stated, *given_here}
    left = dict(brought.filter(set_aside=False).order_by().values_list("item").annotate(n=Count("pk")))
    by_count: dict[int, list[int]] = defaultdict(list)
    for item in {*brought.values_list("item", flat=True)} - fixed:
        by_count[max(1, left.get(item, 0))].append(item)
    for n, some in by_count.items():
        Item.objects.filter(pk__in=some).update(k=n)
