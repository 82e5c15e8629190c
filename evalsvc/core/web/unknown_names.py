"""Names of parameters and fields that an endpoint or a page does not know.

Such a name is an error: a mistyped filter or option would otherwise return something else than the client
asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict
from drf_spectacular.drainage import GENERATOR_STATS
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import FormParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from evalsvc.core.formats.problems import did_you_mean
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.text_validation import is_storable

if TYPE_CHECKING:  # rest_framework.views loads the permission by the settings: a cycle
    from rest_framework.views import APIView

MAX_NAMED = 20
REPEATED = "Sent more than once, with different values. Send one."
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
    # uploads reject those with a code of their own
    if method != "GET" and FormParser in getattr(view, "parser_classes", ()):
        return errors
    return errors | repeated_names(query, _described(view, method).several)


def repeated_names(fields: MultiValueDict[str, Any], several: Collection[str] = ()) -> dict[str, str]:
    """Return an error per name with different values, of which only one would be read."""
    repeated = (name for name, values in fields.lists() if len(set(values)) > 1 and name not in several)
    return {name[:100]: REPEATED for name in islice(repeated, MAX_NAMED)}


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
# Names with several values, of queries and of forms, by route.
SEVERAL: dict[str, Collection[str]] = {}
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


def repeated_on_page(request: HttpRequest, fields: MultiValueDict[str, Any]) -> dict[str, str]:
    """Return an error per name of a query or a form that a page takes once."""
    match = request.resolver_match
    if not match or match.namespaces:  # the records read lists of their own
        return {}
    errors = repeated_names(fields, SEVERAL.get(match.view_name or "", ()))
    return {name: error for name, error in errors.items() if not ADDED_BY_OTHERS.fullmatch(name)}


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
    unknown = names.errors([*request.POST, *request.FILES], pressed)
    return unknown | repeated_on_page(request, request.POST) | repeated_on_page(request, request.FILES)


def unread_errors(request: HttpRequest) -> dict[str, str]:
    """Return an error per name that no form of the page took."""
    view = request.resolver_match and request.resolver_match.func
    if getattr(view, "posted_names", PostedNames()).names is not None or hasattr(
        request.POST, "names_checked"
    ):
        return {}
    names = [name for name in (*request.POST, *request.FILES) if name not in WITH_EVERY_FORM]
    return dict.fromkeys(names[:MAX_NAMED], "No form of this page takes it. Reload the page.")
