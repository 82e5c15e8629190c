"""Who labels what next: leases to exactly as many annotators as an item still wants."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from functools import cache

from django.db import connection, transaction
from django.db.models import Count, DurationField, Exists, F, OuterRef, Subquery
from django.db.models.functions import Now

from annotation.models import Annotator, Batch, Item, ItemQuerySet, Lease, Project, Suggestion, Vote
from annotation.queue import gold_questions
from annotation.queue.leases import expire_overdue, extend, heartbeat, return_lease
from annotation.queue.participants import Participant, annotator_of, key, participant_of, require_open
from evalsvc.core.accounts.models import User
from evalsvc.core.db.prepared_queries import Given, Prepared, PreparedInsert, PreparedUpdate, columns
from evalsvc.core.errors.exceptions import Conflict

__all__ = ["annotator_of", "expire_overdue", "heartbeat", "lease_next", "lease_several", "return_lease"]
CURRENT = 3
MOST_HELD = 60
TRIES = 5


# ---- what every hand-out reads and writes, composed once ----------------------------------------
_HELD = Prepared(lambda: Lease.objects.filter(annotator=key("annotator"), ending="").order_by("pk"))
_TAKE = PreparedUpdate(lambda: Item.objects.filter(pk=key("item"), free__gt=0), free=F("free") - 1)
_NOTE = PreparedUpdate(
    lambda: Annotator.objects.filter(pk=key("annotator")), **columns(Annotator, "cursor", "since_check")
)
_GRANT = PreparedInsert(
    Lease,
    returning=("granted_at", "expires_at"),
    expires_at=Now() + Given("lasting", DurationField()),
    **columns(Lease, "item_id", "annotator_id", "shown_id", "ending"),
)


@cache
def _ahead(n: int) -> Prepared[Item]:
    """The next n items behind a person's last one; those that others hold just now are passed over."""
    return Prepared(lambda: _held_for_us(_open_to_one().filter(rank__gt=key("cursor")), skip=True)[:n])


@cache
def _anywhere(n: int, *, skip: bool) -> Prepared[Item]:
    return Prepared(lambda: _held_for_us(_open_to_one(), skip=skip)[:n])


def _put_off() -> ItemQuerySet:
    """What a person said "later" to and has not come back to: the first one again when all else is done."""
    return deferred_items(key("project"), key("annotator"))


_LATER = Prepared(lambda: _held_for_us(_put_off(), skip=False)[:1])


def _open_to_one() -> ItemQuerySet:
    return assignable_items(key("project"), key("annotator"))


def _held_for_us(items: ItemQuerySet, *, skip: bool) -> ItemQuerySet:
    can = connection.features.has_select_for_update_skip_locked
    return items.select_for_update(skip_locked=skip, no_key=True) if can else items


def assignable_items(project: Project | Given, annotator: Annotator | Given) -> ItemQuerySet:
    """Items that still want an answer and that this person neither answered, skipped nor holds."""
    return _untouched(_with_room(project), annotator).order_by("rank")


def deferred_items(project: Project | Given, annotator: Annotator | Given) -> ItemQuerySet:
    """Items that still want an answer and to which this person's last word was "later"."""
    own = Vote.objects.filter(annotator=annotator, item=OuterRef("pk")).order_by("-number")
    said = Vote.objects.filter(annotator=annotator, reason="later").order_by()
    items = _with_room(project).filter(pk__in=said.values("item"))
    items = items.annotate(last=Subquery(own.values("reason")[:1]), said_at=Subquery(own.values("pk")[:1]))
    return _not_held(items.filter(last="later").order_by("said_at"), annotator)


def _with_room(project: Project | Given) -> ItemQuerySet:
    batches = Batch.objects.filter(project=project, state=Batch.State.DONE)
    return Item.objects.filter(project=project, free__gt=0, batch__in=batches.values("pk"))


def _untouched(items: ItemQuerySet, annotator: Annotator | Given) -> ItemQuerySet:
    done = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    return _not_held(items.exclude(Exists(done)), annotator)


def _not_held(items: ItemQuerySet, annotator: Annotator | Given) -> ItemQuerySet:
    held = Lease.objects.filter(item=OuterRef("pk"), annotator=annotator, ending="")
    return items.exclude(Exists(held))


# ---- handing out ---------------------------------------------------------------------------------
def lease_next(project: Project, user: User, *, holding: Collection[int] = ()) -> Lease | None:
    """Hand out the next item, or None when nothing waits for this person.

    Leases of theirs that are not among `holding` come first: a page that was closed gets its item back.
    Beyond the oldest three a lease is a reserve, which may go to somebody who has nothing else to do.
    """
    return next(iter(_leases(project, user, holding, n=1)), None)


