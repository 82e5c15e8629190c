"""Values that can be stored: no text with a NUL or half a character, no nesting without end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import JSONParser

from evalsvc.refusals import Refusal

DEEPEST = 64
TOO_DEEP = f"The JSON nests deeper than {DEEPEST} levels."


def is_strange(text: str) -> bool:
    """Whether no database stores it: PostgreSQL takes no NUL, UTF-8 no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return "\0" in text


def check(value: Any, *, field: str = "") -> None:
    """Refuse what can't be stored, wherever in the value it is."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, str) and is_strange(one):
                raise Refusal(
                    "strange_text",
                    "A text holds a NUL or half a character.",
                    hint="Leave it out.",
                    field=field,
                )
            if isinstance(one, dict):
                inner += [*one.keys(), *one.values()]
            elif isinstance(one, list | tuple):
                inner += one
        level = inner
    if level:
        raise Refusal("too_deep", TOO_DEEP, field=field)


class StorableJson(JSONParser):
    """JSON whose every value can be stored."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise Refusal("too_deep", TOO_DEEP) from error
        check(found)
        return found
