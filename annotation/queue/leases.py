"""Leases: each item goes to as many annotators as it needs."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef

from annotation.consensus import pending_recomputation
from annotation.models import Annotator, Item, ItemQuerySet, Lease, Project, Vote
from annotation.queue import gold_questions, pauses, shown_predictions, sql
from annotation.queue.available_items import asked_again, deferred_items, returned_items, untouched
from annotation.queue.lease_endings import expire_overdue, extend
from annotation.queue.own_votes import last_vote_number
from annotation.queue.participants import Participant, participant_of, require_open
from annotation.queue.search import ItemLocked, StillSearching, next_items
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job

NOT_RESERVE = 3  # the oldest leases of a person; later ones may go to others
MAX_LEASES = 60
TRIES = 50
CHANGE_WAIT = 3  # seconds until a person whose project changes many items asks again


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
        except ItemLocked as locked:
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
    """Return None if somebody else took one of the items first. Raises ItemLocked.

    StillSearching is returned, not raised, so that the position of the search is stored.
    """
    participant = participant_of(project, user)
    require_open(participant.project)
    pauses.require_not_paused(participant)
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
    obstacle = _obstacle(participant.project)
    if obstacle and not again:
        raise obstacle
    try:
        new = _lease_new(participant, room, must_find=not again) if room > 0 and not obstacle else []
    except StillSearching as searching:
        if not again:
            return searching
        new = []
    if new is None:
        transaction.set_rollback(True)
        return None
    if not (again or new or active) and (reserve := _take_over_reserve(participant)):
        new = [reserve]
    for lease in (found := [*again, *new]):  # under their locks: an answer that comes now ends them later
        lease.base = last_vote_number(lease)
    return found


def _obstacle(project: Project) -> StillSearching | Conflict | None:
    """Return why nothing new is leased while items change one after another.

    What came before the rest, or just after an act of somebody else, would tell sentences from checks, and
    answers of others.
    """
    if project.choosing:
        return StillSearching("The candidates of this project are being changed.", wait=CHANGE_WAIT)
    job = pending_recomputation.pending(project)
    if job and job.state in Job.ENDED:
        return pending_recomputation.failure(project, job)
    reason = "The sentences of this project are being recomputed."
    return StillSearching(reason, wait=CHANGE_WAIT) if job else None


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
                next_items(participant, 1, must_find=must_find)  # a check takes as long as a sentence
                _take([gold_question])
                gold_questions.count_items(participant, 1)
            leases.append(_grant(participant, gold_question))
            continue
        if gold_questions.is_qualifying(participant):
            break
        items = next_items(participant, n - len(leases), must_find=must_find)
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


def _take(items: list[Item]) -> bool:
    """Take a free answer of each item; False if one has none any more."""
    if len(items) == 1:
        return sql.execute(sql.TAKE_ITEM, item=items[0].pk) == 1
    wanting = Item.objects.filter(pk__in=[item.pk for item in items], free__gt=0)
    return wanting.update(free=F("free") - 1) == len(items)


def _item_again(participant: Participant, *, must_find: bool) -> Item | None:
    """Lock and take an item that the person returned or deferred, or is asked again. Raises ItemLocked.

    It moves no position: a new sentence among those that come again would be a hidden check.
    """
    for again in (asked_again, returned_items, deferred_items):
        items = again(participant.project, participant.annotator)
        first = items.first()
        if first is None:
            continue
        item = _lock_unless_locked(items.filter(pk=first.pk))
        if item is not None:
            sql.execute(sql.TAKE_ITEM_AGAIN, item=item.pk, annotator=participant.annotator.pk)
            return item
        if must_find:
            raise ItemLocked(first)
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
    """Take over the newest reserve of the person with most leases, but no item that they had answered.

    They would learn by it that the other had not been called, and so that the answers agree.
    None with hidden checks, on or off: a sentence that comes while a person's count of available ones is 0
    would be known as no check.
    """
    if gold_questions.keeps_leases(participant.project):
        return None
    active = Lease.objects.filter(annotator__project=participant.project, item__use="", ending="")
    answers = Vote.objects.filter(item=OuterRef("item"), annotator=OuterRef("annotator"), act=Vote.Act.ANSWER)
    active = active.exclude(Exists(answers))
    owners = active.values("annotator").annotate(n=Count("pk")).filter(n__gt=NOT_RESERVE).order_by("-n")
    for owner in owners.exclude(annotator=participant.annotator.pk).values_list("annotator", flat=True):
        reserves = active.filter(annotator=owner).order_by("pk")[NOT_RESERVE:]
        for lease in reversed(list(reserves)):
            own = untouched(Item.objects.filter(pk=lease.item_id), participant.annotator)
            item = _lock_unless_locked(own)
            if item and _take_back(lease):
                return _grant(participant, item)
    return None


def _take_back(lease: Lease) -> bool:
    return bool(Lease.objects.filter(pk=lease.pk, ending="").update(ending=Lease.Ending.TAKEN_BACK))
