"""Pagination of API lists; validated requests, represented responses.

A name that an endpoint or a page does not know is an error: a mistyped filter or option would otherwise
return something else than the client asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import islice
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from django.core.exceptions import ValidationError as FormError
from django.db import DataError
from django.forms import BaseForm
from django.http import HttpRequest, QueryDict
from drf_spectacular.drainage import GENERATOR_STATS
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.core.formats.problems import did_you_mean
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.text_validation import is_storable

if TYPE_CHECKING:  # rest_framework.views loads the permission by the settings: a cycle
    from rest_framework.views import APIView

MAX_NAMED, MAX_ENTRIES = 20, 10_000
UNKNOWN_BYTES = 10_000  # of a body that is read only to name its fields in an error
WRITES = ("POST", "PUT", "PATCH", "DELETE")
WITH_EVERY_FORM = frozenset({"csrfmiddlewaretoken"})
# of buttons and pages
SUBMIT_NAMES = frozenset(
    {
        "action",
        "admit",
        "approve",
        "change",
        "decline",
        "do",
        "next",
        "remove",
        "rename",
        "retire",
        "withdraw",
    }
)


class Pages(CursorPagination):
    """Page with the URLs of its neighbours; null where there is none."""

    page_size = 50
    page_size_query_param = "page_size"
    page_size_query_description = "Results per page, up to 200; 50 by default."
    max_page_size = 200
    cursor_query_description = "Position of the page, from the `next` or `previous` URL."
    invalid_cursor_message = "Invalid cursor. Use the `next` or `previous` URL."

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Answer 404 for a made-up position.

        It may fail as late as in the database.
        """
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, DataError, FormError) as error:
            if not request.query_params.get(self.cursor_query_param):
                raise
            raise NotFound(self.invalid_cursor_message) from error

    def get_page_size(self, request: Request) -> int:
        """Return the requested page size, or answer 400."""
        name = self.page_size_query_param
        return whole_number(request, name, most=self.max_page_size) or self.page_size

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == self.page_size_query_param:
                parameter["schema"] |= {"minimum": 1, "maximum": self.max_page_size}
        return parameters

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}


class PagesOfList(Pages):
    """Pages of a list in memory; a position is the number of rows before it."""

    offset_cutoff = None  # type: ignore[assignment]

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self.base_url, self.request = request.build_absolute_uri(), request
        size, cursor = self.get_page_size(request), self.decode_cursor(request)
        start, n = cursor.offset if cursor else 0, len(queryset)
        self.next = start + size if start + size < n else None
        self.before = max(0, start - size) if start else None
        return list(queryset[start : start + size])

    def get_next_link(self) -> str | None:
        return None if self.next is None else self.encode_cursor(Cursor(self.next, False, None))

    def get_previous_link(self) -> str | None:
        return None if self.before is None else self.encode_cursor(Cursor(self.before, False, None))


# ---- names that an endpoint does not know ---------------------------------------------------------
def unknown_names(names: Iterable[str], known: Collection[str], what: str) -> dict[str, str]:
    """Return an error per unknown name, with the most similar known one."""
    listed = ", ".join(sorted(known))
    choices = f"Known here: {listed}." if listed else "None is known here."
    unknown = (name for name in names if name not in known and name not in WITH_EVERY_FORM)
    named = islice(unknown, MAX_NAMED)
    return {name[:100]: f"Unknown {what}. {did_you_mean(name, known) or choices}" for name in named}


def require_known_fields(names: Iterable[str], known: Collection[str]) -> None:
    """Reject form fields that the endpoint does not know."""
    if errors := unknown_names(names, known, "field"):
        raise ValidationError(errors)


def query_errors(view: Callable[[], APIView], method: str, query: QueryDict) -> dict[str, str]:
    """Return an error for each query parameter that is unknown or ambiguous."""
    if not query or view.__module__.startswith("drf_spectacular."):  # the pages of the description itself
        return {}
    method = "GET" if method == "HEAD" else method
    errors = unknown_names(query, _described(view, method).names, "query parameter")
    if method == "GET":
        several = _described(view, method).several
        repeated = (name for name, values in query.lists() if len(set(values)) > 1 and name not in several)
        errors |= dict.fromkeys(repeated, "Sent more than once, with different values. Send one.")
    return errors


class Described(NamedTuple):
    """Query parameters of an endpoint, those that repeat, and its body."""

    names: frozenset[str] = frozenset()
    several: frozenset[str] = frozenset()
    has_body: bool = False


