"""Cursor pagination and query filters of API lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Pages(CursorPagination):
    """Page with the URLs of its neighbours; null where there is none."""

    page_size = 50
    page_size_query_param = "page_size"
    page_size_query_description = "Results per page, up to 200; 50 by default."
    max_page_size = 200
    cursor_query_description = "Position of the page, from the `next` or `previous` URL."
    invalid_cursor_message = "Invalid cursor. Use the `next` or `previous` URL."

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}


def query_choices(request: Request, **allowed: Sequence[str]) -> dict[str, str]:
    """Return the query parameters that are set, or answer 400."""
    values = {name: request.query_params.get(name, "") for name in allowed}
    for name, value in values.items():
        if value and value not in allowed[name]:
            raise ValidationError({name: f"{value!r} is not one of: {', '.join(allowed[name])}."})
    return {name: value for name, value in values.items() if value}