def lease_several(project: Project, user: User, *, n: int, holding: Collection[int] = ()) -> list[Lease]:
    """Up to n leases at once: what a device keeps for when there is no network."""
    room = min(n, MOST_HELD - len(holding))
    return _leases(project, user, holding, n=room) if room > 0 else []


def _leases(project: Project, user: User, holding: Collection[int], *, n: int) -> list[Lease]:
    for _ in range(TRIES):
        taken, leases = _try(project.pk, user, set(holding), n)
        if taken and (leases or not expire_overdue()):
            return leases
    return []


@transaction.atomic
def _try(project: int, user: User, holding: set[int], n: int) -> tuple[bool, list[Lease]]:
    """One try: False when somebody else was faster on an item found."""
    sat = participant_of(project, user)
    require_open(sat.project)
    gold_questions.require_not_paused(sat)
    held = _HELD.all(annotator=sat.annotator.pk)
    lost = [lease.pk for lease in held if lease.pk not in holding and extend(lease, sat.project)][:n]
    again = list(Lease.objects.select_related("item").filter(pk__in=lost).order_by("pk")) if lost else []
    room = min(n - len(again), MOST_HELD - len(held))
    if room <= 0 and not again:
        raise Conflict(
            "too_many_leases",
            f"You hold {len(held)} sentences already.",
            hint="Answer, skip or return some of them first.",
        )
    fresh = _take(sat, room) if room > 0 else []
    if fresh is None:
        transaction.set_rollback(True)
        return False, []
    if not (again or fresh or held) and (reserve := _from_reserves(sat)):
        fresh = [reserve]
    return True, [*again, *fresh]


def _take(sat: Participant, n: int) -> list[Lease] | None:
    """Up to n leases, known items in their turn; None when somebody else was faster."""
    made: list[Lease] = []
    while len(made) < n:
        due = gold_questions.due_gold_question(sat)
        if due is not None:
            made.append(_granted(sat, due))
            sat.annotator.since_check = 0
            continue
        if gold_questions.is_qualifying(sat):
            break
        items = _candidates(sat, _until_check(sat, n - len(made)), waits=not made)
        if not all(_TAKE(item=item.pk) for item in items):
            return None
        made += [_granted(sat, item) for item in items]
        if not items:
            break
        # the search for the next one starts behind this one
        sat.annotator.cursor = items[-1].rank
        _count(sat, len(items))
    if made:
        _noted(sat)
    return made


def _until_check(sat: Participant, n: int) -> int:
    """How many ordinary items may follow before the next known one is looked for."""
    every = sat.project.check_every
    return max(1, min(n, every - sat.annotator.since_check)) if every else n


def _candidates(sat: Participant, n: int, *, waits: bool) -> list[Item]:
    """The next items behind the person's last one, else the first ones anywhere that they may still do,
    else the one they put off longest ago.

    Who has none in hand yet waits for one that somebody else holds just now rather than hear of nothing.
    """
    who = {"project": sat.project.pk, "annotator": sat.annotator.pk}
    found = _ahead(n).all(**who, cursor=sat.annotator.cursor)
    found = found or _anywhere(1 if waits else n, skip=not waits).all(**who)
    return found or (_LATER.all(**who) if waits else [])


def _count(sat: Participant, n: int) -> None:
    """So many more since the last known item; beyond what makes one due nobody counts."""
    sat.annotator.since_check = min(sat.annotator.since_check + n, sat.project.check_every)


def _noted(sat: Participant) -> None:
    own = sat.annotator
    _NOTE(annotator=own.pk, cursor=own.cursor, since_check=own.since_check)


def _granted(sat: Participant, item: Item) -> Lease:
    suggestion = Suggestion.objects.filter(item=item).first() if sat.project.suggests else None
    lease = _GRANT(
        item_id=item.pk,
        annotator_id=sat.annotator.pk,
        lasting=timedelta(minutes=sat.project.lease_minutes),
        shown_id=suggestion.batch_id if suggestion else None,
        ending="",
    )
    lease.item, lease.annotator = item, sat.annotator
    return lease


def _from_reserves(sat: Participant) -> Lease | None:
    """What somebody holds beyond their three, newest first, for a person who has nothing else to do."""
    running = Lease.objects.filter(item__project=sat.project, item__use="", ending="")
    holders = running.values("annotator").annotate(n=Count("pk")).filter(n__gt=CURRENT).order_by("-n")
    for holder in holders.exclude(annotator=sat.annotator.pk).values_list("annotator", flat=True):
        theirs = running.filter(annotator=holder).order_by("pk")[CURRENT:]
        for lease in reversed(list(theirs)):
            own = _untouched(Item.objects.filter(pk=lease.item_id), sat.annotator)
            item = _held_for_us(own, skip=True).first()
            if item and Lease.objects.filter(pk=lease.pk, ending="").update(ending=Lease.Ending.TAKEN_BACK):
                _count(sat, 1)
                _noted(sat)
                return _granted(sat, item)
    return None
