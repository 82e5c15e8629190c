"""Mail: availability, what owners of accounts are told, and sending that no response waits for."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from secrets import SystemRandom
from threading import Lock
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import send_mail
from django.db import close_old_connections, transaction
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.template.loader import render_to_string

from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import QuotaExceeded
from evalsvc.core.web.networks import assigned_to_one

log = logging.getLogger(__name__)
CONSOLE_BACKEND = "django.core.mail.backends.console.EmailBackend"
PACED_AT_ONCE, PACED_SECONDS = 8, 2.0  # longer than sending a mail usually takes
MOST_WAITING, SHARE_OF_FREE = 1_000, 10  # of each network a tenth of what is free
RETRY_SECONDS = 60
random = SystemRandom()
PLAIN_NAME = re.compile(r"[\w-]{1,40}")


def sends_mail() -> bool:
    """Return False for the default backend, which only writes to the log."""
    return bool(settings.EMAIL_BACKEND != CONSOLE_BACKEND)


def plain_name(user: User) -> str:
    """Return a name that can be neither a message nor a link, or none."""
    return user.username if PLAIN_NAME.fullmatch(user.username) else ""


def origin_of_links(request: HttpRequest) -> tuple[str, str]:
    """Return scheme and host for links in mails: those of the first trusted origin, if there is one.

    Anybody can request a mail under any allowed name, and with any port.
    """
    origins = map(urlsplit, settings.CSRF_TRUSTED_ORIGINS)
    trusted = next((origin for origin in origins if "*" not in origin.netloc), None)
    if trusted:
        return trusted.scheme, trusted.netloc
    name, port = split_domain_port(request.get_host())
    return request.scheme or "http", name if request.is_secure() or not port else f"{name}:{port}"


def tell_owner(
    request: HttpRequest, user: User, change: Literal["identity", "address", "password", "token"]
) -> None:
    """Mail the owner what opens an account from now on, to the address that it has had so far."""
    if not (user.email and sends_mail() and login_throttle.record_notice(user, change)):
        return  # the first mails are enough
    scheme, host = origin_of_links(request)
    context = {
        "change": change,
        "name": plain_name(user),
        "provider": settings.OIDC_TITLE,
        "host": host,
        "origin": f"{scheme}://{host}",
    }
    subject = render_to_string("accounts/change_subject.txt", context).strip()
    text, to = render_to_string("accounts/change_mail.txt", context), [user.email]
    send = partial(send_mail, subject, text, None, to)
    transaction.on_commit(partial(send_later, send))


def send_later(send: Callable[[], object]) -> None:
    """Send beside the request."""
    if settings.MAIL_IN_REQUEST:
        send()
    else:
        _sender().submit(_send, send).add_done_callback(_log_failure)


@cache
def _sender() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


class PacedMails:
    """Mails that strangers ask for: networks take turns, and each mail takes as long, sent or not.

    Neither the time of the response, nor that of a later mail or request, must tell who has an account: a
    mail begins at a random moment. Its threads mostly wait, and delay no other mail.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.waiting: dict[str, deque[Callable[[], object]]] = {}  # in the order of turns
        self.threads = ThreadPoolExecutor(max_workers=PACED_AT_ONCE, thread_name_prefix="paced mail")

    def has_room(self, network: str) -> bool:
        """Return whether less of the network wait than its share: the fuller the queue, the smaller it is.

        One mail always has room, else requests of many networks keep everybody from a mail.
        """
        with self.lock:
            free = MOST_WAITING - sum(map(len, self.waiting.values()))
            waiting = len(self.waiting.get(assigned_to_one(network), ()))
        return waiting < max(1, free // SHARE_OF_FREE)

    def put(self, network: str, send: Callable[[], object]) -> None:
        if settings.MAIL_IN_REQUEST:
            send()
            return
        with self.lock:
            self.waiting.setdefault(assigned_to_one(network), deque()).append(send)
        self.threads.submit(self._send_next).add_done_callback(_log_failure)

    def _next(self) -> Callable[[], object]:
        """Return the oldest mail of the network whose turn it is; its others wait for all other networks."""
        with self.lock:
            network = next(iter(self.waiting))
            mails = self.waiting.pop(network)
            send = mails.popleft()
            if mails:
                self.waiting[network] = mails
        return send

    def _send_next(self) -> None:
        send = self._next()
        time.sleep(random.uniform(0, PACED_SECONDS))
        began = time.monotonic()
        try:
            _send(send)
        finally:
            time.sleep(max(0.0, began + PACED_SECONDS - time.monotonic()))


paced = cache(PacedMails)


def no_room() -> QuotaExceeded:
    return QuotaExceeded(
        "too_many_mails",
        "Too many e-mails were requested. Yours was not.",
        retry_after=RETRY_SECONDS,
        hint=f"Try again in {RETRY_SECONDS} s.",
    )


def _send(send: Callable[[], object]) -> None:
    close_old_connections()
    try:
        send()
    finally:
        close_old_connections()


def _log_failure(sending: Future[None]) -> None:
    error = sending.exception()
    if error:
        log.error("A mail was not sent: %s", error)
