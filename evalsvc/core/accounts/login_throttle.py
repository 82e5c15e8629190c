"""Limits on password attempts, sign-ons, mails and checks of files, per person, name and network.

An attempt is recorded before the password is checked, so that parallel attempts count like successive ones.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

from django.conf import settings
from django.db.models import Min, Q
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from evalsvc.core.accounts.models import PasswordTry, User
from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.core.web import places
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.networks import network

WINDOW = timedelta(minutes=15)
MAIL_WINDOW = 4 * WINDOW
CHECKS_PER_NETWORK, CHECKS_OF_ALL = 20, 200
MAILS_PER_ADDRESS, MAILS_PER_NETWORK = 3, 30
FIRST_WITH_ADDRESS, MAILS_TO_LATER = 3, 30
SIGN_UPS_PER_NETWORK = 100
SIGN_ONS_PER_NETWORK = 300


class TooManyAttempts(QuotaExceeded):
    """Attempt beyond a limit; no password was hashed."""

    title = "Too many attempts"


def network_of(request: HttpRequest | Request) -> str:
    """Return the client's IPv4 address, or its IPv6 /64 prefix."""
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    proxies = settings.TRUSTED_PROXIES
    return network(hops[-proxies] if 0 < proxies <= len(hops) else request.META.get("REMOTE_ADDR", ""))


def keyed(text: str) -> str:
    """Return a keyed digest, as people type passwords into the wrong field."""
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), "sha256").hexdigest()


def _name(username: str) -> str:
    """Return the key of a user name as it is looked up: in another case it is another name."""
    return keyed(f"name {username}")


def of_name(request: HttpRequest, username: str) -> dict[str, str]:
    """Return the keys of log-ins by a user name."""
    return {"name": _name(username), "network": keyed(f"network {network_of(request)}")}


def of_session(request: HttpRequest) -> dict[str, str]:
    """Return the keys of questions for the password of somebody who is logged in; no network is limited.

    Nobody locks them in the session of somebody else: neither by log-ins nor in another session.
    """
    return {"name": keyed(f"question {request.session.session_key}"), "network": ""}


def place(request: HttpRequest) -> AbstractContextManager[None]:
    """Hash passwords of a request, one of each network at a time."""
    return places.passwords.taken(network_of(request))


@contextmanager
def attempt(request: HttpRequest, keys: dict[str, str]) -> Iterator[None]:
    """Record a password attempt before it is made, or raise beyond a limit.

    One that finds no place among those who hash is not made, and does not count.
    """
    with place(request):
        _record_attempt(keys)
        yield


def _record_attempt(keys: dict[str, str]) -> None:
    limit, name, network = settings.PASSWORD_TRIES, Q(name=keys["name"]), Q(network=keys["network"])
    of_networks = [(limit * 5, name), (limit * 10, network)] if keys["network"] else []
    wait = _record(keys, WINDOW, (limit, name & network), *of_networks)
    if wait:
        raise TooManyAttempts(
            "too_many_tries",
            f"Too many password attempts. You can try again in {_minutes(wait)}.",
            retry_after=wait,
            hint="If you forgot your password, request a new one. You can do that now.",
        )


def record_mail(
    request: HttpRequest, to: str, *, username: str = "", kind: str = "mail", is_sent: bool = True
) -> None:
    """Record a requested mail, or raise beyond a limit.

    Each kind has limits of its own, and so has each user name that is given with an address:
    invitations, and resets for other accounts, keep nobody from resetting a password. Unknown
    addresses count too, so that the response doesn't reveal which addresses have an account.
    One that is not sent counts for its network alone.
    """
    keys = {
        "name": keyed(f"{kind} {to.strip().casefold()}\n{username}") if is_sent else "",
        "network": keyed(f"{kind}s from {network_of(request)}"),
    }
    address, network = Q(name=keys["name"]), Q(network=keys["network"])
    of_address = [(MAILS_PER_ADDRESS, address)] if is_sent else []
    wait = _record(keys, MAIL_WINDOW, *of_address, (MAILS_PER_NETWORK, network))
    if wait:
        raise TooManyAttempts(
            "too_many_mails",
            f"Too many e-mails were requested. You can request another in {_minutes(wait)}.",
            retry_after=wait,
            hint="Check your spam folder. The last link is valid for a day.",
        )


def record_notice(user: User, change: str) -> bool:
    """Record a mail to the owner of an account; return False beyond the limit.

    It has no limit of the network: whoever changes own accounts from there silences no mail to others.
    """
    name = keyed(f"notice to {user.pk}: {change}")
    return _record_to(user, name, (MAILS_PER_ADDRESS, Q(name=name)))


def record_reset(user: User) -> bool:
    """Record a mail with the link of a reset, after the response; return False beyond the limit."""
    return _record_to(user, keyed(f"reset of {user.pk}"))


