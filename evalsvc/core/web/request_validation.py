"""Validated requests, represented responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import islice
from types import MethodType
from typing import Any

from django.core.exceptions import ValidationError as FormError
from django.forms import BaseForm
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.unknown_names import MAX_NAMED, unknown_names

MAX_ENTRIES = 10_000


def whole_number(request: Request, name: str, *, least: int = 1, most: int) -> int | None:
    """Return a number of the query, None without one, or answer 400."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    number = whole_number_of(text)
    if number is None or not least <= number <= most:
        raise ValidationError({name: f"{text[:20]!r} is not a whole number from {least} to {most:,}."})
    return number


def query_day(request: Request, name: str) -> date | None:
    """Return a date of the query, None without one, or answer 400."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise ValidationError({name: f"{text[:20]!r} is not a date, such as 2031-12-01."})
    return day


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
    instance = serializer(partial=partial)
    _bound(instance)
    return instance


def _bound(field: Any) -> None:
    """Bound the lists of a request before their entries are read, and the wrong entries that are named."""
    if isinstance(field, serializers.ListSerializer):
        field.max_length = getattr(field, "max_length", None) or MAX_ENTRIES  # type: ignore[attr-defined]
    elif isinstance(field, serializers.ListField | serializers.DictField):
        field.run_child_validation = MethodType(_first_errors, field)  # type: ignore[method-assign]
    for inner in (getattr(field, "child", None), *getattr(field, "fields", {}).values()):
        if inner is not None:
            _bound(inner)


def _first_errors(field: Any, data: Any) -> Any:
    """Validate the entries of a list or mapping up to the twentieth that is wrong: each is in the reply."""
    most = getattr(field, "max_length", None) or MAX_ENTRIES
    if len(data) > most:
        raise ValidationError([ErrorDetail(f"at most {most:,} entries", "max_length")])
    named = data.items() if isinstance(data, Mapping) else enumerate(data)
    values: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for name, value in named:
        try:
            values[str(name)] = field.child.run_validation(value)
        except ValidationError as error:
            errors[str(name)] = error.detail
            if len(errors) == MAX_NAMED:
                break
    if errors:
        raise ValidationError(errors)
    return values if isinstance(data, Mapping) else list(values.values())


def represented(serializer: Callable[..., Any], instance: Any, status: int = 200) -> Response:
    """Return a response made by a reused serializer."""
    return Response(_reused(serializer).to_representation(instance), status=status)


def validated(request: Request, serializer: Callable[..., Any], *, partial: bool = False) -> dict[str, Any]:
    """Return the validated request body, or answer 400 with every error."""
    instance = _reused(serializer, partial)
    unknown = dict(islice(_unknown_fields(instance, request.data), MAX_NAMED))
    try:
        values = dict(instance.run_validation(request.data))
    except ValidationError as error:
        if not isinstance(error.detail, dict):
            raise
        expected = {name: _expected(instance.fields.get(name), e) for name, e in error.detail.items()}
        raise ValidationError(expected | unknown) from error
    if unknown:
        raise ValidationError(unknown)
    return values


def _unknown_fields(serializer: Any, data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and error of each field unknown to the serializer."""
    if not isinstance(data, Mapping):
        return
    known = {name for name, field in serializer.fields.items() if not field.read_only}
    for name, error in unknown_names(map(str, data), known, "field").items():
        yield f"{path}{name}", error
    for name in known:
        field, value = serializer.fields[name], data.get(name)
        if isinstance(field, serializers.Serializer):
            yield from _unknown_fields(field, value, f"{path}{name}.")
        elif isinstance(field, serializers.ListSerializer) and isinstance(value, list):
            for number, each in enumerate(value[:MAX_ENTRIES]):
                yield from _unknown_fields(field.child, each, f"{path}{name}.{number}.")


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
