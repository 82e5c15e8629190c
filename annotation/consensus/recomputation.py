"""Recomputation of the states of many items, within a request or by a job."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import transaction
from django.db.models import Sum, TextField
from django.db.models.functions import Cast, Length

from annotation.consensus.applied_decisions import DecisionChanges
from annotation.consensus.item_state import (
    FIELDS,
    ItemRecords,
    derive_state,
    is_asked_again,
    save_states,
)
from annotation.consensus.known_answers import store_digests
from annotation.consensus.pending_recomputation import is_recomputing
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Answer, Item, ItemCount, KnownAnswer, Lease, Project
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

RECOMPUTE_AT_ONCE = 1_000
MOST_IN_REQUEST = 1_500_000  # characters of answers, about 40 texts of 2 × 1,000 spans or 9,000 sentences
CHUNK = 500
_left_out = ContextVar("recomputation is left out", default=False)


@contextmanager
def left_out() -> Iterator[None]:
    """Let changes leave the items as they are: a preview decides copies of them, after its transaction."""
    token = _left_out.set(True)
    try:
        yield
    finally:
        _left_out.reset(token)


def recompute_after_change(project: Project) -> None:
    """Recompute the items at once, or in large projects by a job."""
    if _left_out.get():
        return
    if is_recomputed_at_once(project) and not is_recomputing(project):
        recompute_items(project, [*project.items.order_by().values_list("pk", flat=True)])
        return
    # else the replies on hidden checks would, and take longer, until the job has run
    store_digests(KnownAnswer.objects.filter(item__project=project), Rules(project.pk).mapping)
    if not is_recompute_queued(project):
        enqueue("recompute", project.pk, lane=f"project {project.pk}")


def is_recomputed_at_once(project: Project) -> bool:
    """True if the project is small enough to recompute within a request."""
    if ItemCount.objects.filter(batch__project=project).total() > RECOMPUTE_AT_ONCE:
        return False
    return fits_in_request([*project.items.order_by().values_list("pk", flat=True)])


def is_recompute_queued(project: Project) -> bool:
    """Lock a queued recomputation for this transaction; True if there is one."""
    waiting = Job.objects.filter(kind="recompute", subject=project.pk, state=Job.State.QUEUED)
    return bool(waiting.select_for_update(no_key=True))


def recompute(project: Project, progress: Progress | None = None) -> None:
    """Recompute every item, in short transactions."""
    keys, done = _in_order(project), 0
    while done < len(keys):
        chunk = for_one_request(keys[done : done + CHUNK])
        recompute_items(project, chunk)
        done += len(chunk)
        if progress:
            progress(done, len(keys), "recomputing items")


def _in_order(project: Project) -> list[int]:
    """Return the items by rank; in projects with hidden checks in any order.

    Each chunk asks for its answers again, or is locked for a moment: neighbours would be known from checks.
    """
    rows = list(project.items.order_by("rank", "pk").values_list("pk", "use"))
    keys = [key for key, _ in rows]
    if any(use == Item.Use.CHECK for _, use in rows):
        secrets.SystemRandom().shuffle(keys)
    return keys


def recompute_part(project: Project, keys: Sequence[int]) -> None:
    """Recompute these items, some at a time."""
    for start in range(0, len(keys), CHUNK):
        recompute_items(project, keys[start : start + CHUNK])


@transaction.atomic
def recompute_items(project: Project, keys: Sequence[int]) -> list[Item]:
    """Lock these items in order of their keys, and recompute them."""
    if _left_out.get():
        return []
    items = list(Item.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk"))
    rules = Rules(project.pk)
    store_digests(KnownAnswer.objects.filter(pk__in=keys), rules.mapping)
    records = load_records(keys)
    _mark_asked_again(items, records, rules)
    before = [_values(item) for item in items]
    changes = DecisionChanges()
    for item in items:
        derive_state(item, records[item.pk], rules, changes)
    save_states([item for item, old in zip(items, before, strict=True) if _values(item) != old])
    changes.save()
    return items


def _mark_asked_again(items: Sequence[Item], records: Mapping[int, ItemRecords], rules: Rules) -> None:
    """Store which answers are asked again; votes store it of their own answer alone.

    Else a vote would tell by its statements what others have answered, while a recomputation waits.
    """
    changed: dict[bool, list[int]] = {True: [], False: []}
    for item in items:
        for answer in records[item.pk].answers:
            again = is_asked_again(item, answer.payload, answer.guideline, rules)
            if again != answer.again:
                changed[again].append(answer.pk)
    for again, keys in changed.items():
        if keys:
            Answer.objects.filter(pk__in=keys).update(again=again)


def _values(item: Item) -> list[Any]:
    return [getattr(item, name) for name in FIELDS]


def load_records(keys: Sequence[int]) -> dict[int, ItemRecords]:
    """Load the records of many items in three queries."""
    records: dict[int, ItemRecords] = defaultdict(ItemRecords)
    for answer in Answer.objects.filter(item__in=keys).active():
        records[answer.item_id].answers.append(answer)
    for lease in Lease.objects.keeping().filter(item__in=keys):
        records[lease.item_id].leases.append(lease)
    for decision in Adjudication.objects.filter(item__in=keys).applicable():
        records[decision.item_id].decisions.append(decision)
    return records


def for_one_request(keys: Sequence[int]) -> list[int]:
    """Return the first items whose answers a request can decide; one at least."""
    return fitting(keys, MOST_IN_REQUEST)[0]


def fitting(keys: Sequence[int], most: int) -> tuple[list[int], int]:
    """Return the first items whose answers have so many characters, one at least; and how many they have."""
    rows = Answer.objects.filter(item__in=keys).order_by().values_list("item")
    sizes = dict(rows.annotate(size=Sum(Length(Cast("payload", TextField())))))
    found, size = list[int](), 0
    for key in keys:
        if found and size + sizes.get(key, 0) > most:
            break
        size += sizes.get(key, 0)
        found.append(key)
    return found, size


def fits_in_request(keys: Sequence[int]) -> bool:
    """True if a request can decide the answers of all these items."""
    return len(for_one_request(keys)) == len(keys)
