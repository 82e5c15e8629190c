"""Relations between predicted spans (Taillé et al. 2020), with both ends and the direction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Counts, Ints, integers, require_choice
from workers.metrics.encoding import expand, row_keys, shared
from workers.metrics.ratios import divide
from workers.metrics.spans import Spans

MODES = ("strict", "bounds", "relaxed")
CLAIM_KINDS = ("right", "direction", "relation", "label", "bounds", "argument", "spurious")
_PAIRS_AT_ONCE = 500_000


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

    @property
    def document(self) -> Ints:
        return self.spans.document[self.head]

    def select(self, rows: NDArray[np.generic]) -> Links:
        """Select rows, by mask or position."""
        return Links(self.spans, self.head[rows], self.relation[rows], self.tail[rows])

    def columns(self, *, labels: bool) -> list[Ints]:
        """Document, relation, and bounds of both ends, with labels or without."""
        columns = [self.document, self.relation]
        for end in (self.head, self.tail):
            columns += [self.spans.start[end], self.spans.end[end]]
            if labels:
                columns.append(self.spans.label[end])
        return columns

    def reversed(self) -> Links:
        return Links(self.spans, self.tail, self.relation, self.head)


def links_of_columns(
    spans: Spans, head: ArrayLike, relation: ArrayLike, tail: ArrayLike, *, symmetric: Collection[int] = ()
) -> Links:
    """Make relations from three columns.

    Parameters
    ----------
    spans : Spans
    head, tail : array_like of int
        Row numbers into *spans*, both ends in one document.
    relation : array_like of int
        Relation codes.
    symmetric : collection of int, optional
        Relations without direction: their ends are put in order of start, end and label.

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
    >>> links_of_columns(spans, [1], [2], [0], symmetric=[2]).head.tolist()
    [0]
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
    links = Links(spans, *ends)
    place = np.empty(len(spans), dtype=np.int64)
    place[np.lexsort((spans.label, spans.end, spans.start))] = np.arange(len(spans))
    turned = np.isin(links.relation, list(symmetric)) & (place[links.head] > place[links.tail])
    head_row, tail_row = np.where(turned, links.tail, links.head), np.where(turned, links.head, links.tail)
    return replace(links, head=head_row, tail=tail_row)


def link_counts(gold: Links, predicted: Links, *, mode: str, n_relations: int) -> Counts:
    """Count per relation; a relation repeated within a side, as the mode sees it, counts once.

    Parameters
    ----------
    gold, predicted : Links
    mode : {"strict", "bounds", "relaxed"}
        Bounds of both ends must agree; if strict, their labels as well. Relaxed: the ends overlap and their
        labels agree; tp is the greatest one-to-one pairing per document and relation.
    n_relations : int
        Size of the relation inventory.

    Returns
    -------
    Counts
        ``items`` is the number of distinct gold relations.

    Raises
    ------
    ValueError
        If *mode* is unknown.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> links = links_of_columns(spans, [0], [1], [1])
    >>> link_counts(links, links, mode="strict", n_relations=2).tp.tolist()
    [0, 1]
    """
    compared = compared_links(gold, predicted, mode=mode)
    totals = [np.bincount(links.relation, minlength=n_relations) for links in compared]
    return Counts.from_totals(*totals, items=len(compared.gold))


class ComparedLinks(NamedTuple):
    """Gold relations that were found, and the distinct relations of both sides."""

    correct: Links
    predicted: Links
    gold: Links


def compared_links(gold: Links, predicted: Links, *, mode: str) -> ComparedLinks:
    """Compare relations in a mode of `link_counts`.

    Raises
    ------
    ValueError
        If *mode* is unknown.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> gold, turned = links_of_columns(spans, [0], [0], [1]), links_of_columns(spans, [1], [0], [0])
    >>> [len(links) for links in compared_links(gold, turned, mode="relaxed")]
    [0, 1, 1]
    """
    require_choice("mode", mode, MODES)
    labels = mode != "bounds"
    left, right = distinct_links(gold, labels=labels), distinct_links(predicted, labels=labels)
    if mode == "relaxed":
        matched = _paired(left, right)
    else:
        matched = shared(*row_keys(left.columns(labels=labels), right.columns(labels=labels)))[0]
    return ComparedLinks(left.select(matched), right, left)


def distinct_links(links: Links, *, labels: bool) -> Links:
    """Return relations without repeats, with the labels of their ends or without.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0, 0], [0, 0, 3], [1, 1, 4], [0, 1, 1], n_documents=1)
    >>> links = links_of_columns(spans, [0, 1], [0, 0], [2, 2])
    >>> len(distinct_links(links, labels=True)), len(distinct_links(links, labels=False))
    (2, 1)
    """
    key = row_keys(links.columns(labels=labels))[0]
    return links.select(np.unique(key, return_index=True)[1])


