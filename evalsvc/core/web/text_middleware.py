"""Addresses and forms with text that no database stores: refused before anybody looks something up by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from evalsvc.core.errors.handlers import is_api, problem, problem_page
from evalsvc.core.web.text_validation import is_strange


class StrangeText:
    """Looks at paths and queries, and at the forms of pages; other bodies are read by who takes them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_strange(request.path) or any(map(is_strange, _texts(request.GET))):
            return _refused(request)
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        # behind the check of the form's origin, which has read the form by then
        looked_at = (
            request.method == "POST" and not is_api(request) and not getattr(view, "csrf_exempt", False)
        )
        if looked_at and any(map(is_strange, _texts(request.POST))):
            return _refused(request)
        return None


def _texts(fields: QueryDict) -> Iterator[str]:
    for name, values in fields.lists():
        yield name
        yield from map(str, values)


def _refused(request: HttpRequest) -> HttpResponse:
    told = problem(
        400, code="strange_text", detail="The address or the form holds a NUL character. Leave it out."
    )
    return problem_page(request, 400, told)
