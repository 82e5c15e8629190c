"""Exclusion of answers from the count, and their inclusion again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.models import Annotator, Answer, Item, Lease, Oversight, Project, Vote
from annotation.queue import pauses
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The exclusion of one answer, alone or with its whole annotator."""

    excluded: bool
    oversight: int | None = None


NOT_EXCLUDED = Exclusion(excluded=False)


def inherited_exclusion(item: Item, annotator: Annotator, answers: Iterable[Answer]) -> Exclusion:
    """Return the exclusion of the person's former answer, even a withdrawn one."""
    own = next((answer for answer in answers if answer.annotator_id == annotator.pk), None)
    if own is not None:
        return Exclusion(own.set_aside, own.aside_id)
    votes = Vote.objects.filter(item=item, annotator=annotator)
    if votes.order_by("-number").values_list("aside", flat=True).first():
        return Exclusion(excluded=True)
    if annotator.aside_at is None:
        return NOT_EXCLUDED
    if not votes.filter(act=Vote.Act.ANSWER, at__lte=annotator.aside_at).exists():
        return NOT_EXCLUDED
    oversight = annotator.oversights.filter(act=Oversight.Act.SET_ASIDE).last()
    return Exclusion(excluded=True, oversight=oversight.pk if oversight else None)


@transaction.atomic
def exclude_answer(answer: Answer, *, by: User, excluded: bool = True) -> Item:
    """Exclude one answer, or include it again."""
    item = Item.objects.select_for_update(no_key=True).get(pk=answer.item_id)
    require_to_change(item.project, by, CURATOR)
    about, words = f"{answer.annotator} on {item.external_id}", {True: "excluded", False: "counted"}
    before, after = words[answer.set_aside], words[excluded]
    record(item.project, "answer", by=by, about=about, before=before, after=after)
    Answer.objects.filter(pk=answer.pk).update(set_aside=excluded)
    recomputation.recompute_part(item.project, [] if item.use else [item.pk])
    item.refresh_from_db()
    return item


@atomic_again
def exclude_annotator(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """Exclude all answers of a person; pause a person with an account."""
    require_to_change(annotator.project, by, CURATOR)
    answers = Answer.objects.filter(annotator=annotator, set_aside=False)
    leases = Lease.objects.filter(annotator=annotator)
    items = _lock_work(annotator, answers, leases.keeping())
    oversight = _record(annotator, Oversight.Act.SET_ASIDE, by, reason, n=answers.count())
    answers.update(set_aside=True, aside=oversight)
    leases.filter(ending=Lease.Ending.WITHDRAWN).update(ending=Lease.Ending.RETURNED)
    _recompute(annotator.project, items)
    if not Annotator.objects.filter(pk=annotator.pk, aside_at=None).update(aside_at=Now()):
        raise Conflict("already_aside", f"The answers of {annotator} are already excluded.")
    if annotator.user_id is not None and annotator.paused_at is None:
        pauses.pause(annotator, by=by, reason=reason)
    return oversight


@atomic_again
def include_annotator(annotator: Annotator, *, by: User, reason: str = "") -> Oversight:
    """Include a person's answers again; a pause remains."""
    require_to_change(annotator.project, by, CURATOR)
    answers = Answer.objects.filter(annotator=annotator, aside__isnull=False)
    items = _lock_work(annotator, answers)
    oversight = _record(annotator, Oversight.Act.PUT_BACK, by, reason, n=answers.count())
    answers.update(set_aside=False, aside=None)
    _recompute(annotator.project, items)
    if not Annotator.objects.filter(pk=annotator.pk, aside_at__isnull=False).update(aside_at=None):
        raise Conflict("not_aside", f"The answers of {annotator} are not excluded.")
    return oversight


def _record(annotator: Annotator, act: str, by: User, reason: str, *, n: int) -> Oversight:
    excluded = act == Oversight.Act.SET_ASIDE
    before, after = ("counted", "excluded") if excluded else ("excluded", "counted")
    values = {"before": {"answers": before}, "after": {"answers": after, "n": n, "reason": reason[:200]}}
    record(annotator.project, "answers of a person", by=by, about=annotator.name, **values)
    return Oversight.objects.create(annotator=annotator, act=act, reason=reason[:200], n=n, by=by)


def _lock_work(annotator: Annotator, *rows: QuerySet[Any]) -> list[int]:
    """Lock the items of these answers and leases, then the annotator.

    A vote locks its item and then shares the annotator's row, so the lock of that row waits for the person's
    votes, also for those without a lease. Their items are locked in another try: the order stays the same.
    """
    while True:
        with transaction.atomic():
            items = _items_of(rows)
            for start in range(0, len(items), CHUNK):
                chunk = Item.objects.filter(pk__in=items[start : start + CHUNK]).order_by("pk")
                list(chunk.select_for_update(no_key=True).values_list("pk", flat=True))
            Annotator.objects.select_for_update().get(pk=annotator.pk)
            if set(_items_of(rows)) <= set(items):
                return items
            transaction.set_rollback(True)


def _items_of(rows: Iterable[QuerySet[Any]]) -> list[int]:
    """Return the ordinary items of these answers and leases, in order."""
    return sorted(
        {item for queryset in rows for item in queryset.filter(item__use="").values_list("item", flat=True)}
    )


def _recompute(project: Project, items: list[int]) -> None:
    """Recompute few items at once, many by a job."""
    for start in range(0, len(items), CHUNK):
        _update_imported_k(items[start : start + CHUNK])
    if len(items) > recomputation.RECOMPUTE_AT_ONCE or not recomputation.fits_in_request(items):
        recomputation.recompute_after_change(project)
        return
    recomputation.recompute_part(project, items)


def _update_imported_k(items: list[int]) -> None:
    """Lower k to the included answers where an import set it."""
    answers = Answer.objects.filter(item__in=items, item__k__isnull=False).active()
    stated = answers.filter(vote__batch__options__has_key="k").values_list("item", flat=True)
    answered_here = answers.filter(vote__batch=None).values_list("item", flat=True)
    counts = dict(answers.filter(set_aside=False).order_by().values_list("item").annotate(n=Count("pk")))
    by_count: dict[int, list[int]] = defaultdict(list)
    for item in {*answers.values_list("item", flat=True)} - {*stated, *answered_here}:
        by_count[max(1, counts.get(item, 0))].append(item)
    for n, item_keys in by_count.items():
        Item.objects.filter(pk__in=item_keys).update(k=n)
