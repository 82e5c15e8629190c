"""Values that can be stored: no NUL, no half a character, no endless nesting; and names that one can see."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from rest_framework.parsers import JSONParser

from evalsvc.core.errors.exceptions import DomainError

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
                raise DomainError(
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
        raise DomainError("too_deep", TOO_DEEP, field=field)


UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}  # controls, formats (direction, zero width), separators
BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0"  # letters and marks without ink


def require_seen(name: str, *, field: str) -> None:
    """Refuse a name with a character that nobody sees: it would pass for another, or turn a page's text."""
    found = (each for each in name if each in BLANK or (each != " " and unicodedata.category(each) in UNSEEN))
    for each in found:
        told = f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip()
        raise DomainError(
            "unseen_character",
            f"The {field} holds a character that nobody sees: {told}.",
            hint="Type it anew, with plain spaces only.",
            field=field,
        )


# Greek letters that stand for quantities and pass for no Latin letter.
SYMBOLS = frozenset("βδεζθλμξπσφψΓΔΘΛΞΠΣΦΨΩ\N{MICRO SIGN}")
LETTERS = {"Lu", "Ll", "Lt", "Nl"}  # of alphabets with capitals, to which nearly all look-alikes belong
CAPITALS_ONLY = ("LISU", "TIFINAGH", "CANADIAN SYLLABICS")  # and of those without


def require_one_alphabet(name: str, *, field: str) -> None:
    """Refuse a word with another alphabet's letters among Latin ones: it would pass for another word."""
    for word in _words(name):
        latin = any(unicodedata.name(each, "").startswith("LATIN") for each in word)
        for each in filter(_is_foreign, word) if latin else ():
            told = f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip()
            raise DomainError(
                "mixed_alphabets",
                f"The {field} has a letter of another alphabet among Latin ones, in “{word}”: {told}.",
                hint="Type the word in one alphabet, or set the other letter off by a hyphen.",
                field=field,
            )


def _words(text: str) -> Iterator[str]:
    """Runs of letters, digits and the marks above and below them."""
    for inside, found in groupby(text, lambda each: unicodedata.category(each)[0] in "LMN"):
        if inside:
            yield "".join(found)


def _is_foreign(letter: str) -> bool:
    name = unicodedata.name(letter, "")
    if name.startswith("LATIN") or letter in SYMBOLS:
        return False
    return unicodedata.category(letter) in LETTERS or name.startswith(CAPITALS_ONLY)


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a JSON value that `check` let pass, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from texts_in(one)


class StorableJson(JSONParser):
    """JSON whose every value can be stored."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise DomainError("too_deep", TOO_DEEP) from error
        check(found)
        return found
