"""Pagination of API lists."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as FormError
from django.db import DataError
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from evalsvc.core.web.request_validation import whole_number


class Pages(CursorPagination):
    """Page with the URLs of its neighbours; null where there is none."""

    page_size = 50
    page_size_query_param = "page_size"
    page_size_query_description = "Results per page, up to 200; 50 by default."
    max_page_size = 200
    cursor_query_description = "Position of the page, from the `next` or `previous` URL."
    invalid_cursor_message = "Invalid cursor. Use the `next` or `previous` URL."

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Answer 404 for a made-up position.

        It may fail as late as in the database.
        """
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, DataError, FormError) as error:
            if not request.query_params.get(self.cursor_query_param):
                raise
            raise NotFound(self.invalid_cursor_message) from error

    def get_page_size(self, request: Request) -> int:
        """Return the requested page size, or answer 400."""
        name = self.page_size_query_param
        return whole_number(request, name, most=self.max_page_size) or self.page_size

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == self.page_size_query_param:
                parameter["schema"] |= {"minimum": 1, "maximum": self.max_page_size}
        return parameters

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}


class PagesOfList(Pages):
    """Pages of a list in memory; a position is the number of rows before it."""

    offset_cutoff = None  # type: ignore[assignment]

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self.base_url, self.request = request.build_absolute_uri(), request
        size, cursor = self.get_page_size(request), self.decode_cursor(request)
        start, n = cursor.offset if cursor else 0, len(queryset)
        self.next = start + size if start + size < n else None
        self.before = max(0, start - size) if start else None
        return list(queryset[start : start + size])

    def get_next_link(self) -> str | None:
        return None if self.next is None else self.encode_cursor(Cursor(self.next, False, None))

    def get_previous_link(self) -> str | None:
        return None if self.before is None else self.encode_cursor(Cursor(self.before, False, None))
