"""Options of imports, and their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotation.imports.upload_precheck import ROLES
from annotation.models import Batch
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.documents import UNITS
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES
from evalsvc.core.formats.whole_numbers import whole_number_of

OPTIONS: dict[str, frozenset[str]] = {
    Batch.What.ITEMS: frozenset(
        {"on_error", "labels", "negative", "scheme", "repair", "column", "known", "unit", "names"}
    ),
    Batch.What.VOTES: frozenset({"on_error", "labels", "negative", "empty", "k", "item", "unit"}),
    Batch.What.SUGGESTIONS: frozenset({"on_error", "negative"}),
    Batch.What.GOLD: frozenset(
        {"name", "version", "kind", "labels", "negative", "scheme", "repair", "column", "unit", "names"}
        | {"source_of"}
    ),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "on_error": ("refuse-lines", "refuse-file"),
    "empty": ("no-vote", "no-label"),
    "known": ("qualify", "check"),
    "scheme": SCHEMES,
    "repair": REPAIRS,
    "unit": UNITS,
}


def _is_column(value: Any) -> bool:
    """From either end; as a number or, from forms, as text."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    column = whole_number_of(text.removeprefix("-"))
    return column is not None and column <= 1_000


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value)


# Checks of option values, with the expected value for messages.
VALUE_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "k": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000,
        "a whole number from 1 to 1,000",
    ),
    "column": (_is_column, "a column number; 0 is the first column, -1 the last"),
    "negative": (
        lambda value: (isinstance(value, str) and bool(value)) or (_are_names(value) and bool(value)),
        "a name, or a list of names, for N/A",
    ),
    "names": (
        lambda value: _are_names(value) and bool(value),
        "a list of names, in the order of their numbers",
    ),
    "item": (lambda value: isinstance(value, str) and 0 < len(value) <= 200, "the id of an item"),
    "labels": (lambda value: value == "add" or _are_names(value), "“add”, or a list of names"),
}


def check_options(content: str, format: str, options: dict[str, Any]) -> None:
    unknown = set(options) - OPTIONS[content]
    if unknown:
        raise DomainError(
            "unknown_option",
            f"Unknown option for an import of {content}: {', '.join(sorted(unknown))}.",
            hint=f"Use only: {', '.join(sorted(OPTIONS[content]))}.",
            field="options",
        )
    if format and format not in formats():
        detail = f"Unknown format {format!r}. Use one of: {', '.join(formats(ROLES[content]))}."
        raise DomainError("unknown_format", detail, field="format")
    for name, value in options.items():
        is_valid, expected = VALUE_CHECKS.get(name, (None, ""))
        if name in CHOICES:
            is_valid, expected = CHOICES[name].__contains__, f"one of: {', '.join(CHOICES[name])}"
        if is_valid and not is_valid(value):
            raise DomainError("bad_option", f"Invalid {name}: {value!r}. Use {expected}.", field=name)
