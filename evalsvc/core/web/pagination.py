"""Lists a page at a time, by cursor; and what they are filtered by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Pages(CursorPagination):
    """The first and the last page have a neighbour on one side only: there the address is null."""

    page_size = 50
    page_size_query_param = "page_size"
    page_size_query_description = "Rows on a page, up to 200; 50 when absent."
    max_page_size = 200
    cursor_query_description = "Where the page begins, as next and previous say it."
    invalid_cursor_message = "The cursor leads nowhere. Take next or previous from an answer as it stands."

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}


def choice(request: Request, name: str, words: Sequence[str]) -> str:
    """The word that a filter is asked with, or nothing; a word that is none of them is refused."""
    word = request.query_params.get(name, "")
    if word and word not in words:
        raise ValidationError({name: f"{word!r} is none of: {', '.join(words)}."})
    return word


def choices(request: Request, **named: Sequence[str]) -> dict[str, str]:
    """Several of these, the unasked ones left out."""
    found = {name: choice(request, name, words) for name, words in named.items()}
    return {name: word for name, word in found.items() if word}
