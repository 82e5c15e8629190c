"""Leases: each item goes to as many annotators as it needs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, NoReturn

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, Subquery
from django.utils import timezone

from annotation.models import Annotator, Answer, Batch, Item, ItemQuerySet, Lease, Project, Vote
from annotation.queue import gold_questions, pauses, shown_predictions, sql
from annotation.queue.lease_endings import expire_overdue, extend
from annotation.queue.participants import Participant, participant_of, require_open
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict

NOT_RESERVE = 3  # the oldest leases of a person; later ones may go to others
MAX_LEASES = 60
TRIES = 50
SEARCHES_HOLD = timedelta(hours=6)  # then all items are searched again
SLICE = 10_000  # items searched by one request, about 50 ms; the next request goes on
LAST_RANK = 2**31 - 1
CHOOSING_WAIT = 3  # seconds until a person whose project changes its candidates asks again


class StillSearching(Exception):
    """No item found in this slice; the same request again, after `wait` seconds, searches the next."""

    def __init__(self, wait: int = 0) -> None:
        super().__init__()
        self.wait = wait


class _Locked(Exception):
    """The item to lease is locked by another transaction."""

    def __init__(self, item: Item) -> None:
        self.item = item.pk


# ---- items to assign ------------------------------------------------------------------------------
# With hidden checks, on or off, a sentence that was once leased stays with its person until they answer it or
# skip it for good, whatever others do: it is not taken back, and once deferred or given back it comes again
# at the end. Otherwise the sentences that nobody else can fill would be the checks.
def assignable_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items that need answers and are new to this annotator."""
    items = _untouched(_imported(project).filter(free__gt=0), annotator).order_by("rank")
    if not gold_questions.keeps_leases(project):
        return items
    return items.exclude(Exists(Lease.objects.filter(item=OuterRef("pk"), annotator=annotator)))


