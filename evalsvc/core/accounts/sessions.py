"""Lifetimes of sessions, and a log line for each rejected request."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponseBase

from evalsvc.core.accounts import security_log
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import NotAllowed

# What a sign-on is for; its page begins and ends it. Notes of earlier builds have no time, and other names.
CONNECTING, INVITATION = "sign-on connects", "sign-on joins"

BEGAN, SEEN = "began", "seen"


def connect() -> None:
    """Note the beginning of each session."""
    user_logged_in.connect(_begin, dispatch_uid="session")


def _begin(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    request.session[BEGAN] = request.session[SEEN] = int(time.time())
    request.session.set_expiry(None)  # a sign-on begins in a short one


def lock_active(user: User) -> None:
    """Lock an account; reject a request from before it was deactivated, or its access ended."""
    locked = User.objects.select_for_update(no_key=True).filter(pk=user.pk, is_active=True).first()
    if locked is None or locked.active_changed_at != user.active_changed_at:
        raise NotAllowed("not_known", "You are not logged in.", hint="Log in first.")


def end_all(user: User, *, by: User, keep: str | None = None) -> int:
    """Delete the sessions of a user, but one; return their number.

    A deactivated account's would come back to life with it.
    """
    current = Session.objects.filter(expire_date__gt=Now()).exclude(session_key=keep)
    own = [row.pk for row in current.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=own).delete()
    security_log.write("sessions_ended", account=user, by=by, number=len(own))
    return len(own)


class SessionLifetimeMiddleware:
    """End sessions after SESSION_LIFETIME; keep those in use from ending as idle.

    Django ends a session SESSION_COOKIE_AGE after it was last stored: a twelfth of it is how exactly
    idle time is measured, so that few requests store one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        session, now = request.session, int(time.time())
        if SESSION_KEY in session:
            if now - session.get(BEGAN, now) >= settings.SESSION_LIFETIME:
                account = User.objects.filter(pk=session[SESSION_KEY]).first()
                security_log.write("session_ended", request=request, account=account)
                session.flush()
            elif now - session.get(SEEN, 0) >= settings.SESSION_COOKIE_AGE // 12:
                session.setdefault(BEGAN, now)  # of a session from before there were lifetimes
                session[SEEN] = now
        return self.get_response(request)


class RejectionLogMiddleware:
    """Log what somebody was not allowed to do; the first of all, so that no answer passes it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code in (401, 403, 429):
            user = getattr(request, "user", None)
            account = user if isinstance(user, User) else "none"
            security_log.write(
                "request_rejected", request=request, warn=True, account=account, status=response.status_code,
                method=request.method, path=request.path,
            )  # fmt: skip
        return response
