"""Checks for unstorable text, names with invisible or look-alike characters, reserved addresses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from evalsvc.core.errors.exceptions import Conflict, DomainError

MAX_DEPTH = 64
RESERVED_SLUGS = {"new", "import"}  # /teams/new/, /test-sets/import/ and the like
TOO_DEEP = f"The JSON is nested more than {MAX_DEPTH} levels deep."
INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}  # controls, formats (direction, zero width), separators
BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0"  # letters and marks without ink
# Greek letters that stand for quantities and look like no Latin letter.
SYMBOLS = frozenset("βδεζθλμξπσφψΓΔΘΛΞΠΣΦΨΩ\N{MICRO SIGN}")
LETTERS = {"Lu", "Ll", "Lt", "Nl"}  # of scripts with capitals, to which nearly all look-alikes belong
# Marks of letters and blanks for variants that few fonts have; those of emoji may follow a symbol.
IGNORED = re.compile("[\u17b4\u17b5\u180b-\u180d\u180f\u2065\ufe00-\ufe0f\ufff0-\ufff8\U000e0000-\U000e0fff]")
EMOJI = "\ufe0f"
# What the service writes behind names, and in place of names of teams.
OWN = r"baselines?|verified|final(?: entry)?|organi[sz]ers?|administrators?"
MARKS = re.compile(rf"\(\s*((?:{OWN})\W*|reported\b.*)$", re.IGNORECASE)
PEOPLE = r"(?:organi[sz]ers?|administrators?)\b"
TEAMS = re.compile(rf"(?:the )?(?:{OWN})|{PEOPLE} of\b.*|.*\b(?:evalsvc\b|the {PEOPLE}).*", re.IGNORECASE)
CAPITALS_ONLY = ("LISU", "TIFINAGH", "CANADIAN SYLLABICS")  # and of scripts without


_WEB_ADDRESS = URLValidator(schemes=["http", "https"])


def is_web_address(value: object) -> bool:
    """True for an http or https address that is safe to link."""
    try:
        _WEB_ADDRESS(value)
    except ValidationError:
        return False
    return True


def is_storable(text: str) -> bool:
    """Return False for a NUL (PostgreSQL) or a lone surrogate (UTF-8)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def check_storable(value: Any, *, field: str = "") -> None:
    """Reject a JSON value with unstorable text, infinite numbers or deep nesting."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for node in level:
            if isinstance(node, str) and not is_storable(node):
                detail = "A text contains a NUL character or a lone surrogate."
                raise DomainError("strange_text", detail, hint="Remove it.", field=field)
            if isinstance(node, float) and not isfinite(node):
                detail = f"{node} is no number of JSON, or too large."
                raise DomainError("invalid_input", detail, hint="Send a finite number.", field=field)
            if isinstance(node, dict):
                inner += [*node.keys(), *node.values()]
            elif isinstance(node, list | tuple):
                inner += node
        level = inner
    if level:
        raise DomainError("too_deep", TOO_DEEP, field=field)


def require_clear(name: str, *, field: str) -> None:
    """Reject invisible and look-alike characters in a name."""
    require_visible(name, field=field)
    require_single_script(name, field=field)


def require_unmarked(name: str, *, field: str) -> None:
    """Reject a name that ends like what tables write behind names of baselines and of systems of papers."""
    plain = "".join("(" if unicodedata.category(char) == "Ps" else char for char in _plain(name))
    if mark := MARKS.search(plain):
        detail = f"The {field} cannot end in {mark[0].strip()[:60]}."
        hint = "Tables mark baselines and systems of papers in this way."
        raise DomainError("bad_name", detail, hint=hint, field=field)


def require_team_name(name: str, *, field: str) -> None:
    """Reject a name by which the service means people or systems of its own."""
    require_unmarked(name, field=field)
    words = re.sub(r"[\W_]+", " ", _plain(name)).strip()
    if TEAMS.fullmatch(words):
        detail = f"A team cannot be named {name[:60]}."
        hint = "The service means its own people or systems by this. Choose another name."
        raise DomainError("bad_name", detail, hint=hint, field=field)


def _plain(name: str) -> str:
    """Return a name with one form of each character: full-width letters and brackets are plain ones."""
    return unicodedata.normalize("NFKC", name)


def folded(name: str) -> str:
    """Return a name without case, width and accents."""
    plain = unicodedata.normalize("NFKD", _plain(name).casefold())
    if plain.isascii():  # as most names are
        return plain
    return "".join(char for char in plain if not unicodedata.combining(char))


def require_unreserved(slug: str, *, field: str) -> None:
    """Reject an address at which a list has a page of its own."""
    if slug in RESERVED_SLUGS:
        raise Conflict("slug_taken", f"The address {slug} is reserved.", hint="Choose another.", field=field)


def require_visible(text: str, *, field: str) -> None:
    """Reject invisible characters, which disguise a name or reverse a page's text."""
    for char in without_emoji_marks(text):
        is_unseen = char in BLANK or IGNORED.match(char)
        if is_unseen or (char != " " and unicodedata.category(char) in INVISIBLE):
            raise DomainError(
                "unseen_character",
                f"The {field} contains an invisible character: {_code_point(char)}.",
                hint="Type it again, with plain spaces only.",
                field=field,
            )


def without_emoji_marks(text: str) -> str:
    """Leave out the mark that keyboards put behind a symbol to draw it as emoji."""
    if EMOJI not in text:
        return text
    pairs = zip(" " + text, text, strict=False)
    return "".join(char for before, char in pairs if char != EMOJI or unicodedata.category(before) != "So")


def require_single_script(text: str, *, field: str) -> None:
    """Reject a word that mixes Latin letters with look-alikes of another script."""
    for word in _words(text):
        for char in _foreign_letters(word):
            raise DomainError(
                "mixed_alphabets",
                f"The {field} mixes Latin letters with another alphabet in “{word}”: {_code_point(char)}.",
                hint="Type the word in one alphabet, or separate the other letter by a hyphen.",
                field=field,
            )


def without_look_alikes(name: str) -> str:
    """Leave out letters without ink, and those of other scripts in words with Latin letters."""
    seen = "".join(char for char in name if char not in BLANK)
    return "".join(char for word in _words(seen) for char in word if char not in _foreign_letters(word))


def _words(text: str) -> list[str]:
    """Divide a text into words and what is between them."""
    runs = groupby(text, lambda char: unicodedata.category(char)[0] in "LMN")
    return ["".join(chars) for _, chars in runs]


def _foreign_letters(word: str) -> list[str]:
    """Return the letters of other scripts, if the word has Latin ones as well."""
    is_latin = any(unicodedata.name(char, "").startswith("LATIN") for char in word)
    return [char for char in word if is_latin and _is_foreign(char)]


def _code_point(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()


def _is_foreign(letter: str) -> bool:
    name = unicodedata.name(letter, "")
    if name.startswith("LATIN") or letter in SYMBOLS:
        return False
    return unicodedata.category(letter) in LETTERS or name.startswith(CAPITALS_ONLY)


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a JSON value that `check_storable` accepted, member names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for node in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from texts_in(node)
