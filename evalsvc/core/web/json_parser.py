"""The parser of JSON bodies.

Apart from `text_validation`, so that commands and workers start without the REST framework.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.utils.json import strict_constant

from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.web.text_validation import TOO_DEEP, check_storable, is_storable
from evalsvc.core.web.unknown_names import MAX_NAMED

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
            value = json.loads(body.decode(), parse_constant=strict_constant, object_pairs_hook=_each_once)
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error
        except RecursionError as error:
            raise DomainError("too_deep", TOO_DEEP) from error
        check_storable(value)
        return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or reject a name that it has twice: only one of the values would be read."""
    named = dict(pairs)
    if len(named) < len(pairs):
        counts = Counter(name if is_storable(name) else "body" for name, _ in pairs)
        twice = islice((name for name, n in counts.items() if n > 1), MAX_NAMED)
        raise ValidationError({name[:100]: "Sent more than once. Send one." for name in twice})
    return named


def count_starts(body: bytes) -> int:
    """Count what a value begins after, also within texts."""
    return sum(map(body.count, STARTS))
