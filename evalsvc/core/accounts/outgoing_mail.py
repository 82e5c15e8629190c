"""Mail: availability, what owners of accounts are told, and sending that no response waits for."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
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

log = logging.getLogger(__name__)
CONSOLE_BACKEND = "django.core.mail.backends.console.EmailBackend"
PACED_AT_ONCE = 8
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


def send_later(send: Callable[[], object], *, seconds: float = 0) -> None:
    """Send beside the request; with `seconds` in a queue where each mail takes as long at least, sent or not.

    Neither the time of the response nor that of a later mail must tell who has an account.
    """
    if settings.MAIL_IN_REQUEST:
        send()
    else:
        (_paced_sender if seconds else _sender)().submit(_send, send, seconds).add_done_callback(_log_failure)


@cache
def _sender() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


@cache
def _paced_sender() -> ThreadPoolExecutor:
    """Return threads that mostly wait: requests of strangers delay no other mail, and hardly each other."""
    return ThreadPoolExecutor(max_workers=PACED_AT_ONCE, thread_name_prefix="paced mail")


def _send(send: Callable[[], object], seconds: float) -> None:
    began = time.monotonic()
    close_old_connections()
    try:
        send()
    finally:
        close_old_connections()
        time.sleep(max(0.0, began + seconds - time.monotonic()))


def _log_failure(sending: Future[None]) -> None:
    error = sending.exception()
    if error:
        log.error("A mail was not sent: %s", error)
