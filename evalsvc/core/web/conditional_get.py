"""Reads that say when nothing changed: every JSON answer to a GET has an ETag, and who has it gets 304."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

API = "/api/v1/"
KEPT = ("ETag", "Cache-Control", "Vary", "Retry-After")


class Unchanged:
    """What streams (gold, inputs, judgments) has a digest of its own and is left alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method != "GET" or not request.path.startswith(API) or response.status_code != 200:
            return response
        if not isinstance(response, HttpResponse):
            return response
        response["ETag"] = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
        response["Cache-Control"] = "private, no-cache"
        return _not_modified(response) if is_known(request, response["ETag"]) else response


def is_known(request: HttpRequest, tag: str) -> bool:
    """Whether the client says that it has this content."""
    told = request.headers.get("If-None-Match", "").split(",")
    known = {each.strip().removeprefix("W/") for each in told}
    return tag in known or "*" in known


def _not_modified(response: HttpResponse) -> HttpResponse:
    kept = {name: response[name] for name in KEPT if name in response}
    answer = HttpResponse(status=304, headers=kept)
    answer.cookies = response.cookies
    del answer["Content-Type"]
    return answer
