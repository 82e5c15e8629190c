"""Security events as lines of the log: who did what from where, without secrets.

Accounts are named by their number and user name, the place by its network, tokens by their number.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.http import HttpRequest

from evalsvc.core.accounts.login_throttle import network_of
from evalsvc.core.accounts.models import User

log = logging.getLogger("evalsvc.security")
PLAIN = re.compile(r"[\w.@+:/-]+")


def write(event: str, *, request: HttpRequest | None = None, warn: bool = False, **fields: Any) -> None:
    """Log an event once its transaction is committed."""
    if request is not None:
        fields["network"] = network_of(request)
    named = (f"{name}={_shown(value)}" for name, value in fields.items() if value is not None)
    line = " ".join((event, *named))
    transaction.on_commit(lambda: log.log(logging.WARNING if warn else logging.INFO, "%s", line))


def _shown(value: Any) -> str:
    """Write a value in one word, or quoted."""
    text = f"{value.pk}:{value.username}" if isinstance(value, User) else str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)


def connect() -> None:
    """Log what the framework tells of log-ins."""
    user_logged_in.connect(_logged_in, dispatch_uid="security log")
    user_logged_out.connect(_logged_out, dispatch_uid="security log")
    user_login_failed.connect(_failed, dispatch_uid="security log")


def _logged_in(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    way = getattr(user, "backend", "").rpartition(".")[2]
    write("logged_in", request=request, account=user, by={"Provider": "single_sign_on"}.get(way, "password"))


def _logged_out(sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        write("logged_out", request=request, account=user)


def _failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
) -> None:
    """Log a failure; an unknown name may be a password in the wrong field."""
    account = User.objects.filter(username=credentials.get("username")).first()
    write("login_failed", request=request, warn=True, account=account or "unknown")
