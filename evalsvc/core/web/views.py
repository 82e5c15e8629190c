"""Decorators and helpers for page views."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_required
from django.forms import BaseForm
from django.http import HttpResponseBase
from django.views.decorators.http import require_http_methods

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.forms import add_form_error

Result = TypeVar("Result")
View = Callable[..., HttpResponseBase]


def page(*methods: str) -> Callable[[View], View]:
    """Require a login and one of the methods; GET when none is named."""

    def decorate(view: View) -> View:
        return login_required(require_http_methods([*(methods or ("GET",)), "HEAD"])(view))

    return decorate


def attempt(form: BaseForm, action: Callable[[], Result], *fields: str) -> Result | None:
    """Run an action; on a domain error add its message to the form and return None."""
    try:
        return action()
    except DomainError as error:
        add_form_error(form, error, *fields)
        return None


def row_id(value: str) -> int:
    """Return a primary key from a request; 0, which no row has, for anything but digits."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else 0
