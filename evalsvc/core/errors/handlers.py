"""One JSON shape for every error under /api/ (problem details, RFC 9457), and plain pages elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.shortcuts import render
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import set_rollback

from evalsvc.core.errors.exceptions import DomainError, QuotaExceeded
from evalsvc.core.formats.problems import FileRejected

QUOTED = re.compile(r'"([^"]*)"')
PLACE = re.compile(r"line \d+ column \d+")
CUT_SHORT = "The request ended before its stated length. Nothing of it is kept; send it again."
PROBLEM_JSON = "application/problem+json"
CODES = {
    400: ("bad_request", "The request can't be met as it stands"),
    401: ("not_authenticated", "Who is asking is not known"),
    403: ("not_allowed", "Your role doesn't allow this"),
    404: ("not_found", "There is nothing at this address, or it is not yours to see"),
    405: ("method_not_allowed", "This address doesn't take that method"),
    406: ("not_acceptable", "This is answered in JSON only"),
    409: ("conflict", "It has changed meanwhile"),
    413: ("too_large", "Larger than the limit"),
    415: ("unsupported_media_type", "This content type isn't taken here"),
    422: ("refused", "The file doesn't fit"),
    429: ("too_many_requests", "Too many requests"),
    500: ("server_error", "Something broke on our side"),
    503: ("unavailable", "Not to be had just now"),
}


def problem(status: int, *, code: str = "", title: str = "", detail: str = "", **more: Any) -> dict[str, Any]:
    """The body of an error: type, title, status, detail, code, and what else there is to say."""
    usual_code, usual_title = CODES.get(status, ("error", HTTPStatus(status).phrase))
    code = code or usual_code
    body = {"type": f"/docs/errors/#{code}", "title": title or usual_title, "status": status}
    return (
        body
        | {"detail": detail or f"{title or usual_title}.", "code": code}
        | {k: v for k, v in more.items() if v}
    )


def _refusal(error: DomainError) -> tuple[int, dict[str, Any], dict[str, str]]:
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, QuotaExceeded) else {}
    body = problem(
        error.status,
        code=error.code,
        title=error.title,
        detail=error.detail,
        hint=error.hint,
        field=error.field,
        **error.extra,
    )
    return error.status, body, headers


def _refused(error: FileRejected) -> tuple[int, dict[str, Any], dict[str, str]]:
    found = error.problems.as_json()
    body = problem(
        422,
        detail=error.problems.summary(),
        errors=found["problems"],
        error_count=found["total"],
        errors_by_code=found["by_code"],
    )
    return 422, body, {}


def _field_errors(detail: Any, path: str = "") -> list[dict[str, str]]:
    """Flatten DRF's or Django's nested messages to a list of {field, code, expected}."""
    if isinstance(detail, Mapping):
        return [e for k, v in detail.items() for e in _field_errors(v, f"{path}.{k}" if path else str(k))]
    if isinstance(detail, list | tuple):
        return [e for v in detail for e in _field_errors(v, path)]
    return [{"field": path, "code": getattr(detail, "code", "invalid"), "expected": str(detail)}]


def _invalid(detail: Any) -> tuple[int, dict[str, Any], dict[str, str]]:
    errors = _field_errors(detail)
    named = "; ".join(f"{e['field']}: {e['expected']}" if e["field"] else e["expected"] for e in errors)
    return 400, problem(400, code="invalid_input", detail=named, errors=errors), {}


def describe(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """Status, body and headers for an exception, or None for one that is a defect of ours."""
    if isinstance(error, DomainError):
        return _refusal(error)
    if isinstance(error, FileRejected):
        return _refused(error)
    if isinstance(error, DjangoValidationError):
        return _invalid(error.message_dict if hasattr(error, "error_dict") else error.messages)
    if isinstance(error, drf.ValidationError):
        return _invalid(error.detail)
    if isinstance(error, Http404):
        return 404, problem(404), {}
    if isinstance(error, PermissionDenied):
        return 403, problem(403, detail=str(error)), {}
    if isinstance(error, UnreadablePostError | RequestDataTooBig | TooManyFilesSent):
        return _of_body(error)
    if isinstance(error, drf.APIException):
        return _drf(error)
    return None


def _of_body(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    if isinstance(error, UnreadablePostError):
        return 400, problem(400, code="cut_short", detail=CUT_SHORT), {}
    if isinstance(error, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return 413, problem(413, detail=f"Without its files a body has up to {most:,} bytes.", limit=most), {}
    most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
    return 413, problem(413, detail=f"A form has up to {most:,} files.", limit=most), {}


def _drf(error: drf.APIException) -> tuple[int, dict[str, Any], dict[str, str]]:
    wait, asked = getattr(error, "wait", None), getattr(error, "auth_header", None)
    headers = ({"WWW-Authenticate": asked} if asked else {}) | (
        {"Retry-After": str(int(wait) + 1)} if wait else {}
    )
    code = "bad_token" if isinstance(error, drf.AuthenticationFailed) else ""
    if isinstance(error, drf.PermissionDenied) and str(error.detail).startswith("CSRF"):
        code = "csrf"
    return error.status_code, problem(error.status_code, code=code, detail=_in_words(error)), headers


def _in_words(error: drf.APIException) -> str:
    """What the framework says in its own words, said in ours."""
    told = str(error.detail)
    named = (QUOTED.findall(told) or [""])[0]
    if isinstance(error, drf.NotAuthenticated):
        return "Nothing says who you are. Send a token: Authorization: Bearer evs_…"
    if isinstance(error, drf.MethodNotAllowed):
        return f"{named} isn't taken at this address; the header Allow names what is."
    if isinstance(error, drf.NotAcceptable):
        return "This is answered in JSON only. Send Accept: application/json."
    if isinstance(error, drf.UnsupportedMediaType):
        return f"{named or 'No content type'} isn't taken here; the API's description says which types are."
    if isinstance(error, drf.ParseError):
        where = "".join(PLACE.findall(told))
        kind = "form with a boundary" if "ultipart" in told else "JSON"
        return f"The body can't be read as {kind}{where and f': something is wrong at {where}'}."
    return told


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler."""
    told = describe(error)
    if told is None:
        return None
    set_rollback()
    status, body, headers = told
    return Response(body, status=status, headers=headers, content_type=PROBLEM_JSON)


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


