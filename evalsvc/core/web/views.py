"""Decorators and helpers for page views."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.core.paginator import Page, Paginator
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.forms import add_form_error
from evalsvc.core.web.unknown_names import PostedNames

Result = TypeVar("Result")
View = Callable[..., HttpResponseBase]


def takes(names: Collection[str] | None = None, **buttons: Collection[str]) -> Callable[[View], View]:
    """Name the fields a view takes by POST; the default is none.

    Without `names` its forms check them. A button is named by its value, or by its name if it has values.
    """

    def decorate(view: View) -> View:
        known = PostedNames(names, {button.replace("_", "-"): fields for button, fields in buttons.items()})
        view.posted_names = known  # type: ignore[attr-defined]
        return view

    return decorate


def page(
    *methods: str, names: Collection[str] | None = None, **buttons: Collection[str]
) -> Callable[[View], View]:
    """Require a login and a method (default GET); forms name their fields."""

    def decorate(view: View) -> View:
        allowed = require_http_methods([*(methods or ("GET",)), "HEAD"])(view)
        return takes(names, **buttons)(login_required(allowed))

    return decorate


def attempt(form: BaseForm, action: Callable[[], Result], *fields: str) -> Result | None:
    """Run an action; on a domain error add it to the form."""
    try:
        return action()
    except DomainError as error:
        add_form_error(form, error, *fields)
        return None


def submitted(request: HttpRequest, action: str) -> tuple[Any, Any]:
    """Return data and files of one form of a page, if submitted."""
    return (request.POST, request.FILES) if request.POST.get("action") == action else (None, None)


def submit(request: HttpRequest, form: BaseForm, apply: Callable[[], str], *fields: str) -> bool:
    """Apply a valid form and show the message, or add the error."""
    message = attempt(form, apply, *fields) if form.is_valid() else None
    if message:
        messages.info(request, message)
    return message is not None


def show_effect(request: HttpRequest, effect: object) -> None:
    """Show what a change would do."""
    messages.info(request, f"{effect} Nothing has changed yet.")


def page_of(request: HttpRequest, rows: Any, *, size: int, count: int | None = None) -> Page[Any]:
    """Return the requested page of rows, or answer with 404.

    `count` is their number if something cheaper than the rows tells it.
    """
    text, pages = request.GET.get("page") or "1", Paginator(rows, size)
    if count is not None:
        pages.count = count
    number = whole_number_of(text) or 0
    if not 1 <= number <= pages.num_pages:
        raise Http404(f"There is no page {text[:20]!r}. The last one is {pages.num_pages}.")
    return pages.page(number)


def row_id(value: str) -> int:
    """Parse a primary key; 0, which no row has, for anything else."""
    return whole_number_of(value, digits=18) or 0


# ---- secrets that are shown once ----------------------------------------------------------------
# A page that answered the form itself would create another secret when it is reloaded.
COOKIE, SALT, SECONDS = f"{settings.COOKIE_PREFIX}shown_once", "shown once", 120


class MessageCookie(CookieStorage):
    cookie_name = f"{settings.COOKIE_PREFIX}messages"


class MessageStorage(FallbackStorage):
    """Django's storage of messages, with the prefix of this service's cookies."""

    storage_classes = (MessageCookie, SessionStorage)


def redirect_with_secret(url: str, secret: str) -> HttpResponse:
    """Redirect to a page, with a cookie that only this page accepts."""
    response = HttpResponseRedirect(url)
    response.set_signed_cookie(
        COOKIE,
        secret,
        salt=SALT + url,
        max_age=SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def secret_of(request: HttpRequest) -> str:
    """Return the secret, or an empty text when it was already shown."""
    return request.get_signed_cookie(COOKIE, default="", salt=SALT + request.path, max_age=SECONDS) or ""


def forget_secret(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Delete the cookie with the response that shows the secret."""
    response.delete_cookie(COOKIE, samesite="Strict")
    return response
