"""Closed sets of option values, checked at the door."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return *value* if it is one of *allowed*; otherwise say what would be.

    Parameters
    ----------
    name : str
        The option as the caller wrote it, for the message.
    value : str
        The value given.
    allowed : iterable of str
        Every value the option knows.

    Returns
    -------
    str
        *value*, unchanged.

    Raises
    ------
    ValueError
        If *value* is none of *allowed*; the message lists them.

    Examples
    --------
    >>> one_of("mode", "strict", ("strict", "lenient"))
    'strict'
    >>> one_of("mode", "lax", ("strict", "lenient"))
    Traceback (most recent call last):
    ValueError: mode is 'lax', expected one of: strict, lenient
    """
    known = tuple(allowed)
    if value not in known:
        raise ValueError(f"{name} is {value!r}, expected one of: {', '.join(known)}")
    return value