class ApiProblems:
    """Gives Django's own errors under /api/ (403, 404, 405, 413, 500) the same shape as ours."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_plain = response.status_code >= 400 and "json" not in response.headers.get("Content-Type", "")
        if is_api(request) and is_plain:
            return problem_page(request, response.status_code)
        if response.status_code == 405 and not response.content:
            return _for_forms_only(request, response)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Refusals raised by a page become a page that says so."""
        told = describe(error)
        if told is None or isinstance(error, Http404 | PermissionDenied | SuspiciousOperation):
            return None
        status, body, headers = told
        response = problem_page(request, status, body)
        for name, value in headers.items():
            response[name] = value
        return response


def problem_page(request: HttpRequest, status: int, body: dict[str, Any] | None = None) -> HttpResponse:
    """The error as problem details under /api/, as a page elsewhere."""
    told = body or problem(status)
    if is_api(request):
        return JsonResponse(told, status=status, content_type=PROBLEM_JSON)
    return render(request, "error.html", {"problem": told}, status=status)


def _for_forms_only(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """For whoever loads again, or goes back to, an address that only takes what a page's button sends."""
    told = problem(405, title="This address has no page of its own") | {
        "detail": "It takes what a button on another page sends, and nothing was sent.",
        "hint": "Go back to the page with the button, or start from the first page.",
    }
    page = problem_page(request, 405, told)
    page["Allow"] = response["Allow"]
    return page


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    told = problem(
        403, code="csrf", detail="The form was open too long or came from elsewhere. Load the page again."
    )
    return problem_page(request, 403, told)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    status = 413 if isinstance(exception, RequestDataTooBig | TooManyFilesSent) else 400
    return problem_page(request, status)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, 403, problem(403, detail=str(exception)))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return problem_page(request, 500)
