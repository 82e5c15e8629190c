"""Middleware for conditional GET, truncated and long bodies, unstorable text, unknown names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, UnreadablePostError
from django.middleware.http import ConditionalGetMiddleware
from django.utils.cache import patch_cache_control
from rest_framework.exceptions import ValidationError

from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.errors.handlers import describe, is_api, problem, problem_page
from evalsvc.core.web import places
from evalsvc.core.web.body_limits import ENCODED, ENCODED_BYTES, PAGE_BODY_BYTES, length_of, limit_of_view
from evalsvc.core.web.form_parts import NoFiles
from evalsvc.core.web.text_validation import is_storable
from evalsvc.core.web.unknown_names import (
    page_query_errors,
    posted_errors,
    query_errors,
    repeated_on_page,
    unread_errors,
)
from evalsvc.core.web.utf8_request import is_utf8

API = "/api/v1/"


class ApiConditionalGetMiddleware(ConditionalGetMiddleware):
    """ETag and 304 for JSON reads; no browser keeps what somebody reads who is logged in."""

    def needs_etag(self, response: HttpResponseBase) -> bool:
        """Tag what may be stored nowhere, too: programs keep the tag, not the reply."""
        return True

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        by_session = "Cookie" in response.get("Vary", "")
        is_read = is_api(request) and response.status_code == 200 and not response.streaming
        if (by_session and "Cache-Control" not in response) or is_read:
            logged_in = by_session and SESSION_KEY in getattr(request, "session", ())
            patch_cache_control(response, private=True, **{"no_store" if logged_in else "no_cache": True})
        if not is_read:
            return response
        conditional = super().process_response(request, response)
        if "Retry-After" in response:
            conditional["Retry-After"] = response["Retry-After"]
        return conditional


class HttpsApiMiddleware:
    """Reject requests of the API over plain HTTP.

    A redirect would work, and nobody would notice that each token was sent in clear before.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.SECURE_SSL_REDIRECT or request.is_secure() or not request.path.startswith(API):
            return self.get_response(request)
        detail = "The request came over plain HTTP. Others could read it on the way."
        hint = "Use the https:// address. If it had a token, revoke it and create another."
        return problem_page(request, 403, problem(403, code="https_required", detail=detail, hint=hint))


class TruncatedBodyMiddleware:
    """Raise an error for a body that ends before its stated length.

    Without this a client that stops half-way submits half a file, and half a file is valid where a missing
    line means no answer (scores, label sets).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or ""
        stream = getattr(request, "_stream", None)
        if stream is not None and length.isdecimal():
            request._stream = FullLengthStream(stream, int(length))  # type: ignore[assignment]
        return self.get_response(request)


class FullLengthStream:
    """Django's body stream, with an error where the connection ends too early."""

    def __init__(self, stream: Any, length: int) -> None:
        self.stream, self.missing = stream, length

    def read(self, *size: int) -> bytes:
        return self._checked(self.stream.read(*size), size)

    def readline(self, *size: int) -> bytes:
        return self._checked(self.stream.readline(*size), size)

    def close(self) -> None:
        self.stream.close()

    def _checked(self, chunk: bytes, size: tuple[int, ...]) -> bytes:
        self.missing -= len(chunk)
        if not chunk and size != (0,) and self.missing > 0:
            raise OSError(f"The body ended {self.missing:,} bytes early.")
        return chunk


class BodyLimitMiddleware:
    """Reject a body that is too long for its address; parse long forms in a place for files.

    Before the CSRF check, which reads the form of anybody.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not is_api(request) and not hasattr(view, "files"):
            request.upload_handlers = [NoFiles(request)]
        length, is_encoded = length_of(request), request.content_type == ENCODED
        if length <= (ENCODED_BYTES if is_encoded else PAGE_BODY_BYTES):  # without a look at the session
            return None
        try:
            most = limit_of_view(view, logged_in=request.user.is_authenticated, is_encoded=is_encoded)
            if length > most:
                more = limit_of_view(view, logged_in=True, is_encoded=is_encoded)
                raise _too_long(length, most, may_log_in=more > most)
            if not is_api(request):  # the parser of an endpoint takes a place itself
                with places.files.taken(request.user.pk or "no login"):
                    request.POST  # noqa: B018  parses the form
        except (DomainError, UnreadablePostError) as error:
            status, body, headers = describe(error) or (400, problem(400), {})
            response = problem_page(request, status, body)
            for name, value in headers.items():
                response[name] = value
            return response
        return None


def _too_long(length: int, most: int, *, may_log_in: bool) -> TooLarge:
    detail = f"The body has {length:,} bytes; this address takes {most:,}."
    hint = "Log in, and send it again." if may_log_in else ""
    return TooLarge("too_large", detail, hint=hint, limit=most)


class StorableTextMiddleware:
    """Reject charsets but UTF-8, and unstorable text in URLs and page forms; parsers check API bodies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_utf8(request):
            detail = "The Content-Type names a charset that is not read. Send UTF-8."
            return problem_page(request, 415, problem(415, detail=detail))
        if is_storable("".join((request.path, *_texts(request.GET)))):
            return self.get_response(request)
        return _rejected(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        # after the CSRF check, which has already read the form
        is_form = request.method == "POST" and not is_api(request) and not getattr(view, "csrf_exempt", False)
        if is_form and not is_storable("".join(_texts(request.POST))):
            return _rejected(request)
        return None


def _texts(fields: QueryDict) -> Iterator[str]:
    for name, values in fields.lists():
        yield name
        yield from map(str, values)


def _rejected(request: HttpRequest) -> HttpResponse:
    detail = "The address or the form contains a NUL character. Remove it."
    return problem_page(request, 400, problem(400, code="strange_text", detail=detail))


class UnknownNamesMiddleware:
    """Reject unknown query parameters, and fields unknown to a page; endpoints check bodies themselves."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method != "POST" or is_api(request) or response.status_code != 200:
            return response
        return _rejected_names(request, unread_errors(request)) or response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        # the schema and its page have parameters of their own
        endpoint = getattr(view, "cls", None) if request.path.startswith(API) else None
        errors: dict[str, str] = {}
        if endpoint:
            errors = query_errors(endpoint, request.method or "", request.GET)
        elif request.method == "POST" and not is_api(request):
            errors = repeated_on_page(request, request.GET) | posted_errors(view, request)
        elif request.method in ("GET", "HEAD") and not is_api(request):
            errors = repeated_on_page(request, request.GET) | page_query_errors(request)
        return _rejected_names(request, errors)


def _rejected_names(request: HttpRequest, errors: dict[str, str]) -> HttpResponse | None:
    described = describe(ValidationError(errors)) if errors else None
    return problem_page(request, described[0], described[1]) if described else None
