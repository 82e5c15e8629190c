"""Accounts: who may have one, and what people and administrators change about them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from rest_framework.request import Request

from evalsvc.core.accounts import invitations
from evalsvc.core.accounts.invitation_targets import Place
from evalsvc.core.accounts.models import Identity, User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed

PERSON, ORGANISER = "person", "organiser"


def person(request: HttpRequest | Request) -> User:
    """Return the logged-in user of a request, or answer 403."""
    if not isinstance(request.user, User):
        raise NotAllowed("not_known", "You are not logged in.", hint="Log in first.")
    return request.user


def require_open() -> None:
    """Whether anybody may make an account without being invited."""
    if settings.SIGN_UP != "open":
        raise NotAllowed(
            "sign_up_closed",
            "Accounts are not made here without an invitation.",
            hint="Ask an owner of your team, or whoever runs this place, for a link.",
        )


def require_by_link() -> None:
    if settings.SIGN_UP == "closed":
        raise NotAllowed(
            "sign_up_closed",
            "This place makes no new accounts; an invitation is for people who have one.",
            hint="Log in and open the link again, or ask whoever runs this place for an account.",
        )


@transaction.atomic
def sign_up(*, username: str, email: str, password: str | None, secret: str = "", **names: Any) -> User:
    """Make an account, openly or by an invitation that it uses up."""
    if secret:
        require_by_link()
    else:
        require_open()
    user = User.objects.create_user(username, email=email, password=password, **names)
    if secret:
        invitations.accept(secret, user=user)
        user.refresh_from_db()
    return user


def sign_up_elsewhere(*, secret: str, username: str, email: str, **names: Any) -> tuple[User, str]:
    """Make an account without a password, and say which place its invitation leads to."""
    if not secret and settings.OIDC_OPENS_ACCOUNTS:
        return User.objects.create_user(username, email=email, **names), ""
    place = invitations.opened(secret) if secret else None
    user = sign_up(username=username, email=email, password=None, secret=secret, **names)
    return user, place.address if place else ""


def rename(user: User, *, first_name: str, last_name: str, email: str) -> None:
    User.objects.filter(pk=user.pk).update(first_name=first_name, last_name=last_name, email=email)


# ---- what whoever runs the place does ------------------------------------------------------------
def require_administrator(user: User) -> None:
    if not user.is_superuser:
        raise NotAllowed("not_administrator", "This is for whoever runs this place.")


def everyone(search: str = "") -> QuerySet[User]:
    people = User.objects.annotate(n_teams=Count("memberships")).order_by("username")
    return people.filter(username__icontains=search) if search else people


def set_organiser(user: User, *, may: bool, by: User) -> None:
    """Let a person open projects and boards, or no longer; what they opened stays theirs."""
    require_administrator(by)
    User.objects.filter(pk=user.pk).update(may_organise=may)


def set_active(user: User, *, active: bool, by: User) -> None:
    """Shut an account out, sessions and tokens with it, or let it in again; nothing of it is deleted."""
    require_administrator(by)
    if user == by:
        raise Conflict("own_account", "You would shut yourself out.", hint="Another administrator can.")
    User.objects.filter(pk=user.pk).update(is_active=active)


def may_disconnect(person: User) -> bool:
    """Whether there is another way into the account than one identity."""
    return person.has_usable_password() or person.identities.count() > 1


def disconnect(identity: Identity) -> None:
    """Forget an identity; somebody without a password keeps the last one, or could not come back."""
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=identity.user_id)
        if not may_disconnect(person):
            raise Conflict(
                "last_way_in",
                "You would have no way to log in.",
                hint="Whoever runs this place can give you a password first.",
            )
        Identity.objects.filter(pk=identity.pk).delete()


# ---- an account as a place that people are invited to --------------------------------------------
class Here:
    """This installation, the one place of its kind."""

    pk = 0

    def __str__(self) -> str:
        return "evalsvc"


def _admit(here: Here, user: User, role: str, by: User) -> None:
    require_administrator(by)
    if role == ORGANISER:
        User.objects.filter(pk=user.pk).update(may_organise=True)


PLACE = Place(
    name="account",
    noun="account",
    roles=((PERSON, "person"), (ORGANISER, "organiser")),
    find=lambda pk: Here(),
    require=lambda here, user: require_administrator(user),
    role_of=lambda here, user: ORGANISER if user.may_organise else None,
    admit=_admit,
    address=lambda here: "/",
    staffed_at=lambda here: reverse("people"),
)
