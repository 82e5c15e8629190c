"""Secrets that are shown once: a cookie takes them from the form to the page after it; none stays here.

A page that answered the form itself would make another secret when it is loaded again.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

COOKIE, SALT, SECONDS = "shown_once", "shown once", 120


def lead_to(address: str, secret: str) -> HttpResponse:
    """To the page that shows it, with the secret for that page alone."""
    response = HttpResponseRedirect(address)
    response.set_signed_cookie(
        COOKIE,
        secret,
        salt=SALT,
        max_age=SECONDS,
        path=address,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def brought(request: HttpRequest) -> str:
    """The secret, or nothing when it was shown before."""
    return request.get_signed_cookie(COOKIE, default="", salt=SALT, max_age=SECONDS) or ""


def forget(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Shown: the next look at this page finds nothing."""
    response.delete_cookie(COOKIE, path=request.path, samesite="Strict")
    return response
