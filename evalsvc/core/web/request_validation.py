"""Pagination of API lists; validated requests, represented responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError as FormError
from django.db import DataError
from django.forms import BaseForm
from rest_framework.exceptions import ErrorDetail, NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response


class Pages(CursorPagination):
    """Page with the URLs of its neighbours; null where there is none."""

    page_size = 50
    page_size_query_param = "page_size"
    page_size_query_description = "Results per page, up to 200; 50 by default."
    max_page_size = 200
    cursor_query_description = "Position of the page, from the `next` or `previous` URL."
    invalid_cursor_message = "Invalid cursor. Use the `next` or `previous` URL."

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Answer 404 for a made-up position, which may fail as late as in the database."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, DataError, FormError) as error:
            if not request.query_params.get(self.cursor_query_param):
                raise
            raise NotFound(self.invalid_cursor_message) from error

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}


def query_choices(request: Request, **allowed: Sequence[str]) -> dict[str, str]:
    """Return the query parameters that are set, or answer 400."""
    values = {name: request.query_params.get(name, "") for name in allowed}
    for name, value in values.items():
        if value and value not in allowed[name]:
            raise ValidationError({name: f"{value!r} is not one of: {', '.join(allowed[name])}."})
    return {name: value for name, value in values.items() if value}


@cache
def _reused(serializer: Callable[..., Any], partial: bool = False) -> Any:
    """Build a serializer once: its fields cost more than its work."""
    return serializer(partial=partial)


def represented(serializer: Callable[..., Any], instance: Any, status: int = 200) -> Response:
    """Return a response made by a reused serializer."""
    return Response(_reused(serializer).to_representation(instance), status=status)


def validated(request: Request, serializer: Callable[..., Any], *, partial: bool = False) -> dict[str, Any]:
    """Return the validated request body, or answer 400 with every error."""
    instance = _reused(serializer, partial)
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
    """Return the data of a form without a page, or answer 400."""
    if not form.is_valid():
        raise FormError(form.errors)
    return form.cleaned_data
