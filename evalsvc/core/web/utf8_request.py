"""Requests in UTF-8, and no other charset.

Python has codecs that take quadratic time, and some that are no text; a request may name any of them.
"""

from __future__ import annotations

from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.utils.http import parse_header_parameters

NAMES = {"utf-8", "utf8", "us-ascii"}


class Utf8Request(WSGIRequest):
    """A request that is read as UTF-8, whatever charset it names."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:  # a parameter with a charset of its own, which Python does not know
            self.content_type, self.content_params = "", {"charset": "unknown"}


def is_utf8(request: HttpRequest) -> bool:
    """Return whether a request means to be read as UTF-8."""
    return ((request.content_params or {}).get("charset") or "utf-8").lower() in NAMES
