"""Who labels what next: leases to exactly as many annotators as an item still wants."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef
from django.db.models.functions import Now, TruncDate
from django.http import Http404

from annotation import known, outcomes
from annotation.models import Annotator, Batch, Item, ItemQuerySet, Lease, Project, Suggestion, Vote
from annotation.roles import require
from annotation.seats import Seat, annotator_of, require_open, seat
from evalsvc.refusals import Conflict
from evalsvc.teams.models import User

__all__ = ["annotator_of", "expire", "give_back", "heartbeat", "lease_next", "lease_some", "progress_of"]
CURRENT = 3
MOST_HELD = 60
TRIES = 5


def lease_next(project: Project, user: User, *, holding: Collection[int] = ()) -> Lease | None:
    """Hand out the next item, or None when nothing waits for this person.

    Leases of theirs that are not among `holding` come first: a page that was closed gets its item back.
    Beyond the oldest three a lease is a reserve, which may go to somebody who has nothing else to do.
    """
    for _ in range(TRIES):
        taken, lease = _try(project.pk, user, holding)
        if taken and (lease or not expire()):
            return lease
    return None


def lease_some(project: Project, user: User, *, n: int, holding: Collection[int] = ()) -> list[Lease]:
    """Up to n leases at once: what a device keeps for when there is no network."""
    leases: list[Lease] = []
    while len(leases) < n and len(leases) + len(holding) < MOST_HELD:
        lease = lease_next(project, user, holding=[*holding, *(lease.pk for lease in leases)])
        if lease is None:
            break
        leases.append(lease)
    return leases


@transaction.atomic
def _try(project: int, user: User, holding: Collection[int]) -> tuple[bool, Lease | None]:
    """One try: False when somebody else was faster on the item found."""
    sat = seat(project, user, lock=True)
    require_open(sat.project)
    known.require_working(sat)
    held = list(Lease.objects.filter(annotator=sat.annotator, ending="").order_by("pk"))
    lost = [lease for lease in held if lease.pk not in set(holding)]
    still = [lease for lease in lost if _extended(lease, sat.project)]
    if still:
        return True, Lease.objects.select_related("item", "annotator").get(pk=still[0].pk)
    if len(held) >= MOST_HELD:
        raise Conflict(
            "too_many_leases",
            f"You hold {len(held)} sentences already.",
            hint="Answer, skip or return some of them first.",
        )
    return _take(sat, idle=not held)


def _take(sat: Seat, *, idle: bool) -> tuple[bool, Lease | None]:
    due = known.due(sat)
    if due is not None:
        return True, _granted(sat, due, since_check=0)
    if known.is_qualifying(sat):
        return True, None
    item = _candidate(sat.project, sat.annotator)
    if item is None:
        return True, _from_reserves(sat) if idle else None
    if not Item.objects.filter(pk=item.pk, free__gt=0).update(free=F("free") - 1):
        return False, None
    return True, _granted(sat, item, since_check=F("since_check") + 1)


def _granted(sat: Seat, item: Item, *, since_check: Any) -> Lease:
    """A new lease; the search for the next item starts behind this one."""
    own: dict[str, Any] = {"since_check": since_check} if sat.project.check_every else {}
    if not item.use and item.rank > sat.annotator.cursor:
        own["cursor"] = item.rank
    if own:
        Annotator.objects.filter(pk=sat.annotator.pk).update(**own)
    suggestion = Suggestion.objects.filter(item=item).first() if sat.project.suggests else None
    lease = Lease(
        item=item,
        annotator=sat.annotator,
        expires_at=Now() + timedelta(minutes=sat.project.lease_minutes),
        shown_id=suggestion.batch_id if suggestion else None,
    )
    lease.save(force_insert=True)
    if suggestion is not None:
        item.suggestion = suggestion
    lease.refresh_from_db(fields=["expires_at"])
    return lease


def _candidate(project: Project, annotator: Annotator) -> Item | None:
    """The next item behind the person's last one, else the first one anywhere that they may still do."""
    open_to_them = _locked(wanting(project, annotator))
    return open_to_them.filter(rank__gt=annotator.cursor).first() or open_to_them.first()


def _locked(items: ItemQuerySet) -> ItemQuerySet:
    """Held for us; those that others hold just now are passed over."""
    skips = connection.features.has_select_for_update_skip_locked
    return items.select_for_update(skip_locked=True, no_key=True) if skips else items


