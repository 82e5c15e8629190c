"""Greatest length of a request's body, by the view that takes it.

A view that takes files is marked, or is an endpoint with a parser of them. Every other one has the limit of
a form, and so has everybody without a login, and every address that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.http import Http404
from django.urls import resolve

View = TypeVar("View", bound=Callable[..., Any])

# the longest form: a plan of 200,000 characters of four bytes, each of which a browser sends as three
PAGE_BODY_BYTES = 2_500_000
FORM_BYTES = 1_000_000  # a form around its files
ENCODED_BYTES = 100_000  # of a stranger, and outside of a place: decoding takes 75 times as much memory
ENCODED = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Files:
    """Files that a page takes."""

    most: int = 0  # bytes; 0: as the largest upload
    needs_login: bool = True


def takes_files(most: int = 0, *, needs_login: bool = True) -> Callable[[View], View]:
    """Mark a page that takes files."""

    def mark(view: View) -> View:
        view.files = Files(most, needs_login)  # type: ignore[attr-defined]
        return view

    return mark


def length_of(request: Any) -> int:
    """Return the stated length of a body."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return int(length) if length.isdecimal() else 0


def largest_body() -> int:
    """Return the greatest length of all bodies."""
    return max(settings.UPLOAD_MAX_BYTES, settings.MODEL_MAX_BYTES) + FORM_BYTES


def limit_of_view(view: Any, *, logged_in: bool, is_encoded: bool = False) -> int:
    """Return the greatest length of a body for a view."""
    endpoint = getattr(view, "cls", None)
    if endpoint:  # none decodes percent escapes: curl names a file so that is the whole body
        kinds = {parser.media_type for parser in endpoint.parser_classes}
        return largest_body() if "multipart/form-data" in kinds else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if is_encoded:
        return PAGE_BODY_BYTES if logged_in else ENCODED_BYTES
    files: Files | None = getattr(view, "files", None)
    if files is None or (files.needs_login and not logged_in):
        return PAGE_BODY_BYTES
    return files.most + FORM_BYTES if files.most else largest_body()


def limit_of_head(head: bytes) -> int:
    """Return the greatest length of a body for the head of its request.

    Whether its session is of somebody is not looked up here: middleware does, before the body is read.
    """
    line, _, headers = head.partition(b"\r\n")
    try:
        view = resolve(unquote(urlsplit(line.split(b" ")[1].decode()).path)).func
    except (Http404, ValueError, IndexError):
        return PAGE_BODY_BYTES
    return limit_of_view(view, logged_in=f"{settings.SESSION_COOKIE_NAME}=".encode() in headers)
