"""Problem details (RFC 9457) for every error under /api/, error pages elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.shortcuts import render
from django.template.loader import render_to_string
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import exceptions as drf
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import set_rollback

from evalsvc.core import log_context
from evalsvc.core.database import is_database_away, is_taken
from evalsvc.core.errors.codes import ACCOUNTS, BENCHMARKS, STATUSES
from evalsvc.core.errors.exceptions import DomainError, is_storage_away
from evalsvc.core.errors.form_errors import FormRefused
from evalsvc.core.formats.problems import FileRejected

QUOTED = re.compile(r'"([^"]*)"')
PLACE = re.compile(r"line \d+ column \d+")
PROBLEM_JSON = "application/problem+json"
RETRY_SECONDS = {"database_away": 5, "storage_away": 60}
STORED_MEANWHILE = "Another request stored the same at the same moment. Reload the page."
MAX_DETAIL = 2_000  # characters; a detail may quote what was sent
Described = tuple[int, dict[str, Any], dict[str, str]]


def problem(status: int, *, code: str = "", title: str = "", detail: str = "", **more: Any) -> dict[str, Any]:
    """Build the body of an error response."""
    usual_code, usual_title = STATUSES.get(status, ("error", HTTPStatus(status).phrase))
    code, title = code or usual_code, title or usual_title
    body = {"type": f"/docs/errors/#{code}", "title": title, "status": status}
    if status >= 500:  # for whoever reads the log
        more["request_id"] = log_context.request_id()
    detail = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}…"
    return body | {"detail": detail or f"{title}.", "code": code} | {k: v for k, v in more.items() if v}


def _field_errors(detail: Any, path: str = "") -> list[dict[str, str]]:
    """Flatten nested messages to a list of {field, code, expected}."""
    if isinstance(detail, Mapping):
        return [e for k, v in detail.items() for e in _field_errors(v, f"{path}.{k}" if path else str(k))]
    if isinstance(detail, list | tuple):
        return [e for v in detail for e in _field_errors(v, path)]
    return [{"field": path, "code": getattr(detail, "code", "invalid"), "expected": str(detail)[:MAX_DETAIL]}]


def _invalid(detail: Any) -> Described:
    errors = _field_errors(detail)
    named = "; ".join(f"{e['field']}: {e['expected']}" if e["field"] else e["expected"] for e in errors)
    return 400, problem(400, code="invalid_input", detail=named, errors=errors), {}


def _describe_limit(error: SuspiciousOperation) -> Described:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    detail = f"A request body, without its files, may have at most {limit:,} bytes."
    if isinstance(error, TooManyFilesSent):
        limit = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        detail = f"A form may have at most {limit:,} files."
    if isinstance(error, TooManyFieldsSent):
        limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        detail = f"A form may have at most {limit:,} fields."
    return 413, problem(413, detail=detail, limit=limit), {}


def describe(error: Exception) -> Described | None:
    """Return status, body and headers, or None for an unexpected exception."""
    if isinstance(error, DomainError):
        headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
        about = {"code": error.code, "title": error.title, "hint": error.hint, "field": error.field}
        return error.status, problem(error.status, detail=error.detail, **about, **error.extra), headers
    if isinstance(error, FileRejected):
        report = error.problems.as_json()
        about = {"error_count": report["total"], "errors_by_code": report["by_code"]}
        return 422, problem(422, detail=error.problems.summary(), errors=report["problems"], **about), {}
    if isinstance(error, DjangoValidationError):
        return _invalid(error.message_dict if hasattr(error, "error_dict") else error.messages)
    if isinstance(error, drf.ValidationError):
        return _invalid(error.detail)
    if isinstance(error, Http404):
        return 404, problem(404), {}
    if isinstance(error, PermissionDenied):
        return 403, problem(403, detail=str(error)), {}
    if isinstance(error, UnreadablePostError):
        return 400, problem(400, code="cut_short", detail=BENCHMARKS["cut_short"]), {}
    if isinstance(error, FormRefused):
        return 400, problem(400, detail=str(error)), {}
    if isinstance(error, RequestDataTooBig | TooManyFilesSent | TooManyFieldsSent):
        return _describe_limit(error)
    return _describe_framework_error(error) if isinstance(error, drf.APIException) else None


def _describe_framework_error(error: drf.APIException) -> Described:
    wait, scheme = getattr(error, "wait", None), getattr(error, "auth_header", None)
    headers = {"WWW-Authenticate": scheme} if scheme else {}
    headers |= {"Retry-After": str(int(wait) + 1)} if wait else {}
    code = "bad_token" if isinstance(error, drf.AuthenticationFailed) else ""
    if isinstance(error, drf.PermissionDenied) and str(error.detail).startswith("CSRF"):
        code = "csrf"
    return error.status_code, problem(error.status_code, code=code, detail=_detail_of(error)), headers


def _detail_of(error: drf.APIException) -> str:
    """Replace framework messages that offer no solution."""
    message = str(error.detail)
    quoted = (QUOTED.findall(message) or [""])[0]
    if isinstance(error, drf.NotAuthenticated):
        return "The request has no valid token. Send one in the header Authorization: Bearer evs_…"
    if isinstance(error, drf.MethodNotAllowed):
        return f"{quoted} is not supported at this address. The Allow header lists the supported methods."
    if isinstance(error, drf.NotAcceptable):
        return "Responses are available as JSON only. Send Accept: application/json."
    if isinstance(error, drf.UnsupportedMediaType):
        content_type = f"The content type {quoted}" if quoted else "A request without a content type"
        return f"{content_type} is not supported. The API description lists the supported types."
    if isinstance(error, drf.ParseError):
        where = "".join(PLACE.findall(message))
        kind = "multipart form data" if "ultipart" in message else "JSON"
        return f"The request body is not valid {kind}{where and f' (error at {where})'}."
    return message


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Handle an exception raised in an API view."""
    described = describe(error)
    if described is None:
        return None
    set_rollback()
    status, body, headers = described
    return Response(body, status=status, headers=headers, content_type=PROBLEM_JSON)


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


