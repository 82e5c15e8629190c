"""Counts per class that add up over documents, shards and bags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]


def integers(values: ArrayLike) -> Ints:
    """Convert to int64; reject numbers with a fraction.

    Parameters
    ----------
    values : array_like
        Integers, or floats without a fraction.

    Returns
    -------
    int64 ndarray

    Raises
    ------
    ValueError
        If a value has a fraction or is not a number.

    Examples
    --------
    >>> integers([1, 2]).dtype.name
    'int64'
    >>> integers([0.5])
    Traceback (most recent call last):
    ValueError: expected whole numbers, got 0.5
    """
    given = np.asarray(values)
    if given.dtype.kind in "iub":
        return given.astype(np.int64, copy=False)
    if given.size == 0:
        return given.astype(np.int64)
    whole = given.astype(np.float64)
    wrong = whole != np.floor(whole)
    if wrong.any():
        raise ValueError(f"expected whole numbers, got {given[wrong].flat[0]}")
    return whole.astype(np.int64)


def require_choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return *value* if it is one of *allowed*, else raise.

    Parameters
    ----------
    name : str
        Name of the option, for the message.
    value : str
        The value to check.
    allowed : iterable of str
        Every valid value.

    Returns
    -------
    str
        *value*, unchanged.

    Raises
    ------
    ValueError
        If *value* is not in *allowed*; the message lists them.

    Examples
    --------
    >>> require_choice("mode", "strict", ("strict", "lenient"))
    'strict'
    >>> require_choice("mode", "lax", ("strict", "lenient"))
    Traceback (most recent call last):
    ValueError: mode is 'lax', expected one of: strict, lenient
    """
    known = tuple(allowed)
    if value not in known:
        raise ValueError(f"{name} is {value!r}, expected one of: {', '.join(known)}")
    return value


@dataclass(frozen=True, eq=False)
class Counts:
    """True positives, false positives and false negatives per class.

    *items* is the number of judged items.
    """

    tp: Ints
    fp: Ints
    fn: Ints
    items: int = 0

    @classmethod
    def of(cls, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, *, items: int = 0) -> Counts:
        """Make counts from anything array-like."""
        return cls(integers(tp), integers(fp), integers(fn), items)

    @classmethod
    def from_totals(cls, correct: Ints, predicted: Ints, gold: Ints, *, items: int = 0) -> Counts:
        """Make counts from numbers of correct, predicted and gold labels."""
        return cls(correct, predicted - correct, gold - correct, items)

    @property
    def gold(self) -> Ints:
        """Number of gold labels of each class (n_i)."""
        return self.tp + self.fn

    @property
    def predicted(self) -> Ints:
        """Number of predictions of each class."""
        return self.tp + self.fp

    def select(self, chosen: NDArray[np.bool_] | Ints) -> Counts:
        """Select some classes; *items* stays."""
        return Counts(self.tp[chosen], self.fp[chosen], self.fn[chosen], self.items)

    def total(self) -> Counts:
        """Sum all classes into one (micro)."""
        return Counts.of([self.tp.sum()], [self.fp.sum()], [self.fn.sum()], items=self.items)

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.items + other.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = (
            np.array_equal(a, b) for a, b in ((self.tp, other.tp), (self.fp, other.fp), (self.fn, other.fn))
        )
        return self.items == other.items and all(same)

    __hash__ = None  # type: ignore[assignment]