@cache
def _described(view: Callable[[], APIView], method: str) -> Described:
    """Return the described query parameters, and True for a described body."""
    handler = getattr(view, method.lower(), None)
    described = getattr(handler, "kwargs", {}).get("schema")
    if described is None:
        return Described()
    schema: Any = described()
    instance: Any = view()
    instance.kwargs, instance.request = {}, None
    schema.view, schema.method = instance, method
    parameters = [each for each in schema.get_override_parameters() if each.location == "query"]
    names = {each.name for each in parameters}
    paginator = getattr(instance, "paginator", None) if method == "GET" else None
    if paginator is not None:
        names |= {each["name"] for each in paginator.get_schema_operation_parameters(instance)}
    several = frozenset(each.name for each in parameters if each.many)
    with GENERATOR_STATS.silence():  # it prints that a view that only reads takes no body
        has_body = schema.get_request_serializer() is not None
    return Described(frozenset(names), several, has_body)


class NoUnknownBody(BasePermission):
    """Last of the permissions: no body of a stranger is read to name its fields."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if errors := body_errors(type(view), request._request):
            raise ValidationError(errors)
        return True


def body_errors(view: Callable[[], APIView], request: HttpRequest) -> dict[str, str]:
    """Return an error per field sent to an endpoint that takes none.

    Those with a body check it themselves, by `validated` or by their form fields.
    """
    if request.method not in WRITES or not hasattr(view, request.method.lower()):
        return {}
    if _described(view, request.method).has_body:
        return {}
    names = (name if is_storable(name) else "body" for name in map(str, _sent_names(request)))
    return unknown_names(names, (), "field")


def _sent_names(request: HttpRequest) -> Iterable[str]:
    length = whole_number_of(request.META.get("CONTENT_LENGTH") or "0")
    if length is None or length > UNKNOWN_BYTES:
        return ["body"]
    names: Iterable[str] = [*request.POST, *request.FILES]
    is_read = request.content_type == "multipart/form-data"  # by then, it has no other body than fields
    if not names and not is_read and request.body.strip() not in (b"", b"{}"):
        try:
            return dict(json.loads(request.body)) or ["body"]
        except (ValueError, TypeError, RecursionError):
            return ["body"]
    return names


# Query names of pages by route; None takes any. Each app adds its own.
PAGE_QUERIES: dict[str, Collection[str] | None] = {}
ADDED_BY_OTHERS = re.compile(
    r"(utm|mc|pk|mtm|hsa|vero|oly)_\w+|_hs\w+|_gl|_ga|\w*clid|gbraid|wbraid|mkt_tok|ref|ref_src"
)


def page_query_errors(request: HttpRequest) -> dict[str, str]:
    """Return an error per query parameter that a page does not know.

    What mail and chat programs add to a link is ignored.
    """
    match = request.resolver_match
    known = PAGE_QUERIES.get(match.view_name or "", ()) if match and not match.namespaces else None
    if known is None or not request.GET:
        return {}
    names = (name for name in request.GET if not ADDED_BY_OTHERS.fullmatch(name))
    return unknown_names(names, known, "query parameter")


class PostedNames(NamedTuple):
    """Names a page takes by POST; None leaves them to its forms.

    A button with names of its own is answered without a form.
    """

    names: Collection[str] | None = ()
    buttons: Mapping[str, Collection[str]] = {}

    def errors(self, sent: Collection[str], pressed: Collection[str]) -> dict[str, str]:
        """Return an error per name unknown to both page and button."""
        button = next((each for each in self.buttons if each in pressed), None)
        if button is not None:
            return unknown_names(sent, {*self.buttons[button], *SUBMIT_NAMES}, "field")
        return {} if self.names is None else unknown_names(sent, self.names, "field")


def posted_errors(view: Any, request: HttpRequest) -> dict[str, str]:
    """Return an error per name that a page does not take."""
    names: PostedNames = getattr(view, "posted_names", PostedNames())
    pressed = {word for name in SUBMIT_NAMES & set(request.POST) for word in (name, request.POST[name])}
    return names.errors([*request.POST, *request.FILES], pressed)


def unread_errors(request: HttpRequest) -> dict[str, str]:
    """Return an error per name that no form of the page took."""
    view = request.resolver_match and request.resolver_match.func
    if getattr(view, "posted_names", PostedNames()).names is not None or hasattr(
        request.POST, "names_checked"
    ):
        return {}
    names = [name for name in (*request.POST, *request.FILES) if name not in WITH_EVERY_FORM]
    return dict.fromkeys(names[:MAX_NAMED], "No form of this page takes it. Reload the page.")


# ---- values ---------------------------------------------------------------------------------------
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
