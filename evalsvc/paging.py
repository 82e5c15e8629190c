"""Lists a page at a time, by cursor."""

from __future__ import annotations

from typing import Any

from rest_framework.pagination import CursorPagination


class Pages(CursorPagination):
    """The first and the last page have a neighbour on one side only: there the address is null."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}
