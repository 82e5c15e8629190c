"""How many passwords may be tried: per person and network, per person, per network.

And how many mails may be asked for. A try is written down before the password is looked at, so that many at
once get no more than one by one.
"""

from __future__ import annotations

import hmac
import ipaddress
from datetime import timedelta

from django.conf import settings
from django.db.models import Min, Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone

from evalsvc.core.accounts.models import PasswordTry
from evalsvc.core.errors.exceptions import QuotaExceeded

WINDOW = timedelta(minutes=15)
KEPT = 4 * WINDOW
MAILS_TO_ONE, MAILS_FROM_ONE = 3, 30  # in an hour: to one address, asked for from one network


class TooManyTries(QuotaExceeded):
    """Nothing was looked at; `retry_after` says when the next try is."""

    title = "Too many tries"


def network_of(request: HttpRequest) -> str:
    """Where a request comes from: the address, or the /64 of an IPv6 one, which is one customer's."""
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    behind = settings.TRUSTED_PROXIES
    told = hops[-behind] if 0 < behind <= len(hops) else request.META.get("REMOTE_ADDR", "")
    try:
        address = ipaddress.ip_address(told)
    except ValueError:
        return "unknown"
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def keyed(text: str) -> str:
    """What is kept instead of a name or an address: people type passwords into the wrong field."""
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), "sha256").hexdigest()


def note_try(request: HttpRequest, username: str) -> int:
    """Write a try down; raise when there were too many. Returns the row, to be forgotten on success."""
    name, network = keyed(f"name {username.casefold()}"), keyed(f"network {network_of(request)}")
    row = _written(name, network)
    for limit, of in (
        (settings.PASSWORD_TRIES, Q(name=name, network=network)),
        (settings.PASSWORD_TRIES * 5, Q(name=name)),
        (settings.PASSWORD_TRIES * 10, Q(network=network)),
    ):
        wait = _wait(limit, of, row, WINDOW)
        if wait:
            raise TooManyTries(
                "too_many_tries",
                f"Too many passwords were tried. The next try is possible in {_told(wait)}.",
                retry_after=wait,
                hint="If you forgot the password, ask for a link to set a new one: that works meanwhile.",
            )
    return row.pk


def note_mail(request: HttpRequest, to: str) -> None:
    """Write down that a mail to this address was asked for; raise when there were too many.

    Whether anybody has the address makes no difference, so that the answer says nothing about it.
    """
    address, network = keyed(f"mail {to.strip().casefold()}"), keyed(f"mails from {network_of(request)}")
    row = _written(address, network)
    for limit, of in ((MAILS_TO_ONE, Q(name=address)), (MAILS_FROM_ONE, Q(network=network))):
        wait = _wait(limit, of, row, KEPT)
        if wait:
            raise TooManyTries(
                "too_many_mails",
                f"Too many mails were asked for. The next one is possible in {_told(wait)}.",
                retry_after=wait,
                hint="Look among the unwanted mail: the last link is good for a day.",
            )


def _written(name: str, network: str) -> PasswordTry:
    PasswordTry.objects.filter(at__lt=Now() - KEPT).delete()
    return PasswordTry.objects.create(name=name, network=network)


def _wait(limit: int, of: Q, row: PasswordTry, window: timedelta) -> int:
    """Seconds to wait when this is beyond the limit; it is unwritten then: asking lengthens no wait."""
    recent = PasswordTry.objects.filter(of, at__gt=Now() - window)
    if recent.count() <= limit:
        return 0
    PasswordTry.objects.filter(pk=row.pk).delete()
    first = recent.aggregate(first=Min("at"))["first"]
    left = (first + window - timezone.now()).total_seconds() if first else 0
    return max(1, int(left) + 1)


def _told(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def forget(request: HttpRequest, username: str) -> None:
    """The right password was given from here: what was tried before no longer counts."""
    name, network = keyed(f"name {username.casefold()}"), keyed(f"network {network_of(request)}")
    PasswordTry.objects.filter(name=name, network=network).delete()