def _paired(gold: Links, predicted: Links) -> NDArray[np.bool_]:
    """Mark the gold relations of the greatest one-to-one pairing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    paired = np.zeros(len(gold), dtype=bool)
    for gold_rows, predicted_rows in _alike(gold, predicted, labels=True):
        golds, rows = np.unique(gold_rows, return_inverse=True)
        predictions, columns = np.unique(predicted_rows, return_inverse=True)
        shape = (len(golds), len(predictions))
        edges = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)
        paired[golds] = maximum_bipartite_matching(edges.tocsr(), perm_type="column") >= 0
    return paired


def _alike(gold: Links, predicted: Links, *, labels: bool) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of one document and relation whose ends overlap, with *labels* also agree.

    Each part has all pairs of its documents and relations; the pairs of all would fill the memory.
    """
    group, other = row_keys([gold.document, gold.relation], [predicted.document, predicted.relation])
    by_group, order = np.argsort(group, kind="stable"), np.argsort(other, kind="stable")
    groups = group[by_group]
    first = np.searchsorted(other[order], groups)
    many = np.searchsorted(other[order], groups, side="right") - first
    last = np.searchsorted(groups, groups, side="right") - 1
    total = np.cumsum(many)

    def fitting(rows: Ints) -> tuple[Ints, Ints]:
        at, place = expand(first[rows], many[rows])
        golds, predictions = by_group[rows[at]], order[place]
        for left, right in ((gold.head, predicted.head), (gold.tail, predicted.tail)):
            a, b = left[golds], right[predictions]
            fits = gold.spans.start[a] < predicted.spans.end[b]
            fits &= predicted.spans.start[b] < gold.spans.end[a]
            if labels:
                fits &= gold.spans.label[a] == predicted.spans.label[b]
            golds, predictions = golds[fits], predictions[fits]
        return golds, predictions

    for part in _split(np.arange(len(gold)), total[last]):
        parts = [fitting(rows) for rows in _split(part, total[part])]
        yield (
            np.concatenate([golds for golds, _ in parts]),
            np.concatenate([predictions for _, predictions in parts]),
        )


def _split(rows: Ints, total: Ints) -> list[Ints]:
    """Split rows where their running total passes a multiple of the pairs that are held at once."""
    return np.split(rows, np.flatnonzero(np.diff(total // _PAIRS_AT_ONCE)) + 1)


def argument_ceiling(gold: Links, predicted: Spans, *, labels: bool) -> float:
    """Share of gold relations whose two ends were both predicted as spans.

    Parameters
    ----------
    gold : Links
    predicted : Spans
    labels : bool
        The labels of the ends must agree as well as their bounds.

    Returns
    -------
    float
        The greatest recall that any relations between these spans can reach; nan without any.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> argument_ceiling(links_of_columns(spans, [0, 0], [0, 0], [1, 0]), spans.select([0]), labels=True)
    0.5
    """
    facts = distinct_links(gold, labels=labels)
    used = 4 if labels else 3
    spans, other = row_keys(list(facts.spans.columns)[:used], list(predicted.columns)[:used])
    predicted_ends = np.isin(spans, other)
    return float(divide((predicted_ends[facts.head] & predicted_ends[facts.tail]).sum(), len(facts)))


def claim_kinds(gold: Links, predicted: Links) -> dict[str, int]:
    """Count claims by the first kind that fits, compared strictly.

    Right; *direction*: the reverse is gold; *relation*: another relation of the same ends; *label*: only
    labels of ends differ; *bounds*: both ends overlap those of a gold relation of this name; *argument*: an
    end is no gold span; otherwise *spurious*.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> gold, turned = links_of_columns(spans, [0], [0], [1]), links_of_columns(spans, [1], [0], [0])
    >>> [kind for kind, count in claim_kinds(gold, turned).items() if count]
    ['direction']
    """
    kinds = kinds_of_claims(gold, predicted)[1]
    return dict(zip(CLAIM_KINDS, np.bincount(kinds, minlength=len(CLAIM_KINDS)).tolist(), strict=True))


def kinds_of_claims(gold: Links, predicted: Links) -> tuple[Links, Ints]:
    """Return the distinct claims, and the place of the kind of each in `CLAIM_KINDS`.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> gold, claim = links_of_columns(spans, [0], [0], [1]), links_of_columns(spans, [0], [1], [1])
    >>> CLAIM_KINDS[kinds_of_claims(gold, claim)[1][0]]
    'relation'
    """
    facts, claims = distinct_links(gold, labels=True), distinct_links(predicted, labels=True)
    whole = [
        [*facts.columns(labels=True)],
        [*claims.columns(labels=True)],
        [*claims.reversed().columns(labels=True)],
    ]
    fact, claim, turned = row_keys(*whole)
    fact_ends, claim_ends = row_keys(*([rows[0], *rows[2:]] for rows in whole[:2]))
    fact_bounds, claim_bounds = row_keys(facts.columns(labels=False), claims.columns(labels=False))
    gold_span, span = row_keys(gold.spans.columns, predicted.spans.columns)
    known = np.isin(span, gold_span)
    alike = np.zeros(len(claims), dtype=bool)
    for _, rows in _alike(facts, claims, labels=False):
        alike[rows] = True
    tests = [
        np.isin(claim, fact),
        np.isin(turned, fact),
        np.isin(claim_ends, fact_ends),
        np.isin(claim_bounds, fact_bounds),
        alike,
        ~(known[claims.head] & known[claims.tail]),
        np.ones(len(claims), dtype=bool),
    ]
    return claims, np.select(tests, list(range(len(tests))))
