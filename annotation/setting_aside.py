"""All answers of one annotator taken out of the count, and put back: kept, recorded, decided anew."""

from __future__ import annotations

from collections import defaultdict

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotation import known, outcomes
from annotation.models import Annotator, Answer, Item, Oversight, Project
from annotation.roles import CURATOR, require
from evalsvc.refusals import Conflict
from evalsvc.teams.models import User

CHUNK = 1_000


@transaction.atomic
def set_aside(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """No answer of this person counts from now on; whoever can still answer is paused."""
    held = _held(annotator, by)
    if held.aside_at is not None:
        raise Conflict("already_aside", f"The answers of {held} are set aside already.")
    made = Oversight.objects.create(annotator=held, act=Oversight.Act.SET_ASIDE, reason=reason[:200], by=by)
    mine = Answer.objects.filter(annotator=held, set_aside=False)
    items = _of_work(mine)
    made.n = mine.update(set_aside=True, aside=made)
    made.save(update_fields=["n"])
    Annotator.objects.filter(pk=held.pk).update(aside_at=Now())
    if held.user_id is not None and held.paused_at is None:
        known.pause(held, by=by, reason=reason)
    _redone(held.project, items)
    return made


@transaction.atomic
def put_back(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """What was set aside counts again; whether the person may go on is another question."""
    held = _held(annotator, by)
    if held.aside_at is None:
        raise Conflict("not_aside", f"The answers of {held} count: none are set aside.")
    made = Oversight.objects.create(annotator=held, act=Oversight.Act.PUT_BACK, reason=reason[:200], by=by)
    mine = Answer.objects.filter(annotator=held, aside__isnull=False)
    items = _of_work(mine)
    made.n = mine.update(set_aside=False, aside=None)
    made.save(update_fields=["n"])
    Annotator.objects.filter(pk=held.pk).update(aside_at=None)
    _redone(held.project, items)
    return made


def _held(annotator: Annotator, by: User) -> Annotator:
    """The row as it is now, and nobody else's to change meanwhile."""
    require(annotator.project, by, CURATOR)
    rows = Annotator.objects.select_related("project").select_for_update(of=("self",), no_key=True)
    return rows.get(pk=annotator.pk)


def _of_work(answers: QuerySet[Answer]) -> list[int]:
    return sorted(answers.filter(item__use="").values_list("item", flat=True))


def _redone(project: Project, items: list[int]) -> None:
    """Few items are decided anew at once, many by a job."""
    for start in range(0, len(items), CHUNK):
        some = items[start : start + CHUNK]
        list(Item.objects.select_for_update(no_key=True).filter(pk__in=some).order_by("pk"))
        _recount(some)
    if len(items) > outcomes.AT_ONCE:
        outcomes.changed(project)
        return
    for start in range(0, len(items), outcomes.CHUNK):
        outcomes.redo_items(project, items[start : start + outcomes.CHUNK])


def _recount(keys: list[int]) -> None:
    """Where k is what an import brought, it is what still counts of that; a k that was stated stays."""
    brought = Answer.objects.filter(item__in=keys, item__k__isnull=False).standing()
    stated = brought.filter(vote__batch__options__has_key="k").values_list("item", flat=True)
    given_here = brought.filter(vote__batch=None).values_list("item", flat=True)
    fixed = {*stated, *given_here}
    left = dict(brought.filter(set_aside=False).order_by().values_list("item").annotate(n=Count("pk")))
    by_count: dict[int, list[int]] = defaultdict(list)
    for item in {*brought.values_list("item", flat=True)} - fixed:
        by_count[max(1, left.get(item, 0))].append(item)
    for n, some in by_count.items():
        Item.objects.filter(pk__in=some).update(k=n)
