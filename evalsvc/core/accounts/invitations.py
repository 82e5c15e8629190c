"""Invitations by link: made by whoever may staff a place, used once, then history."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404

from evalsvc.core.accounts import invitation_targets
from evalsvc.core.accounts.invitation_targets import Place
from evalsvc.core.accounts.models import Invitation, User
from evalsvc.core.accounts.tokens import digest
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed

LONGEST_DAYS = 90


@dataclass(frozen=True)
class Open:
    """An invitation that still stands, with the place it leads to."""

    row: Invitation
    place: Place
    subject: Any

    @property
    def role(self) -> str:
        return self.place.word(self.row.role)

    @property
    def address(self) -> str:
        return self.place.address(self.subject)


def invite(
    place: Place, subject: Any, *, role: str, by: User, days: int = 7, note: str = ""
) -> tuple[Invitation, str]:
    """Make an invitation; the secret of its link is returned here and nowhere else."""
    place.require(subject, by)
    if role not in dict(place.roles):
        known = ", ".join(dict(place.roles))
        raise DomainError("unknown_role", f"{role!r} is no role of a {place.noun}: {known}.", field="role")
    if not 1 <= days <= LONGEST_DAYS:
        raise DomainError(
            "bad_days", f"An invitation stands for 1 to {LONGEST_DAYS} days, not {days}.", field="days"
        )
    secret = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        place=place.name,
        subject=subject.pk,
        role=role,
        note=note.strip()[:120],
        digest=digest(secret),
        by=by,
        expires_at=Now() + timedelta(days=days),
    )
    row.refresh_from_db()
    return row, secret


def standing() -> QuerySet[Invitation]:
    """Invitations that can still be used."""
    return Invitation.objects.filter(
        Q(expires_at__gt=Now()), used_at=None, revoked_at=None, by__is_active=True
    )


def of_place(place: Place, subject: Any) -> QuerySet[Invitation]:
    """Those that stand for one place, for whoever may invite there."""
    rows = standing().filter(place=place.name, subject=subject.pk)
    return rows.select_related("by").order_by("-pk")


def opened(secret: str) -> Open:
    """What a link leads to; one that is used or over says so, one that is made up leads nowhere."""
    return _located(standing().select_related("by").filter(digest=digest(secret)).first() or _over(secret))


def _located(row: Invitation) -> Open:
    place = invitation_targets.get(row.place)
    return Open(row, place, place.find(row.subject))


def _over(secret: str) -> NoReturn:
    """Say to whoever holds the link why it leads nowhere now, and whom to ask."""
    row = Invitation.objects.select_related("by").filter(digest=digest(secret)).first()
    if row is None:
        raise Http404
    why = "was taken back" if row.revoked_at else "was used already" if row.used_at else "is over"
    asked = row.by.shown_name if row.by.is_active else "whoever runs this place"
    raise Conflict(
        "invitation_over",
        f"This invitation {why}; a link lets one person in, once.",
        hint=f"If it was you, you are in. Else ask {asked} for a new one."
        if row.used_at
        else f"Ask {asked} for a new one.",
    )


@transaction.atomic
def accept(secret: str, *, user: User) -> Open:
    """Let the person in by the room's own verb; the inviter must still be allowed to."""
    row = standing().select_for_update(of=("self",)).filter(digest=digest(secret)).first()
    found = _located(row or _over(secret))
    if found.place.role_of(found.subject, user) is not None:
        raise Conflict(
            "already_in",
            f"You are in {found.subject} already; this invitation changes nothing.",
            hint="Whoever invited you can change your role there.",
        )
    try:
        found.place.admit(found.subject, user, found.row.role, found.row.by)
    except (NotAllowed, Http404) as error:
        raise NotAllowed(
            "invitation_void",
            "Whoever made this invitation may no longer invite there.",
            hint="Ask for a new one.",
        ) from error
    Invitation.objects.filter(pk=found.row.pk).update(used_at=Now(), used_by=user)
    return found


def revoke(row: Invitation, *, by: User) -> Open:
    """Take an invitation back; whoever may invite there may."""
    found = _located(row)
    found.place.require(found.subject, by)
    Invitation.objects.filter(pk=row.pk, used_at=None, revoked_at=None).update(revoked_at=Now())
    return found
