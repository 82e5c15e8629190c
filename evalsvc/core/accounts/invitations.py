"""Invitation links to accounts, teams, projects and benchmarks."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any, NoReturn

from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string

from evalsvc.core.accounts import login_throttle, outgoing_mail, security_log, sessions
from evalsvc.core.accounts.models import Invitation, User
from evalsvc.core.accounts.tokens import digest
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web import places

log = logging.getLogger(__name__)
MAX_DAYS = 90


# ---- targets: what a person can be invited to ---------------------------------------------------
@dataclass(frozen=True)
class InvitationTarget:
    """Kind of object to invite people to; each app registers its own."""

    name: str
    noun: str
    roles: tuple[tuple[str, str], ...]
    find: Callable[[int], Any]
    require_inviter: Callable[[Any, User], object]
    """(subject, user): raises 404 for strangers, 403 for members who may not invite."""
    role_of: Callable[[Any, User], str | None]
    admit: Callable[[Any, User, str, User], object]
    """(subject, user, role, by): checks the inviter's rights as they are now."""
    url: Callable[[Any], str]
    members_url: Callable[[Any], str]
    """Page that lists the members and creates invitations."""

    def role_title(self, role: str) -> str:
        return dict(self.roles).get(role, role)


_TARGETS: dict[str, InvitationTarget] = {}


def register(target: InvitationTarget) -> None:
    _TARGETS[target.name] = target


def target_named(name: str) -> InvitationTarget:
    if name not in _TARGETS:
        raise Http404
    return _TARGETS[name]


# ---- invitations --------------------------------------------------------------------------------
@dataclass(frozen=True)
class OpenInvitation:
    """Invitation with the object it leads to."""

    record: Invitation
    target: InvitationTarget
    subject: Any

    @property
    def role(self) -> str:
        return self.target.role_title(self.record.role)

    @property
    def url(self) -> str:
        return self.target.url(self.subject)


@transaction.atomic
def invite(
    target: InvitationTarget, subject: Any, *, role: str, by: User, days: int = 7, note: str = ""
) -> tuple[Invitation, str]:
    """Create an invitation; the secret of its link isn't stored."""
    target.require_inviter(subject, by)
    if role not in dict(target.roles):
        roles = ", ".join(dict(target.roles))
        detail = f"{role!r} is not a role of a {target.noun}. Choose one of: {roles}."
        raise DomainError("unknown_role", detail, field="role")
    if not 1 <= days <= MAX_DAYS:
        raise DomainError(
            "bad_days", f"An invitation is valid for 1 to {MAX_DAYS} days, not {days}.", field="days"
        )
    secret = secrets.token_urlsafe(32)
    sessions.lock_active(by)
    record = Invitation.objects.create(
        place=target.name,
        subject=subject.pk,
        role=role,
        note=note.strip()[:120],
        digest=digest(secret),
        by=by,
        expires_at=Now() + timedelta(days=days),
    )
    record.refresh_from_db()
    _log("invitation_made", record, by=by)
    return record, secret


@transaction.atomic
def invite_many(
    target: InvitationTarget, subject: Any, notes: Iterable[str], *, role: str, by: User, days: int
) -> list[tuple[Invitation, str]]:
    """Create an invitation for each of these people, all or none."""
    return [invite(target, subject, role=role, by=by, days=days, note=note) for note in notes]


def usable() -> QuerySet[Invitation]:
    return Invitation.objects.filter(
        Q(expires_at__gt=Now()), used_at=None, revoked_at=None, by__is_active=True
    )


def usable_for(target: InvitationTarget, subject: Any) -> QuerySet[Invitation]:
    records = usable().filter(place=target.name, subject=subject.pk)
    return records.select_related("by").order_by("-pk")


