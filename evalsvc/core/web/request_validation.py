"""Validation of JSON bodies and of forms without a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError as FormError
from django.forms import BaseForm
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request


@cache
def _serializer(serializer: Callable[..., Any], partial: bool) -> Any:
    """Build a serializer once: its fields cost more than validating a body."""
    return serializer(partial=partial)


def validated(request: Request, serializer: Callable[..., Any], *, partial: bool = False) -> dict[str, Any]:
    """Return the validated request body, or answer 400 with every error."""
    instance = _serializer(serializer, partial)
    try:
        return dict(instance.run_validation(request.data))
    except ValidationError as error:
        if not isinstance(error.detail, dict):
            raise
        expected = {name: _expected(instance.fields.get(name), e) for name, e in error.detail.items()}
        raise ValidationError(expected) from error


def _expected(field: Any, errors: Any) -> Any:
    """Add the choices or the limit to the framework's error."""
    code = getattr(errors[0], "code", "") if isinstance(errors, list) and errors else ""
    if code == "invalid_choice" and getattr(field, "choices", None):
        return [ErrorDetail(f"one of: {', '.join(map(str, field.choices))}", code)]
    limit = getattr(field, code, None) if code in ("min_value", "max_value") else None
    bound = "at least" if code == "min_value" else "at most"
    return errors if limit is None else [ErrorDetail(f"{bound} {limit:,}", code)]


def validated_form(form: BaseForm) -> dict[str, Any]:
    """Return the data of a form that isn't shown again, or answer 400."""
    if not form.is_valid():
        raise FormError(form.errors)
    return form.cleaned_data
