"""Leases extended while a page is open, returned and expired."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone

from annotation.consensus import item_state
from annotation.models import Annotator, Item, Lease, Project
from annotation.roles import MAY_LABEL, role_in
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict

WITHDRAWN_FREE_EVERY = timedelta(hours=1)
MOST_TIMES = (
    20  # that one person defers, or returns, one item: hundreds of replies might tell checks by their time
)


def require_not_too_often(times: int) -> None:
    """Reject deferring or returning an item more often than anybody needs to."""
    if times > MOST_TIMES:
        detail = f"You have had this sentence {MOST_TIMES} times already."
        raise Conflict("put_off_too_often", detail, hint="Answer it, or skip it for another reason.")


def extend(lease: Lease, project: Project) -> bool:
    """Renew an active lease to its full time; False if ended."""
    expires = Now() + timedelta(minutes=project.lease_minutes)
    active = Lease.objects.filter(pk=lease.pk, ending="", expires_at__gt=Now())
    return bool(active.update(expires_at=expires))


def heartbeat(pk: int, user: User) -> Lease:
    """Extend a person's lease, or raise if it has ended."""
    lease = _own(pk, user)
    if not extend(lease, lease.item.project):
        raise Conflict(
            "lease_ended",
            "Your reservation of this sentence has ended.",
            hint="Send your answer anyway: it is stored, and counts if it is among the first.",
        )
    lease.refresh_from_db()
    return lease


def return_lease(pk: int, user: User) -> None:
    """Return an item without an answer; anybody may lease it again."""
    lease = _own(pk, user)
    require_not_too_often(Lease.objects.filter(item=lease.item_id, annotator=lease.annotator_id).count())
    _end(lease, Lease.Ending.RETURNED)


def _own(pk: int, user: User) -> Lease:
    leases = Lease.objects.select_related("item__project").defer("item__gold")
    lease = leases.filter(pk=pk, annotator__user=user).exclude(ending=Lease.Ending.WITHDRAWN).first()
    if lease is None or role_in(lease.item.project, user) not in MAY_LABEL:
        raise Http404
    return lease


def return_all(annotator: Annotator) -> None:
    """Return every active lease of this annotator."""
    for lease in _in_order(annotator.leases.filter(ending="")):
        _end(lease, Lease.Ending.RETURNED)


def expire_overdue() -> int:
    """End overdue leases and return their number."""
    overdue = Lease.objects.filter(expires_at__lte=Now())
    leases = [lease for ending in Lease.KEEPING for lease in _in_order(overdue.filter(ending=ending))]
    return sum(_end(lease, Lease.Ending.EXPIRED) for lease in leases)


def _in_order(leases: QuerySet[Lease]) -> list[Lease]:
    """Return the first of the leases to expire, in the order they were given.

    Whoever watches them end must not see in which order the items were imported: checks mostly come last.
    """
    return sorted(leases.order_by("expires_at", "pk")[:500], key=attrgetter("pk"))


@transaction.atomic
def _end(lease: Lease, ending: str) -> bool:
    if lease.ending not in Lease.KEEPING:
        return False  # nothing is read, which might take longer for a sentence than for a check
    item = Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    active = Lease.objects.filter(pk=lease.pk, ending=lease.ending)
    if ending == Lease.Ending.EXPIRED:
        active = active.filter(expires_at__lte=Now())
    ended = bool(active.update(ending=ending))
    if ended:
        item_state.update_state(item)
    return ended


# ---- withdrawn answers ----------------------------------------------------------------------------
def keep_place(item: Item, annotator: Annotator, *, shown: int | None) -> Lease:
    """Keep the place of a withdrawn answer for its person; of each person one an hour comes free.

    Otherwise somebody who has nothing left would see at once which of the items are no hidden checks.
    """
    Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk)  # one after another
    withdrawn = Lease.objects.filter(annotator=annotator, ending=Lease.Ending.WITHDRAWN)
    expires = timezone.now() + WITHDRAWN_FREE_EVERY
    for other in withdrawn.order_by("expires_at").values_list("expires_at", flat=True):
        if expires + WITHDRAWN_FREE_EVERY <= other:
            break  # a place that was taken back left a gap
        expires = max(expires, other + WITHDRAWN_FREE_EVERY)
    return withdrawn.create(
        item=item, annotator=annotator, ending=Lease.Ending.WITHDRAWN, shown_id=shown, expires_at=expires
    )
