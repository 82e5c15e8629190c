"""Whole numbers in text of strangers: Python reads none of more than 4,300 digits."""

from __future__ import annotations

MOST_DIGITS = 9


def whole_number_of(text: str, *, digits: int = MOST_DIGITS) -> int | None:
    """Return a number of few ASCII digits, else None.

    Examples
    --------
    >>> whole_number_of("042"), whole_number_of("-1"), whole_number_of("٣"), whole_number_of("9" * 5_000)
    (42, None, None, None)
    """
    return int(text) if len(text) <= digits and text.isascii() and text.isdecimal() else None
