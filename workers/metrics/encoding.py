"""Codes for names, and keys for rows of several columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from workers.metrics.counts import Ints

_LIMIT = 2**62


class Vocabulary(dict[Hashable, int]):
    """Codes of names by first use; lookup adds new names."""

    def __missing__(self, name: Hashable) -> int:
        code = len(self)
        self[name] = code
        return code

    @property
    def names(self) -> list[Hashable]:
        """Names in the order of their codes."""
        return list(self)


def encode(items: Sequence[Hashable], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Turn names into codes; add names that *vocabulary* lacks.

    Parameters
    ----------
    items : sequence of hashable
        Names, usually str.
    vocabulary : Vocabulary
        Shared by everything that must be comparable.

    Returns
    -------
    int32 ndarray of shape (len(items),)

    Examples
    --------
    >>> known = Vocabulary()
    >>> encode(["b", "a", "b"], known).tolist(), known.names
    ([0, 1, 0], ['b', 'a'])
    """
    return np.fromiter(map(vocabulary.__getitem__, items), dtype=np.int32, count=len(items))


def label_codes(items: Sequence[str | None], labels: Sequence[str]) -> NDArray[np.int32]:
    """Return codes of labels in a fixed inventory; None is −1.

    Parameters
    ----------
    items : sequence of str or None
        Labels as read.
    labels : sequence of str
        The inventory; its order gives the codes.

    Returns
    -------
    int32 ndarray

    Raises
    ------
    ValueError
        If an item is not in the inventory; names the first such position.

    Examples
    --------
    >>> label_codes(["B", None, "A"], ["A", "B"]).tolist()
    [1, -1, 0]
    """
    index: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    index[None] = -1
    try:
        return np.fromiter(map(index.__getitem__, items), dtype=np.int32, count=len(items))
    except KeyError:
        at = next(i for i, item in enumerate(items) if item not in index)
        known = ", ".join(labels[:8]) + (" …" if len(labels) > 8 else "")
        raise ValueError(f"position {at}: {items[at]!r} is not a label, expected one of: {known}") from None


def row_keys(*tables: Sequence[NDArray[np.integer]]) -> list[Ints]:
    """Make one integer per row, equal exactly where rows are equal.

    Parameters
    ----------
    *tables : sequences of integer ndarrays
        Each table is a sequence of columns of one length; all tables have the same columns.

    Returns
    -------
    list of int64 ndarray
        Keys per table; they sort like the rows.

    Examples
    --------
    >>> a, b = row_keys([np.array([0, 1]), np.array([5, 5])], [np.array([1]), np.array([5])])
    >>> bool(a[1] == b[0]), bool(a[0] == b[0])
    (True, False)
    """
    sizes = np.cumsum([len(table[0]) for table in tables])[:-1]
    columns = [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*tables, strict=True)]
    if not columns:
        raise ValueError("a row key needs at least one column")
    key: Ints = columns[0].astype(np.int64, copy=False)
    for column in columns[1:]:
        key = _paired(key, column.astype(np.int64, copy=False))
    return np.split(key, sizes)


def _paired(left: Ints, right: Ints) -> Ints:
    """Combine two columns; compact them first if their product would overflow."""
    if left.size == 0:
        return left
    width = int(right.max()) - int(right.min()) + 1
    if width == 1:
        return left
    least, most = int(left.min()), int(left.max())
    if (most - least + 1) * width >= _LIMIT:
        left = np.unique(left, return_inverse=True)[1].reshape(-1)
        right = np.unique(right, return_inverse=True)[1].reshape(-1)
        least, width = 0, int(right.max()) + 1
    key = (left - least) * width
    key += right - right.min()
    return key


def distinct(codes: Ints) -> Ints:
    """Return the distinct codes in order.

    The same as `numpy.unique`, which hashes integers and is ten times slower on a few thousand of them.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(codes)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def repeated(key: Ints) -> NDArray[np.bool_]:
    """Mark rows that repeat an earlier one.

    Parameters
    ----------
    key : int64 ndarray
        One key per row.

    Returns
    -------
    bool ndarray

    Examples
    --------
    >>> repeated(np.array([4, 7, 4])).tolist()
    [False, False, True]
    """
    earlier = np.ones(len(key), dtype=bool)
    earlier[np.unique(key, return_index=True)[1]] = False
    return earlier


def shared(left: Ints, right: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the keys of each side that occur on the other side.

    Keys must be unique within a side.

    Parameters
    ----------
    left, right : int64 ndarray
        Keys without repeats; fastest if each side is sorted.

    Returns
    -------
    in_right, in_left : bool ndarrays
        Aligned with *left* and *right*.

    Examples
    --------
    >>> [side.tolist() for side in shared(np.array([1, 4]), np.array([9, 4, 2]))]
    [[False, True], [False, True, False]]
    """
    both = np.concatenate((left, right))
    order = np.argsort(both, kind="stable")
    ranked = both[order]
    twin = np.flatnonzero(ranked[1:] == ranked[:-1])
    common = np.zeros(len(both), dtype=bool)
    common[order[twin]] = True
    common[order[twin + 1]] = True
    return common[: len(left)], common[len(left) :]


def expand(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """List the integers first[i] … first[i]+count[i]−1 for every i.

    Parameters
    ----------
    first, count : int64 ndarray
        Where each range starts and how long it is.

    Returns
    -------
    owner, position : int64 ndarrays
        Which range, and which integer of it.

    Examples
    --------
    >>> owner, position = expand(np.array([5, 9]), np.array([2, 1]))
    >>> owner.tolist(), position.tolist()
    ([0, 0, 1], [5, 6, 9])
    """
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.repeat(first - (np.cumsum(count) - count), count) + np.arange(len(owner))
