"""Agreement of annotators on spans: F1 of pairs by type, α of tokens, confused types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.annotators import pairs_within
from workers.metrics.counts import Ints, integers
from workers.metrics.encoding import row_keys
from workers.metrics.ratios import Floats, divide
from workers.metrics.spans import Spans

Outside = frozenset[str]()


@dataclass(frozen=True, eq=False)
class SharedSpans:
    """Rows (item, label): spans that pairs of answers share, and spans of both sides of all pairs."""

    item: Ints
    label: Ints
    shared: Floats
    total: Floats
    n_labels: int

    def f1(self, weights: ArrayLike | None = None) -> Floats:
        """Return F1 = 2 · shared / total by label, then over all labels; nan without a span.

        Sums over all pairs of answers to an item, each item taken weights[i] times.
        """
        taken = (
            np.ones(len(self.item)) if weights is None else np.asarray(weights, dtype=np.float64)[self.item]
        )
        shared, total = (
            np.bincount(self.label, weights=taken * each, minlength=self.n_labels)
            for each in (self.shared, self.total)
        )
        return np.asarray(divide(2 * np.append(shared, shared.sum()), np.append(total, total.sum())))


def shared_spans(item: ArrayLike, spans: Spans, *, n_labels: int) -> SharedSpans:
    """Count the spans that every two answers to an item share, by label.

    Parameters
    ----------
    item : array_like of int, shape (answers,)
    spans : Spans
        Whose "document" is the answer that holds the span.
    n_labels : int

    Returns
    -------
    SharedSpans
        Two spans are equal if start, end and label are.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 1, 1], [0, 0, 5], [2, 2, 6], [0, 0, 1], n_documents=2)
    >>> shared_spans([0, 0], spans, n_labels=2).f1().round(4).tolist()
    [1.0, 0.0, 0.6667]
    """
    items = integers(item)
    of_item = items[spans.document]
    others = np.bincount(items, minlength=1)[of_item] - 1.0
    key = row_keys((of_item, spans.start, spans.end, spans.label))[0]
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    cells, row = np.unique(of_item * n_labels + spans.label, return_inverse=True)
    total: Floats = np.bincount(row, weights=others, minlength=len(cells)).astype(np.float64)
    pairs = times * (times - 1) / 2
    alike: Floats = np.bincount(row[first], weights=pairs, minlength=len(cells)).astype(np.float64)
    return SharedSpans(cells // n_labels, cells % n_labels, alike, total, n_labels)


def confused_labels(item: ArrayLike, spans: Spans, *, n_labels: int) -> NDArray[np.int64]:
    """Count the labels that two answers give to the same bounds.

    Parameters
    ----------
    item : array_like of int, shape (answers,)
    spans : Spans
        Whose "document" is the answer that holds the span.
    n_labels : int

    Returns
    -------
    int64 ndarray of shape (n_labels, n_labels)
        Symmetric: [a, b] counts pairs of answers of which one says a and the other b.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 1], [0, 0], [2, 2], [0, 1], n_documents=2)
    >>> confused_labels([0, 0], spans, n_labels=2).tolist()
    [[0, 1], [1, 0]]
    """
    key = row_keys((integers(item)[spans.document], spans.start, spans.end))[0]
    left, right = pairs_within(key)
    apart = spans.document[left] != spans.document[right]
    a, b = spans.label[left[apart]], spans.label[right[apart]]
    one_way = np.bincount(a * n_labels + b, minlength=n_labels**2).reshape(n_labels, n_labels)
    return np.asarray(one_way + one_way.T - np.diag(np.diag(one_way)))


@dataclass(frozen=True, eq=False)
class TokenLabels:
    """Labels of tokens by item: disagreement of each item, and rows (item, category, count)."""

    apart: Floats
    item: Ints
    category: Ints
    count: Floats

    def alpha(self, weights: ArrayLike | None = None) -> float:
        """Compute Krippendorff's nominal α with item i taken weights[i] times; nan if undefined."""
        taken = np.ones(len(self.apart)) if weights is None else np.asarray(weights, dtype=np.float64)
        spread = np.bincount(self.category, weights=self.count * taken[self.item], minlength=1)
        n = spread.sum()
        expected = n * n - np.dot(spread, spread)
        return float(1 - divide(np.dot(taken, self.apart) * (n - 1), expected))


class TokenCounter:
    """Collects the labels that answers give to tokens, item by item.

    The unit is a token, its value the set of types of all spans that cover it; none of them is a value too.
    Items with one answer have no pairs, and are left out.
    """

    def __init__(self) -> None:
        self._apart: list[float] = []
        self._rows: list[tuple[int, int, int]] = []
        self._category: dict[frozenset[str], int] = {Outside: 0}

    def add(self, answers: Sequence[Mapping[int, frozenset[str]]], n_tokens: int) -> None:
        """Add the next item: the labels of its marked tokens in each answer."""
        at, m = len(self._apart), len(answers)
        self._apart.append(0.0)
        if m < 2:
            return
        marked = set().union(*answers)
        counts = {Outside: (n_tokens - len(marked)) * m}
        for token in marked:
            values = [answer.get(token, Outside) for answer in answers]
            times = {value: values.count(value) for value in set(values)}
            alike = sum(n * (n - 1) for n in times.values()) / (m * (m - 1))
            self._apart[at] += m * (1 - alike)
            for value, n in times.items():
                counts[value] = counts.get(value, 0) + n
        rows = ((self._category.setdefault(value, len(self._category)), n) for value, n in counts.items())
        self._rows += [(at, category, n) for category, n in rows if n]

    def table(self) -> TokenLabels:
        """Return the counts as columns."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 3)
        apart = np.array(self._apart, dtype=np.float64)
        return TokenLabels(apart, rows[:, 0], rows[:, 1], rows[:, 2].astype(np.float64))