def wanting(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Items that still want an answer and that this person neither answered, skipped nor holds."""
    batches = Batch.objects.filter(project=project, state=Batch.State.DONE)
    items = Item.objects.filter(project=project, free__gt=0, batch__in=batches.values("pk"))
    return _untouched(items, annotator).order_by("rank")


def _untouched(items: ItemQuerySet, annotator: Annotator) -> ItemQuerySet:
    done = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    held = Lease.objects.filter(item=OuterRef("pk"), annotator=annotator, ending="")
    return items.exclude(Exists(done)).exclude(Exists(held))


def _from_reserves(sat: Seat) -> Lease | None:
    """What somebody holds beyond their three, newest first, for a person who has nothing else to do."""
    running = Lease.objects.filter(item__project=sat.project, item__use="", ending="")
    holders = running.values("annotator").annotate(n=Count("pk")).filter(n__gt=CURRENT).order_by("-n")
    for holder in holders.exclude(annotator=sat.annotator.pk).values_list("annotator", flat=True):
        theirs = running.filter(annotator=holder).order_by("pk")[CURRENT:]
        for lease in reversed(list(theirs)):
            item = _locked(_untouched(Item.objects.filter(pk=lease.item_id), sat.annotator)).first()
            if item and Lease.objects.filter(pk=lease.pk, ending="").update(ending=Lease.Ending.TAKEN_BACK):
                return _granted(sat, item, since_check=F("since_check") + 1)
    return None


def _extended(lease: Lease, project: Project) -> bool:
    expires = Now() + timedelta(minutes=project.lease_minutes)
    running = Lease.objects.filter(pk=lease.pk, ending="", expires_at__gt=Now())
    return bool(running.update(expires_at=expires))


def _own(lease_pk: int, user: User) -> Lease:
    lease = Lease.objects.select_related("item__project").filter(pk=lease_pk, annotator__user=user).first()
    if lease is None:
        raise Http404
    return lease


def heartbeat(lease_pk: int, user: User) -> Lease:
    """Keep an item a while longer."""
    lease = _own(lease_pk, user)
    if not _extended(lease, lease.item.project):
        raise Conflict(
            "lease_ended",
            "This sentence went back into the pool.",
            hint="Send your answer all the same: it is kept, and counts if it is among the first.",
        )
    lease.refresh_from_db()
    return lease


def give_back(lease_pk: int, user: User) -> None:
    """Put an item back without an answer; somebody, or the same person later, gets it."""
    _end(_own(lease_pk, user), Lease.Ending.RETURNED)


def give_back_all(annotator: Annotator) -> None:
    """Put back whatever this person holds."""
    for lease in annotator.leases.filter(ending="").order_by("item_id"):
        _end(lease, Lease.Ending.RETURNED)


def expire() -> int:
    """Put items whose leases ran out back into the pool; safe to run at any time, by anybody."""
    return sum(_end(lease, Lease.Ending.EXPIRED) for lease in overdue())


def overdue() -> Sequence[Lease]:
    return list(Lease.objects.filter(ending="", expires_at__lte=Now()).order_by("item_id")[:500])


@transaction.atomic
def _end(lease: Lease, ending: str) -> bool:
    item = Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    running = Lease.objects.filter(pk=lease.pk, ending="")
    if ending == Lease.Ending.EXPIRED:
        running = running.filter(expires_at__lte=Now())
    ended = running.update(ending=ending)
    if ended:
        outcomes.settle(item)
    return bool(ended)


def progress_of(project: Project, user: User) -> dict[str, Any]:
    """How far this person is, and whether something waits for them."""
    require(project, user)
    live = Item.objects.filter(project=project).live()
    annotator = Annotator.objects.filter(project=project, user=user).first()
    own = Vote.objects.filter(annotator=annotator) if annotator else Vote.objects.none()
    latest = own.order_by("-pk").values_list("milliseconds", flat=True)[:20]
    times = sorted(spent for spent in latest if spent is not None)
    waiting = wanting(project, annotator) if annotator else live.filter(free__gt=0)
    return {
        "total": live.count(),
        "open": live.filter(state=Item.State.OPEN).count(),
        "answered": annotator.answers.count() if annotator else 0,
        "skipped": _skipped(own),
        "today": own.filter(at__date=TruncDate(Now())).values("item").distinct().count(),
        "waiting": waiting.order_by().values("pk").count(),
        "median_seconds": round(times[len(times) // 2] / 1000, 1) if times else None,
    }


def _skipped(own: Any) -> int:
    """Items whose last act is a skip."""
    last: dict[int, str] = dict(own.order_by("number").values_list("item_id", "act"))
    return sum(act == Vote.Act.SKIP for act in last.values())
