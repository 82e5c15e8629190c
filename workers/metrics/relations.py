"""Relations between predicted spans, compared with both ends and the direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Counts, Ints, integers, require_choice
from workers.metrics.encoding import row_keys, shared
from workers.metrics.spans import Spans

MODES = ("bounds", "strict")


@dataclass(frozen=True, eq=False)
class Links:
    """Relations as rows: head span, relation code, tail span.

    Spans are given by row number.
    """

    spans: Spans
    head: Ints
    relation: Ints
    tail: Ints

    def __len__(self) -> int:
        return len(self.head)


def links_of_columns(spans: Spans, head: ArrayLike, relation: ArrayLike, tail: ArrayLike) -> Links:
    """Make relations from three columns.

    Parameters
    ----------
    spans : Spans
    head, tail : array_like of int
        Row numbers into *spans*, both ends in one document.
    relation : array_like of int
        Relation codes.

    Returns
    -------
    Links

    Raises
    ------
    ValueError
        If lengths differ, an end is not a row of *spans*, or the ends lie in two documents.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> len(links_of_columns(spans, [0], [2], [1]))
    1
    """
    ends = [integers(column).reshape(-1) for column in (head, relation, tail)]
    if len({len(column) for column in ends}) > 1:
        raise ValueError(f"columns have lengths {[len(column) for column in ends]}, expected one length")
    for name, column in (("head", ends[0]), ("tail", ends[2])):
        if len(column) and not (column.min() >= 0 and column.max() < len(spans)):
            raise ValueError(f"a {name} is not a row of the {len(spans)} spans")
    apart = spans.document[ends[0]] != spans.document[ends[2]]
    if apart.any():
        raise ValueError(f"relation {int(np.argmax(apart))} joins spans of two documents")
    return Links(spans, *ends)


def link_matches(gold: Links, predicted: Links, *, mode: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark matched gold relations, and correct predicted ones without repeats.

    Parameters
    ----------
    gold, predicted : Links
    mode : {"bounds", "strict"}
        The bounds of both spans must agree; if strict, their labels as well.

    Returns
    -------
    gold_hits, predicted_hits : bool ndarrays
        Repeats of a relation within a side are False; see `link_counts`.

    Raises
    ------
    ValueError
        If *mode* is unknown.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> a = links_of_columns(spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1), [0], [2], [1])
    >>> b = links_of_columns(spans_of_columns([0, 0], [0, 3], [1, 4], [0, 0], n_documents=1), [0], [2], [1])
    >>> link_matches(a, b, mode="bounds")[0].tolist(), link_matches(a, b, mode="strict")[0].tolist()
    ([True], [False])
    """
    require_choice("mode", mode, MODES)
    left, right = _distinct(gold, predicted, mode)
    gold_hits, predicted_hits = np.zeros(len(gold), dtype=bool), np.zeros(len(predicted), dtype=bool)
    gold_hits[left[1]], predicted_hits[right[1]] = shared(left[0], right[0])
    return gold_hits, predicted_hits


def _distinct(gold: Links, predicted: Links, mode: str) -> list[tuple[Ints, Ints]]:
    """Return keys without repeats, with their row numbers."""
    keys = row_keys(*(_columns(links, mode) for links in (gold, predicted)))
    return [np.unique(key, return_index=True) for key in keys]


def _columns(links: Links, mode: str) -> list[Ints]:
    spans = links.spans
    columns = [spans.document[links.head], links.relation]
    for end in (links.head, links.tail):
        columns += [spans.start[end], spans.end[end]]
        if mode == "strict":
            columns.append(spans.label[end])
    return columns


def link_counts(gold: Links, predicted: Links, *, mode: str, n_relations: int) -> Counts:
    """Count per relation; a relation repeated within a side counts once.

    *mode* decides on repeats as well.

    Parameters
    ----------
    gold, predicted : Links
    mode : {"bounds", "strict"}
    n_relations : int
        Size of the relation inventory.

    Returns
    -------
    Counts
        ``items`` is the number of distinct gold relations.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> links = links_of_columns(spans, [0], [1], [1])
    >>> link_counts(links, links, mode="strict", n_relations=2).tp.tolist()
    [0, 1]
    """
    hits, _ = link_matches(gold, predicted, mode=mode)
    left, right = _distinct(gold, predicted, mode)
    return Counts.from_totals(
        np.bincount(gold.relation[hits], minlength=n_relations),
        np.bincount(predicted.relation[right[1]], minlength=n_relations),
        np.bincount(gold.relation[left[1]], minlength=n_relations),
        items=len(left[1]),
    )