def deferred_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks that this annotator deferred, the longest deferred first."""
    votes = Vote.objects.filter(annotator=annotator, item=OuterRef("pk")).order_by("-number")
    deferred = Vote.objects.filter(annotator=annotator, reason="later").order_by()
    kept = gold_questions.keeps_leases(project)
    wanted = Q(use__in=(Item.Use.WORK, Item.Use.CHECK)) if kept else Q(free__gt=0)
    items = (
        _imported(project)
        .filter(wanted, pk__in=deferred.values("item"))
        .annotate(
            last_reason=Subquery(votes.values("reason")[:1]), last_vote=Subquery(votes.values("pk")[:1])
        )
    )
    return _not_leased(items.filter(last_reason="later").order_by("last_vote"), annotator)


def returned_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks this annotator returned, the longest ago first.

    Without hidden checks returned items are assignable again.
    """
    leases = Lease.objects.filter(annotator=annotator).exclude(ending="")
    last = leases.filter(item=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    uses = (Item.Use.WORK, Item.Use.CHECK) if gold_questions.keeps_leases(project) else ()
    returned = _imported(project).filter(use__in=uses, pk__in=leases.values("item"))
    return _untouched(returned, annotator).order_by(Subquery(last))


def asked_again(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks whose answer by this annotator no longer counts, in the order of the answers.

    In projects with hidden checks, on or off, sentences that others have filled are among them like checks.
    """
    own = Answer.objects.filter(annotator=annotator, again=True)
    uses = Q(use__in=(Item.Use.WORK, Item.Use.CHECK))
    wanted = uses if gold_questions.has_checks(project) else Q(free__gt=0)
    items = _imported(project).filter(wanted, pk__in=own.values("item"))
    answered = own.filter(item=OuterRef("pk")).values("vote")[:1]
    return _not_leased(items, annotator).order_by(Subquery(answered))


def _imported(project: Project) -> ItemQuerySet:
    """Return items of finished imports without their outcomes, which take time to read; checks have none.

    A join would lock the row of the import, too.
    """
    batches = Batch.objects.filter(project=project, state=Batch.State.DONE)
    return Item.objects.filter(project=project, batch__in=batches.values("pk")).defer("gold")


def _untouched(items: ItemQuerySet, annotator: Annotator) -> ItemQuerySet:
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    return _not_leased(items.exclude(Exists(votes)), annotator)


def _not_leased(items: ItemQuerySet, annotator: Annotator) -> ItemQuerySet:
    leases = Lease.objects.filter(item=OuterRef("pk"), annotator=annotator, ending="")
    return items.exclude(Exists(leases))


# ---- locks ----------------------------------------------------------------------------------------
# Votes, imports and exclusions lock items and then annotators, a lease its annotator and then an item. So
# leasing waits for no item while it holds a row: it ends, waits for the item alone, and begins anew.
def _lock_unless_locked(items: ItemQuerySet) -> Item | None:
    if connection.features.has_select_for_update_skip_locked:
        items = items.select_for_update(skip_locked=True, no_key=True)
    return items.first()


def _wait_for(item: int) -> None:
    with transaction.atomic():
        Item.objects.select_for_update(no_key=True).filter(pk=item).values_list("pk").first()


# ---- leasing --------------------------------------------------------------------------------------
def lease_next(project: Project, user: User, *, current_leases: Collection[int] = ()) -> Lease | None:
    """Lease the next item; None if this person has none left. Raises StillSearching.

    The person's active leases that `current_leases` lacks come first: a closed page gets its item back.
    Beyond the oldest three a lease is a reserve, which may go to somebody without other work.
    """
    return next(iter(_lease(project, user, current_leases, n=1)), None)


def lease_several(
    project: Project, user: User, *, n: int, current_leases: Collection[int] = ()
) -> list[Lease]:
    """Lease up to n items at once, as an offline reserve. Raises StillSearching."""
    n = min(n, MAX_LEASES - len(current_leases))
    return _lease(project, user, current_leases, n=n) if n > 0 else []


def _lease(project: Project, user: User, current_leases: Collection[int], *, n: int) -> list[Lease]:
    for _ in range(TRIES):
        try:
            leases = _try_to_lease(project.pk, user, set(current_leases), n)
        except _Locked as locked:
            _wait_for(locked.item)
            continue
        if isinstance(leases, StillSearching):
            raise leases
        if leases is not None and (leases or not expire_overdue()):
            return leases
    raise StillSearching


@transaction.atomic
def _try_to_lease(
    project: int, user: User, current_leases: set[int], n: int
) -> list[Lease] | StillSearching | None:
    """Return None if somebody else took one of the items first. Raises _Locked.

    StillSearching is returned, not raised, so that the position of the search is stored.
    """
    participant = participant_of(project, user)
    require_open(participant.project)
    pauses.require_not_paused(participant)
    if participant.project.choosing:  # neither from the old candidates nor from the new ones, checks alike
        return StillSearching(wait=CHOOSING_WAIT)
    active = sql.fetch(Lease, sql.ACTIVE_LEASES, annotator=participant.annotator.pk)
    lost = [
        lease.pk for lease in active if lease.pk not in current_leases and extend(lease, participant.project)
    ][:n]
    held = Lease.objects.select_related("item").defer("item__gold").order_by("pk")
    again = list(held.filter(pk__in=lost)) if lost else []
    room = min(n - len(again), MAX_LEASES - len(active))
    if room <= 0 and not again:
        raise Conflict(
            "too_many_leases",
            f"{len(active)} sentences are reserved for you; the limit is {MAX_LEASES}.",
            hint="Answer, skip or return some of them first.",
        )
    try:
        new = _lease_new(participant, room, must_find=not again) if room > 0 else []
    except StillSearching as searching:
        return again or searching
    if new is None:
        transaction.set_rollback(True)
        return None
    if not (again or new or active) and (reserve := _take_over_reserve(participant)):
        new = [reserve]
    return [*again, *new]


def _lease_new(participant: Participant, n: int, *, must_find: bool) -> list[Lease] | None:
    """Lease up to n items; None if somebody else was faster.

    With `must_find` a locked item is waited for, rather than reporting that none is left.
    """
    annotator, leases = participant.annotator, list[Lease]()
    while len(leases) < n:
        must_find = must_find and not leases
        gold_question = gold_questions.due_gold_question(participant)
        if gold_question is not None:
            if gold_question.use == Item.Use.CHECK:
                _next_items(participant, 1, must_find=must_find)  # a check takes as long as a sentence
                _take([gold_question])
                gold_questions.count_items(participant, 1)
            leases.append(_grant(participant, gold_question))
            continue
        if gold_questions.is_qualifying(participant):
            break
        items = _next_items(participant, n - len(leases), must_find=must_find)
        if not _take(items):
            return None
        if not items:
            if not leases and (again := _item_again(participant, must_find=must_find)):
                leases.append(_grant(participant, again))
            break
        leases += [_grant(participant, item) for item in items]
        annotator.cursor = items[-1].rank + 1
        gold_questions.count_items(participant, len(items))
    if leases:
        _save_position(annotator)
        _expire_together(leases)
    return leases


def _expire_together(leases: list[Lease]) -> None:
    """Let leases of one request expire at one moment.

    Their own moments would tell which of them took longer to find: the hidden checks.
    """
    expires_at = leases[0].expires_at
    if leases[1:]:
        Lease.objects.filter(pk__in=[lease.pk for lease in leases]).update(expires_at=expires_at)
    for lease in leases:
        lease.expires_at = expires_at


def _next_items(participant: Participant, n: int, *, must_find: bool) -> list[Item]:
    """Lock the items after the person's last, else any. Raises _Locked, StillSearching with `must_find`."""
    annotator = participant.annotator
    if participant.project.check_every:  # no more than come before the next hidden check
        n = max(1, min(n, gold_questions.items_before_check(participant)))
    where = {"project": participant.project.pk, "annotator": annotator.pk}
    where["once"] = gold_questions.keeps_leases(participant.project)
    held = annotator.searched_at and timezone.now() - annotator.searched_at < SEARCHES_HOLD
    if held and sql.value(sql.AFTER_FREED_SLICE, **where, size=SLICE) is None:
        return _search_freed(annotator, where, n, must_find=must_find)
    if must_find:
        return _search_all(annotator, where, n)
    items, end = _search_slice(where, annotator.cursor, n)
    return items if items or end else _search_slice(where, 0, n)[0]


def _search_freed(annotator: Annotator, where: dict[str, Any], n: int, *, must_find: bool) -> list[Item]:
    """Search what was freed; if none is left, look at none of these again."""
    items = sql.fetch(Item, sql.NEXT_FREED_UNLOCKED_ITEMS, **where, n=n)
    if items or not must_find:
        return items
    time = sql.value(sql.SEARCH_TIME)
    _require_none(sql.fetch(Item, sql.NEXT_FREED_ITEMS, **where, n=1))
    sql.execute(sql.SAVE_SEARCH, annotator=annotator.pk, time=time)
    return []


def _search_all(annotator: Annotator, where: dict[str, Any], n: int) -> list[Item]:
    """Search from the person's last item to the end, then a round from the first item on, slice by slice.

    Only the round looks for locked items. If it finds none, what is freed later is searched alone: whoever
    has answered every open item of a large project asks again and again.
    """
    if not annotator.round_since:
        items, end = _search_slice(where, annotator.cursor, n)
        if items:
            return items
        if end:
            _go_on(annotator, end)
        sql.execute(sql.START_ROUND, annotator=annotator.pk)
        annotator.cursor = 0
    items, end = _search_slice(where, annotator.cursor, 1)
    if items:
        return items
    _require_none(_search_slice(where, annotator.cursor, 1, statement=sql.NEXT_ITEMS)[0])
    if end:
        _go_on(annotator, end)
    sql.execute(sql.END_ROUND, annotator=annotator.pk)
    return []


def _require_none(items: list[Item]) -> None:
    """Raise _Locked for the first of these items, which a search of unlocked ones did not find."""
    if items:
        raise _Locked(items[0])


def _search_slice(
    where: dict[str, Any], first: int, n: int, *, statement: str = sql.NEXT_UNLOCKED_ITEMS
) -> tuple[list[Item], int | None]:
    """Return items of the slice that starts at this rank, and the rank behind it; None at the end."""
    end = sql.value(sql.AFTER_SLICE, project=where["project"], first=first, size=SLICE)
    last = LAST_RANK if end is None else end - 1
    return sql.fetch(Item, statement, **where, first=first, last=last, n=n), end


def _go_on(annotator: Annotator, rank: int) -> NoReturn:
    sql.execute(sql.SAVE_SLICE, annotator=annotator.pk, cursor=rank)
    raise StillSearching


def _take(items: list[Item]) -> bool:
    """Take a free answer of each item; False if one has none any more."""
    if len(items) == 1:
        return sql.execute(sql.TAKE_ITEM, item=items[0].pk) == 1
    wanting = Item.objects.filter(pk__in=[item.pk for item in items], free__gt=0)
    return wanting.update(free=F("free") - 1) == len(items)


def _item_again(participant: Participant, *, must_find: bool) -> Item | None:
    """Lock and take an item that the person returned or deferred, or is asked again. Raises _Locked.

    It moves no position: a new sentence among those that come again would be a hidden check.
    """
    for again in (asked_again, returned_items, deferred_items):
        items = again(participant.project, participant.annotator)
        first = items.first()
        if first is None:
            continue
        item = _lock_unless_locked(items.filter(pk=first.pk))
        if item is not None:
            sql.execute(sql.TAKE_ITEM, item=item.pk)
            return item
        if must_find:
            raise _Locked(first)
    return None


def _save_position(annotator: Annotator) -> None:
    position = {name: getattr(annotator, name) for name in ("cursor", "since_check", "check_block")}
    sql.execute(sql.SAVE_POSITION, annotator=annotator.pk, **position)


def _grant(participant: Participant, item: Item) -> Lease:
    suggestion = shown_predictions.for_new_lease(participant.project, item)
    (lease,) = sql.fetch(
        Lease,
        sql.GRANT_LEASE,
        item=item.pk,
        annotator=participant.annotator.pk,
        shown=suggestion.batch_id if suggestion else None,
        lasting=f"{participant.project.lease_minutes} minutes",
    )
    lease.item, lease.annotator = item, participant.annotator
    return lease


def _take_over_reserve(participant: Participant) -> Lease | None:
    """Take over the newest reserve of the person with most leases.

    None with hidden checks, on or off: a sentence that comes while a person's count of available ones is 0
    would be known as no check.
    """
    if gold_questions.keeps_leases(participant.project):
        return None
    active = Lease.objects.filter(annotator__project=participant.project, item__use="", ending="")
    owners = active.values("annotator").annotate(n=Count("pk")).filter(n__gt=NOT_RESERVE).order_by("-n")
    for owner in owners.exclude(annotator=participant.annotator.pk).values_list("annotator", flat=True):
        reserves = active.filter(annotator=owner).order_by("pk")[NOT_RESERVE:]
        for lease in reversed(list(reserves)):
            own = _untouched(Item.objects.filter(pk=lease.item_id), participant.annotator)
            item = _lock_unless_locked(own)
            if item and _take_back(lease):
                return _grant(participant, item)
    return None


def _take_back(lease: Lease) -> bool:
    return bool(Lease.objects.filter(pk=lease.pk, ending="").update(ending=Lease.Ending.TAKEN_BACK))