class ProblemMiddleware:
    """Give Django's own errors under /api/ the same JSON shape."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_plain = response.status_code >= 400 and "json" not in response.headers.get("Content-Type", "")
        if is_api(request) and is_plain:
            return problem_page(request, response.status_code)
        if response.status_code == 405 and not response.content:
            body = problem(
                405,
                detail="This address only accepts a form sent from another page.",
                hint="Go back to the page with the form, or start from the home page.",
            )
            page = problem_page(request, 405, body)
            page["Allow"] = response["Allow"]
            return page
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Turn an exception raised by a page into an error page."""
        described = describe(error)
        if described is None or isinstance(error, Http404 | PermissionDenied | SuspiciousOperation):
            return None
        status, body, headers = described
        response = problem_page(request, status, body)
        for name, value in headers.items():
            response[name] = value
        return response


def problem_page(request: HttpRequest, status: int, body: dict[str, Any] | None = None) -> HttpResponse:
    """Render problem details under /api/, an error page elsewhere."""
    body = body or problem(status)
    if is_api(request):
        return JsonResponse(body, status=status, content_type=PROBLEM_JSON)
    return render(request, "error.html", {"problem": body}, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem_page(request, 403, problem(403, code="csrf", detail=ACCOUNTS["csrf"]))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    status, body, _ = describe(exception) or (400, None, {})
    return problem_page(request, status, body)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, 403, problem(403, detail=str(exception)))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 while database or storage is away, 409 after a race: the request can be sent again."""
    error = sys.exc_info()[1]
    if is_taken(error):
        return problem_page(request, 409, problem(409, detail=STORED_MEANWHILE))
    code = "database_away" if is_database_away(error) else "storage_away" if is_storage_away(error) else ""
    if not code:
        return problem_page(request, 500)
    body = problem(503, code=code, detail=ACCOUNTS[code])
    headers = {"Retry-After": str(RETRY_SECONDS[code])}
    if is_api(request):
        return JsonResponse(body, status=503, content_type=PROBLEM_JSON, headers=headers)
    # without the request: who it is from is in the database, which may be away
    return HttpResponse(render_to_string("error.html", {"problem": body}), status=503, headers=headers)


# ---- the OpenAPI description ---------------------------------------------------------------------
@extend_schema_serializer(component_name="OneOfThem")
class ErrorEntrySerializer(serializers.Serializer[Any]):
    """An error in a line of a file or a field."""

    code = serializers.CharField()
    line = serializers.IntegerField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    found = serializers.CharField(required=False)
    expected = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)
    example = serializers.CharField(required=False, help_text="A correct line or value.")
    message = serializers.CharField(required=False)


class ProblemSerializer(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="URL of the documentation of the code.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    hint = serializers.CharField(required=False)
    field = serializers.CharField(required=False)
    errors = ErrorEntrySerializer(many=True, required=False, help_text="The first 20 errors.")  # type: ignore[assignment]
    error_count = serializers.IntegerField(required=False)
    request_id = serializers.CharField(
        required=False, help_text="Id of the request in the log, for faults of the service."
    )
    limit = serializers.IntegerField(required=False, help_text="With status 413: the maximum.")
    number = serializers.IntegerField(
        required=False, help_text="With answered_elsewhere: number of your latest vote. Send it as base."
    )
    next_allowed_at = serializers.DateTimeField(
        required=False, help_text="With status 429: time from which the next submission is allowed."
    )
    errors_by_code = serializers.DictField(child=serializers.IntegerField(), required=False)


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Return the error responses of an endpoint for its OpenAPI description."""
    return {(status, "application/problem+json"): ProblemSerializer for status in statuses}