def find_open(secret: str) -> OpenInvitation:
    """Return the usable invitation of a link, or answer 409; 403 if its creator may no longer invite."""
    record = usable().select_related("by").filter(digest=digest(secret)).first()
    invitation = resolve(record or _reject(secret))
    try:
        invitation.target.require_inviter(invitation.subject, invitation.record.by)
    except (NotAllowed, Http404) as error:
        raise _void(invitation) from error
    return invitation


def resolve(record: Invitation) -> OpenInvitation:
    """Look up the target and the object of an invitation."""
    target = target_named(record.place)
    return OpenInvitation(record, target, target.find(record.subject))


def _reject(secret: str) -> NoReturn:
    """Explain an invalid link and who can give a new one."""
    record = Invitation.objects.select_related("by").filter(digest=digest(secret)).first()
    if record is None:
        raise Http404
    reason = "was revoked" if record.revoked_at else "was already used" if record.used_at else "has expired"
    inviter = record.by.shown_name if record.by.is_active else "an administrator"
    raise Conflict(
        "invitation_over",
        f"This invitation {reason}. Each link admits one person, once.",
        hint=f"If you used it yourself, you are already a member. Otherwise ask {inviter} for a new one."
        if record.used_at
        else f"Ask {inviter} for a new one.",
    )


def _void(invitation: OpenInvitation) -> NotAllowed:
    return NotAllowed(
        "invitation_void",
        f"{invitation.record.by.shown_name} may no longer invite to {invitation.subject}.",
        hint="Ask another member for a new invitation.",
    )


@transaction.atomic
def accept(secret: str, *, user: User) -> OpenInvitation:
    """Admit a person, provided that the inviter may still invite."""
    record = usable().select_for_update(of=("self",)).filter(digest=digest(secret)).first()
    invitation = resolve(record or _reject(secret))
    target, subject, record = invitation.target, invitation.subject, invitation.record
    if target.role_of(subject, user) is not None:
        raise Conflict(
            "already_in",
            f"You are already a member of {subject}. The invitation changes nothing.",
            hint="The person who invited you can change your role.",
        )
    try:
        target.admit(subject, user, record.role, record.by)
    except (NotAllowed, Http404) as error:
        raise _void(invitation) from error
    Invitation.objects.filter(pk=record.pk).update(used_at=Now(), used_by=user)
    _log("invitation_accepted", record, account=user, by=record.by)
    return invitation


def revoke(record: Invitation, *, by: User) -> OpenInvitation:
    """Revoke an unused invitation; anyone who may invite there may."""
    invitation = resolve(record)
    invitation.target.require_inviter(invitation.subject, by)
    Invitation.objects.filter(pk=record.pk, used_at=None, revoked_at=None).update(revoked_at=Now())
    _log("invitation_revoked", record, by=by)
    return invitation


def _log(event: str, record: Invitation, **people: Any) -> None:
    place = f"{record.place}/{record.subject}"
    security_log.write(event, invitation_id=record.pk, place=place, role=record.role, **people)


# ---- mail ---------------------------------------------------------------------------------------
def mail(request: HttpRequest, invitation: OpenInvitation, *, to: str, path: str) -> bool | None:
    """Send an invitation link; return False when the mail server rejects it, None without its answer.

    Few requests wait for the server. Strangers read the mail, so it has no text that a member can choose
    freely, such as titles and full names.
    """
    login_throttle.record_mail(request, to, kind="invitation mail")
    inviter = outgoing_mail.plain_name(invitation.record.by) or "a member"
    scheme, host = outgoing_mail.origin_of_links(request)
    link = f"{scheme}://{host}{path}"
    context = {"invitation": invitation, "link": link, "host": host, "inviter": inviter}
    subject = render_to_string("accounts/invitation_subject.txt", context).strip()
    try:
        with places.mails.taken(login_throttle.network_of(request)):
            send_mail(subject, render_to_string("accounts/invitation_mail.txt", context), None, [to])
    except (OSError, SMTPException) as error:
        log.warning("Sending an invitation by e-mail failed: %s", error)
        return False if isinstance(error, SMTPResponseException | SMTPRecipientsRefused) else None
    return True
