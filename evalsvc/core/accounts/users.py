"""User accounts: sign-up, and changes by users and administrators."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from evalsvc.core.accounts import invitations, security_log, sessions
from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import NAME_TAKEN, ApiToken, Identity, Invitation, User, folded_name
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.core.web.formatting import counted

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from rest_framework.request import Request

PERSON, ORGANISER = "person", "organiser"
NAMES_PER_QUERY = 500


class NameTaken(Conflict):
    """User name that another account took at the same moment."""


def person(request: HttpRequest | Request) -> User:
    """Return the logged-in user of a request, or answer 403."""
    if not isinstance(request.user, User):
        raise NotAllowed("not_known", "You are not logged in.", hint="Log in first.")
    return request.user


def require_open_sign_up() -> None:
    if settings.SIGN_UP != "open":
        raise NotAllowed(
            "sign_up_closed",
            "You need an invitation to create an account.",
            hint="Ask an owner of your team or an administrator for a link.",
        )


def require_invited_sign_up() -> None:
    if settings.SIGN_UP == "closed":
        raise NotAllowed(
            "sign_up_closed",
            "New accounts are disabled. Invitations are for people who have an account.",
            hint="Log in and open the link again, or ask an administrator for an account.",
        )


def sign_up(*, username: str, email: str, password: str | None, secret: str = "", **names: Any) -> User:
    """Create an account, openly or with an invitation.

    The password is hashed before anything is locked, as that takes most of a second.
    """
    if secret:
        require_invited_sign_up()
        invitations.find_open(secret)
    else:
        require_open_sign_up()
    user = User(
        username=User.normalize_username(username), email=User.objects.normalize_email(email), **names
    )
    user.set_password(password)
    with transaction.atomic():
        _store(user)
        security_log.write("account_made", account=user)
        if secret:
            invitations.accept(secret, user=user)
            user.refresh_from_db()
    return user


def _store(user: User) -> None:
    """Store a new account, unless another took its name since it was checked."""
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise NameTaken("name_taken", NAME_TAKEN, field="username") from error


def fold_names() -> int:
    """Fold names that an earlier build stored after the migration; of those alike the oldest, if no other is.

    Return their number.
    """
    folded, last = 0, 0
    missing = User.objects.filter(folded_username=None).order_by("pk")
    while rows := list(missing.filter(pk__gt=last).values_list("pk", "username")[:NAMES_PER_QUERY]):
        last = rows[-1][0]
        oldest = {folded_name(username): (pk, username) for pk, username in reversed(rows)}
        taken = User.objects.filter(folded_username__in=oldest).values_list("folded_username", flat=True)
        for name in oldest.keys() - set(taken):
            pk, username = oldest[name]
            with suppress(IntegrityError), transaction.atomic():  # another took it at the same moment
                folded += missing.filter(pk=pk, username=username).update(folded_username=name)
    return folded


def sign_up_by_provider(*, secret: str, username: str, email: str, **names: Any) -> tuple[User, str]:
    """Create an account without a password; return its landing URL too."""
    if not secret and settings.OIDC_OPENS_ACCOUNTS:
        user = User.objects.create_user(username, email=email, **names)
        security_log.write("account_made", account=user)
        return user, ""
    invitation = invitations.find_open(secret) if secret else None
    user = sign_up(username=username, email=email, password=None, secret=secret, **names)
    return user, invitation.url if invitation else ""


# ---- administration -----------------------------------------------------------------------------
def require_administrator(user: User) -> None:
    if not user.is_superuser:
        raise NotAllowed("not_administrator", "Only administrators can do this.")


def users_matching(search: str = "") -> QuerySet[User]:
    users = User.objects.annotate(n_teams=Count("memberships")).order_by("username")
    return users.filter(username__icontains=search) if search else users


def _require_inviter(installation: object, user: User) -> None:
    """Raise 404 for all but administrators, as for numbers that no invitation has."""
    if not user.is_superuser:
        raise Http404


def set_organiser(user: User, *, may: bool, by: User) -> None:
    """Allow or forbid a user to create projects and benchmarks."""
    require_administrator(by)
    User.objects.filter(pk=user.pk).update(may_organise=may)
    security_log.write("organising_allowed" if may else "organising_forbidden", account=user, by=by)


def may_support(user: User | AnonymousUser) -> bool:
    """True for administrators and for people whom they allow to read records."""
    return user.is_active and (user.is_staff or user.is_superuser)


def set_support(user: User, *, may: bool, by: User) -> None:
    """Allow or forbid a user to read the records of support."""
    require_administrator(by)
    User.objects.filter(pk=user.pk).update(is_staff=may)
    security_log.write("support_allowed" if may else "support_forbidden", account=user, by=by)


def set_active(user: User, *, active: bool, by: User) -> None:
    """Activate an account, or deactivate it and end its sessions, reset links, tokens and invitations."""
    require_administrator(by)
    if user == by:
        raise Conflict(
            "own_account", "You cannot deactivate your own account.", hint="Ask another administrator."
        )
    with transaction.atomic():
        changed = User.objects.filter(pk=user.pk, is_active=not active)
        changed.update(is_active=active, active_changed_at=Now())
        if not active:
            sessions.end_all(user, by=by)
            user.tokens.filter(revoked_at=None).update(revoked_at=Now())
            Invitation.objects.filter(by=user, used_at=None, revoked_at=None).update(revoked_at=Now())
    security_log.write("account_activated" if active else "account_deactivated", account=user, by=by)


@atomic_again
def end_all_access() -> None:
    """End the tokens, open invitations, sessions and reset links of everybody.

    The accounts come first: a request that is making one of these has locked its account, and is waited for;
    `sessions.lock_active` rejects those that follow.
    """
    User.objects.update(active_changed_at=Now())  # ends reset links, and sessions in copies of the table
    n_tokens = ApiToken.objects.filter(revoked_at=None).update(revoked_at=Now())
    open_ones = Invitation.objects.filter(used_at=None, revoked_at=None)
    n_invitations = open_ones.update(revoked_at=Now())
    n_sessions, _ = Session.objects.all().delete()
    security_log.write("access_ended", revoked=n_tokens, invitations=n_invitations, sessions=n_sessions)


# ---- name and e-mail address ----------------------------------------------------------------------
@transaction.atomic
def set_person(user: User, *, email: str, **names: str) -> bool:
    """Change the names and the e-mail address of an account; return True for another address."""
    sessions.lock_active(user)
    User.objects.filter(pk=user.pk).update(email=email, **names)
    if email == user.email:
        return False
    record_new_email(user, by=user)
    return True


def record_new_email(user: User, *, by: User) -> None:
    """Record when an e-mail address was changed, and log it: after a restore the former one counts again."""
    User.objects.filter(pk=user.pk).update(email_set_at=timezone.now())
    security_log.write("email_changed", account=user, by=by)


# ---- other ways in ----------------------------------------------------------------------------
def password_changed(sessions_ended: str, user: User) -> str:
    """Return the message for a new password, with what opens the account beside it."""
    n_tokens = user.tokens.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None).count()
    n_identities = user.identities.count()
    counts = [counted(n_tokens, "token")] * bool(n_tokens)
    counts += [counted(n_identities, "identity", "identities")] * bool(n_identities)
    message = f"Password changed. {sessions_ended}"
    if not counts:
        return message
    rest = f"{message} {' and '.join(counts)} {'stays' if n_tokens + n_identities == 1 else 'stay'} valid:"
    place = f"{reverse('account')}#{'tokens' if n_tokens else 'sso'}"
    return format_html('{} <a href="{}">end what is not yours</a>.', rest, place)


# ---- single sign-on -----------------------------------------------------------------------------
def may_disconnect(user: User, identity: Identity) -> bool:
    """Keep the first identity of a user without a password.

    Somebody else, in a session left open, could connect their own one instead.
    """
    return user.has_usable_password() or user.identities.filter(pk__lt=identity.pk).exists()


def disconnect(identity: Identity) -> None:
    """Delete an identity, unless it is the first one of a user without a password."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=identity.user_id)
        if not may_disconnect(user, identity):
            raise Conflict(
                "last_way_in",
                "This identity stays connected: it is the first one of your account, which has no password.",
                hint="Ask an administrator to set a password for you first.",
            )
        Identity.objects.filter(pk=identity.pk).delete()
        security_log.write("identity_disconnected", account=user)


# ---- invitations to an account ------------------------------------------------------------------
class Installation:
    """This installation, the only object that account invitations lead to."""

    pk = 0

    def __str__(self) -> str:
        return "evalsvc"

    def admit(self, user: User, role: str, by: User) -> None:
        require_administrator(by)
        if role == ORGANISER:
            set_organiser(user, may=True, by=by)


INVITATION_TARGET = InvitationTarget(
    name="account",
    noun="account",
    roles=((PERSON, "person"), (ORGANISER, "organiser")),
    find=lambda pk: Installation(),
    require_inviter=_require_inviter,
    role_of=lambda installation, user: ORGANISER if user.may_organise else None,
    admit=Installation.admit,
    url=lambda installation: "/",
    members_url=lambda installation: reverse("people"),
)
