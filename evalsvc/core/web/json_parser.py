"""The parser of JSON bodies.

Apart from `text_validation`, so that commands and workers start without the REST framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import JSONParser

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.text_validation import TOO_DEEP, check_storable


class StorableJSONParser(JSONParser):
    """JSON parser that rejects values that can't be stored."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            value = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise DomainError("too_deep", TOO_DEEP) from error
        check_storable(value)
        return value
