"""The parser of JSON bodies.

Apart from `text_validation`, so that commands and workers start without the REST framework.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import JSONParser

from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.web.text_validation import TOO_DEEP, check_storable

STARTS = (b",", b"[", b"{")  # each value but the first follows one of them
MAX_VALUES = 200_000  # and so many keys
STRING = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL
)  # one without an end is read once, too


class StorableJSONParser(JSONParser):
    """JSON parser that rejects values that can't be stored."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.read()
        if (
            count_starts(body) > MAX_VALUES
            and count_starts(STRING.sub(b"", body, count=2 * MAX_VALUES)) > MAX_VALUES
        ):
            detail = f"The JSON may have at most {MAX_VALUES:,} commas and opening brackets outside of texts."
            raise TooLarge("too_large", detail, limit=MAX_VALUES)
        try:
            value = super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise DomainError("too_deep", TOO_DEEP) from error
        check_storable(value)
        return value


def count_starts(body: bytes) -> int:
    """Count what a value begins after, also within texts."""
    return sum(map(body.count, STARTS))
