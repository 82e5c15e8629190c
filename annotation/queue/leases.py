"""What people hold: kept a while longer, given back, run out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from annotation.consensus import item_state
from annotation.models import Annotator, Item, Lease, Project
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict


def extend(lease: Lease, project: Project) -> bool:
    """Whether a lease still ran and does so for its whole time again."""
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
    if not extend(lease, lease.item.project):
        raise Conflict(
            "lease_ended",
            "This sentence went back into the pool.",
            hint="Send your answer all the same: it is kept, and counts if it is among the first.",
        )
    lease.refresh_from_db()
    return lease


def return_lease(lease_pk: int, user: User) -> None:
    """Put an item back without an answer; somebody, or the same person later, gets it."""
    _end(_own(lease_pk, user), Lease.Ending.RETURNED)


def return_all(annotator: Annotator) -> None:
    """Put back whatever this person holds."""
    for lease in annotator.leases.filter(ending="").order_by("item_id"):
        _end(lease, Lease.Ending.RETURNED)


def expire_overdue() -> int:
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
        item_state.update_state(item)
    return bool(ended)
