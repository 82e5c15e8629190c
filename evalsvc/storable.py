"""Values that can be stored: no NUL, no half a character, no endless nesting; and names that one can see."""

from __future__ import annotations

import unicodedata
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


UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}  # controls, formats (direction, zero width), separators
BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0"  # letters and marks without ink


def require_seen(name: str, *, field: str) -> None:
    """Refuse a name with a character that nobody sees: it would pass for another, or turn a page's text."""
    found = (each for each in name if each in BLANK or (each != " " and unicodedata.category(each) in UNSEEN))
    for each in found:
        told = f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip()
        raise Refusal(
            "unseen_character",
            f"The {field} holds a character that nobody sees: {told}.",
            hint="Type it anew, with plain spaces only.",
            field=field,
        )


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
