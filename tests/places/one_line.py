"""Pages of the test client without line breaks, so that no assertion depends on a template's layout."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

VERBATIM = re.compile(rb"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)


class OneLineMiddleware:
    """Remove line breaks beside tags and turn others into spaces, as a browser does."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and not response.streaming and request.META.get("SERVER_NAME") == "testserver":
            response.content = b"".join(map(one_line, VERBATIM.split(response.content)))
        return response


def one_line(html: bytes) -> bytes:
    if VERBATIM.match(html):
        return html
    html = re.sub(rb"(<(?!/)[^<>]*>)\s*\n\s*", rb"\1", html)
    html = re.sub(rb">\s*\n\s*<", b"><", html)
    html = re.sub(rb"\s*\n\s*</", b"</", html)
    return re.sub(rb"\s*\n\s*", b" ", html)