def _record_to(user: User, name: str, *limits: tuple[int, Q]) -> bool:
    """Record a mail to an account, with a limit of the address that the first to give it don't share.

    Anybody can give accounts the address of somebody else: later ones neither silence mails to the owner nor
    drown them.
    """
    address = "" if _is_first_with_address(user) else keyed(f"mails to {user.email.casefold()}")
    shared = [(MAILS_TO_LATER, Q(network=address))] if address else []
    return not _record({"name": name, "network": address}, MAIL_WINDOW, *limits, *shared)


def _is_first_with_address(user: User) -> bool:
    """Return whether few others that get mails gave the address of an account before it did."""
    others = User.objects.filter(email__iexact=user.email, is_active=True).exclude(pk=user.pk)
    before = others.annotate(since=Coalesce("email_set_at", "date_joined")).filter(since__lt=user.email_since)
    return before[:FIRST_WITH_ADDRESS].count() < FIRST_WITH_ADDRESS


def record_sign_up(request: HttpRequest) -> None:
    """Record an account that is made, or raise beyond a limit."""
    keys = {"name": keyed("sign-ups"), "network": keyed(f"sign-ups from {network_of(request)}")}
    wait = _record(keys, MAIL_WINDOW, (SIGN_UPS_PER_NETWORK, Q(network=keys["network"])))
    if wait:
        raise TooManyAttempts(
            "too_many_sign_ups",
            f"Too many accounts were created from your network. You can create one in {_minutes(wait)}.",
            retry_after=wait,
        )


def record_sign_on(request: HttpRequest) -> None:
    """Record the start of a single sign-on, or raise beyond a limit."""
    keys = {"name": keyed("sign-ons"), "network": keyed(f"sign-ons from {network_of(request)}")}
    wait = _record(keys, WINDOW, (SIGN_ONS_PER_NETWORK, Q(network=keys["network"])))
    if wait:
        raise TooManyAttempts(
            "too_many_sign_ons",
            f"Too many people of your network are signing on. You can sign on in {_minutes(wait)}.",
            retry_after=wait,
        )


@contextmanager
def check(request: HttpRequest | Request) -> Iterator[None]:
    """Check files that are not submitted, within the limits of a person, or of all without a login.

    Of each person one check runs at a time, and one of all without a login.
    """
    with places.files.taken(request.user.pk or "no login"):
        if request.user.is_authenticated:
            _record_check_by(request.user.pk)
        else:
            _record_check_without_login(request)
        yield


def _record_check_by(person: int) -> None:
    keys = {"name": keyed(f"checks by {person}"), "network": ""}
    wait = _record(keys, MAIL_WINDOW, (settings.CHECKS_PER_HOUR, Q(name=keys["name"])))
    if wait:
        raise QuotaExceeded(
            "too_many_checks",
            f"You checked {settings.CHECKS_PER_HOUR:,} files. You can check again in {_minutes(wait)}.",
            retry_after=wait,
            hint="Check with a command on your own computer.",
        )


def _record_check_without_login(request: HttpRequest | Request) -> None:
    keys = {
        "name": keyed("checks without a login"),
        "network": keyed(f"checks from {network_of(request)}"),
    }
    of_all, of_network = Q(name=keys["name"]), Q(network=keys["network"])
    wait = _record(keys, MAIL_WINDOW, (CHECKS_PER_NETWORK, of_network), (CHECKS_OF_ALL, of_all))
    if wait:
        raise QuotaExceeded(
            "too_many_checks",
            f"Too many files were checked without a login. You can check again in {_minutes(wait)}.",
            retry_after=wait,
            hint="Log in, or use manage.py verify_release.",
        )


def _record(keys: dict[str, str], window: timedelta, *limits: tuple[int, Q]) -> int:
    """Record an attempt within the limits, or return the seconds to wait."""
    PasswordTry.objects.filter(at__lt=Now() - MAIL_WINDOW).delete()
    row = PasswordTry.objects.create(**keys)
    for limit, matching in limits:
        recent = PasswordTry.objects.filter(matching, at__gt=Now() - window)
        if recent.count() > limit:
            row.delete()
            first = recent.aggregate(first=Min("at"))["first"]
            left = (first + window - timezone.now()).total_seconds() if first else 0
            return max(1, int(left) + 1)
    return 0


def _minutes(seconds: int) -> str:
    return counted(-(-seconds // 60), "minute")


def clear(keys: dict[str, str]) -> None:
    """Delete the attempts of a name or session from this network, once the password was right."""
    PasswordTry.objects.filter(**keys).delete()


def clear_name(username: str) -> None:
    """Delete a user's attempts from all networks, once a mailed link has set a password."""
    PasswordTry.objects.filter(name=_name(username)).delete()
