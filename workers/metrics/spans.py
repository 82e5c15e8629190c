"""Labelled half-open spans of many documents, and exact (CoNLL) counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Counts, Ints, integers
from workers.metrics.encoding import label_codes, repeated, row_keys, shared


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans as columns, one row each; *duplicates* rows were dropped."""

    document: Ints
    start: Ints
    end: Ints
    label: Ints
    n_documents: int
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.document)

    @property
    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Document, start, end, label."""
        return self.document, self.start, self.end, self.label

    @property
    def without_labels(self) -> Spans:
        """The same bounds under one label, each once."""
        bare = np.zeros_like(self.label)
        again = repeated(row_keys([self.document, self.start, self.end])[0])
        return Spans(self.document, self.start, self.end, bare, self.n_documents).select(~again)

    def require_same_documents(self, predicted: Spans) -> None:
        """Raise unless gold (self) and predictions have as many documents."""
        if self.n_documents != predicted.n_documents:
            counts = f"gold has {self.n_documents} documents, predicted {predicted.n_documents}"
            raise ValueError(f"{counts}; expected the same number")

    def select(self, rows: NDArray[np.generic]) -> Spans:
        """Select rows, by mask or position."""
        return Spans(
            self.document[rows],
            self.start[rows],
            self.end[rows],
            self.label[rows],
            self.n_documents,
            self.duplicates,
        )


def spans_of_columns(
    document: ArrayLike, start: ArrayLike, end: ArrayLike, label: ArrayLike, *, n_documents: int
) -> Spans:
    """Make spans from four columns; a repeated span is distinct once.

    Parameters
    ----------
    document, start, end, label : array_like of int
        One row per span: document number, half-open bounds, label code.
    n_documents : int
        How many documents there are, those without spans too.

    Returns
    -------
    Spans

    Raises
    ------
    ValueError
        If columns differ in length, a bound is not 0 ≤ start < end, or a document is out of range.

    Examples
    --------
    >>> spans = spans_of_columns([0, 0], [1, 1], [3, 3], [0, 0], n_documents=1)
    >>> len(spans), spans.duplicates
    (1, 1)
    """
    columns = [integers(column).reshape(-1) for column in (document, start, end, label)]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"columns have lengths {[len(column) for column in columns]}, expected one length")
    docs, starts, ends, _ = columns
    _reject(starts < 0, "span", lambda at: f"starts at {starts[at]}, expected 0 or more")
    _reject(ends <= starts, "span", lambda at: f"is [{starts[at]}, {ends[at]}), expected start < end")
    _reject(
        (docs < 0) | (docs >= n_documents), "span", lambda at: f"is in document {docs[at]} of {n_documents}"
    )
    again = repeated(row_keys(columns)[0])
    distinct = [column[~again] for column in columns]
    return Spans(distinct[0], distinct[1], distinct[2], distinct[3], n_documents, int(again.sum()))


def _reject(wrong: NDArray[np.bool_], what: str, explain: Callable[[int], str]) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{what} {at} {explain(at)}")


def spans_of_lists(documents: Sequence[Iterable[tuple[int, int, str]]], *, labels: Sequence[str]) -> Spans:
    """Make spans from a list of (start, end, label) per document.

    Parameters
    ----------
    documents : sequence of iterables of (start, end, label)
        Half-open bounds and a label of the inventory.
    labels : sequence of str
        The inventory; its order gives the codes.

    Returns
    -------
    Spans

    Raises
    ------
    ValueError
        As `spans_of_columns`, and for a label outside the inventory.

    Examples
    --------
    >>> spans_of_lists([[(0, 2, "PER")], []], labels=["PER"]).n_documents
    2
    """
    rows = [(number, *span) for number, spans in enumerate(documents) for span in spans]
    document, start, end, label = zip(*rows, strict=True) if rows else ((), (), (), ())
    codes = label_codes(label, labels)
    return spans_of_columns(document, start, end, codes, n_documents=len(documents))


def matches(gold: Spans, predicted: Spans) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark gold spans and predictions with an exact counterpart.

    Parameters
    ----------
    gold, predicted : Spans
        Over the same documents and label codes.

    Returns
    -------
    gold_hits, predicted_hits : bool ndarrays
        Aligned with the rows of *gold* and of *predicted*.

    Raises
    ------
    ValueError
        If the numbers of documents differ.

    Examples
    --------
    >>> a = spans_of_columns([0, 0], [0, 5], [2, 6], [0, 0], n_documents=1)
    >>> b = spans_of_columns([0], [0], [2], [0], n_documents=1)
    >>> matches(a, b)[0].tolist()
    [True, False]
    """
    gold.require_same_documents(predicted)
    left, right = row_keys(gold.columns, predicted.columns)
    return shared(left, right)


def exact_counts(gold: Spans, predicted: Spans, *, n_labels: int) -> Counts:
    """Count exact matches of bounds and label.

    Tjong Kim Sang and De Meulder 2003.

    Parameters
    ----------
    gold, predicted : Spans
        Over the same documents and label codes.
    n_labels : int
        Size of the label inventory.

    Returns
    -------
    Counts
        Per label; ``items`` is the number of gold spans.

    Examples
    --------
    >>> a = spans_of_columns([0, 0], [0, 5], [2, 6], [0, 1], n_documents=1)
    >>> b = spans_of_columns([0, 0], [0, 5], [2, 7], [0, 1], n_documents=1)
    >>> exact_counts(a, b, n_labels=2).fp.tolist()
    [0, 1]
    """
    hits, _ = matches(gold, predicted)
    return Counts.from_totals(
        np.bincount(gold.label[hits], minlength=n_labels),
        np.bincount(predicted.label, minlength=n_labels),
        np.bincount(gold.label, minlength=n_labels),
        items=len(gold),
    )
