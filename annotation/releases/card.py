"""The words of curators on the card of a test set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from annotation.models import Card
from annotation.testset import TestSet, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError

MAX_WORDS, MAX_AUTHORS = 50_000, 200
IDENTIFIER, LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*"), re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]+)*")


def card_of(test_set: TestSet) -> Card:
    """Return the card, an empty one if nobody wrote on it."""
    return Card.objects.filter(test_set=test_set).first() or Card(test_set=test_set)


def change(test_set: TestSet, *, by: User, **values: Any) -> Card:
    """Change the given fields; the gold and its digest stay."""
    test_set.require_reader(by)
    for name in ("authors", "languages"):
        if name in values:
            values[name] = [text for entry in values[name] if (text := " ".join(entry.split()))]
    _check(**values)
    before = card_of(test_set)
    card, _ = Card.objects.update_or_create(
        test_set=test_set, defaults=values | {"by": by}, create_defaults=values | {"by": by}
    )
    old = {name: getattr(before, name) for name in values}
    record_change(test_set, "card", by=by, before=old, after=values)
    return card


def _check(
    *, words: str = "", authors: Sequence[str] = (), licence: str = "", languages: Sequence[str] = ()
) -> None:
    if len(words) > MAX_WORDS or len(authors) > MAX_AUTHORS or any(len(name) > 200 for name in authors):
        limits = f"at most {MAX_WORDS:,} characters, and {MAX_AUTHORS} authors of 200 characters"
        raise DomainError("invalid_input", f"A card has {limits}.", field="words")
    if licence and not IDENTIFIER.fullmatch(licence):
        detail = f"{licence!r} is not a licence identifier. Use letters, digits, dots and hyphens: cc-by-4.0."
        raise DomainError("invalid_input", detail, field="licence")
    for code in languages:
        if not LANGUAGE.fullmatch(code):
            detail = f"{code!r} is not a language code. Use codes such as en, de or zh-Hans."
            raise DomainError("invalid_input", detail, field="languages")
