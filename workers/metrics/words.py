"""Words inside entities: tokens, sets of unigrams per document and class, and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints, integers
from workers.metrics.encoding import Vocabulary, encode, row_keys, shared
from workers.metrics.ratios import Floats, divide, f_score
from workers.metrics.spans import Spans

WORDS_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokens of all documents in reading order: position and unigram number."""

    document: Ints
    start: Ints
    end: Ints
    unigram: Ints

    @cached_property
    def n_unigrams(self) -> int:
        """Largest unigram number plus one."""
        return 1 + int(self.unigram.max(initial=0))

    @cached_property
    def keys(self) -> tuple[int, Ints, Ints]:
        """Reach, and start and end as document · reach + position.

        Reach is greater than any end.
        """
        reach = 1 + int(self.end.max(initial=0))
        return reach, self.document * reach + self.start, self.document * reach + self.end

    def overlapped(self, spans: Spans) -> tuple[Ints, Ints]:
        """Return the first token that each span overlaps, and the one after the last."""
        reach, starts, ends = self.keys
        start, end = (
            spans.document * reach + np.minimum(side, reach - 1) for side in (spans.start, spans.end)
        )
        return np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left")


class ListTokens(Tokens):
    """Tokens of lists, each of length 1; their columns are made when asked for."""

    def __init__(self, lengths: Ints, unigram: Ints) -> None:
        vars(self).update(lengths=lengths, unigram=unigram, first=np.cumsum(lengths) - lengths)

    lengths: Ints
    first: Ints

    @cached_property
    def document(self) -> Ints:
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def start(self) -> Ints:
        return np.arange(len(self.unigram)) - np.repeat(self.first, self.lengths)

    @cached_property
    def end(self) -> Ints:
        return self.start + 1

    def overlapped(self, spans: Spans) -> tuple[Ints, Ints]:
        first, length = self.first[spans.document], self.lengths[spans.document]
        return first + np.minimum(spans.start, length), first + np.minimum(spans.end, length)


def tokens_of_lists(documents: Sequence[Sequence[str]], *, casefold: bool = False) -> Tokens:
    """Make tokens from words, for spans counted in tokens.

    Parameters
    ----------
    documents : sequence of sequences of str
    casefold : bool, default False
        Treat words that differ only in case as one unigram.

    Returns
    -------
    Tokens
        Token i of a document covers [i, i+1).

    Examples
    --------
    >>> tokens_of_lists([["a", "b"], ["A"]], casefold=True).unigram.tolist()
    [0, 1, 0]
    """
    words = list(chain.from_iterable(documents))
    lengths = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
    known = [word.casefold() for word in words] if casefold else words
    return ListTokens(lengths, encode(known, Vocabulary()).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Words:
    """Sets of unigrams in entities, one row per document, class and unigram."""

    document: Ints
    label: Ints
    unigram: Ints
    n_documents: int
    key: Ints | None = None
    """Where given, (document · labels + label) · unigrams + unigram of each row, ascending."""
    base: tuple[int, int] = (0, 0)
    """The labels and unigrams by which *key* was made."""


def words_of_spans(spans: Spans, tokens: Tokens) -> Words:
    """Collect unigrams of tokens that entities overlap, per document and class.

    Parameters
    ----------
    spans : Spans
        In the units of the tokens' positions.
    tokens : Tokens
        Sorted by document and start, not overlapping.

    Returns
    -------
    Words

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 2], [2, 4], [0, 0], n_documents=1)
    >>> words_of_spans(spans, tokens_of_lists([["tip", "of", "the", "tip"]])).unigram.tolist()
    [0, 1, 2]
    """
    first, after = tokens.overlapped(spans)
    count = np.maximum(after - first, 0)
    labels, unigrams = 1 + int(spans.label.max(initial=0)), tokens.n_unigrams
    _require_int64(spans.n_documents, labels, unigrams)
    base = (spans.document * labels + spans.label) * unigrams
    ends = np.flatnonzero(np.diff(np.cumsum(count) // WORDS_AT_ONCE)) + 1
    if len(ends):  # spans over each other share most of their words, which would fill the memory
        parts = np.split(np.arange(len(count)), ends)
        keys = np.concatenate(
            [np.unique(_word_keys(first[part], count[part], base[part], tokens)) for part in parts]
        )
    else:
        keys = _word_keys(first, count, base, tokens)
    return _as_sets(keys, labels, unigrams, n_documents=spans.n_documents)


def _word_keys(first: Ints, count: Ints, base: Ints, tokens: Tokens) -> Ints:
    """Return a key per word of each span, made in place: allocating costs more than filling."""
    token = np.repeat(first - (np.cumsum(count) - count), count)
    token += np.arange(len(token))
    keys = np.repeat(base, count)
    keys += tokens.unigram[token]
    return keys


def words_of_columns(
    document: ArrayLike,
    label: ArrayLike,
    unigram: ArrayLike,
    *,
    n_documents: int,
    n_labels: int,
    n_unigrams: int,
) -> Words:
    """Make sets of unigrams from columns; repeats count once.

    Parameters
    ----------
    document, label, unigram : array_like of int
        One row per word.
    n_documents, n_labels, n_unigrams : int
        Equal for sets that are compared.

    Returns
    -------
    Words

    Examples
    --------
    >>> words_of_columns([0, 0], [1, 1], [2, 2], n_documents=1, n_labels=2, n_unigrams=3).unigram.tolist()
    [2]
    """
    _require_int64(n_documents, n_labels, n_unigrams)
    keys = (integers(document) * n_labels + integers(label)) * n_unigrams + integers(unigram)
    return _as_sets(keys, n_labels, n_unigrams, n_documents=n_documents)


def _require_int64(n_documents: int, labels: int, unigrams: int) -> None:
    if n_documents * labels * unigrams >= 2**62:
        raise ValueError(f"{n_documents} documents × {labels} classes × {unigrams} unigrams are over 2**62")


def _as_sets(keys: Ints, labels: int, unigrams: int, *, n_documents: int) -> Words:
    """Make word sets from keys; *keys* is sorted in place."""
    keys.sort()
    first = np.empty(len(keys), dtype=bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    keys = keys[first]
    pair = keys // unigrams
    word = keys - pair * unigrams
    owner, name = np.divmod(pair, labels) if labels > 1 else (pair, np.zeros_like(pair))
    return Words(owner, name, word, n_documents, keys, (labels, unigrams))


@dataclass(frozen=True, eq=False)
class WrfCounts:
    """|P∩T|, |P| and |T| per class, with the combined class last.

    A single class has no combined class.
    """

    matched: Ints
    predicted: Ints
    target: Ints

    def __add__(self, other: WrfCounts) -> WrfCounts:
        return WrfCounts(
            self.matched + other.matched, self.predicted + other.predicted, self.target + other.target
        )

    @property
    def f1(self) -> Floats:
        """R1-F1 per class; nan without words, 0 if one side is empty."""
        scores = f_score(self.matched, self.predicted - self.matched, self.target - self.matched)
        return np.asarray(scores, dtype=np.float64)

    @property
    def precision(self) -> Floats:
        """R1-P per class; nan without words, 0 without predicted ones."""
        return self._share_of(self.predicted)

    @property
    def recall(self) -> Floats:
        """R1-R per class; nan without words, 0 without target ones."""
        return self._share_of(self.target)

    def _share_of(self, side: Ints) -> Floats:
        shares = np.asarray(divide(self.matched, side), dtype=np.float64)
        return np.where((side == 0) & (self.predicted + self.target > 0), 0.0, shares)


def wrf_counts(target: Words, predicted: Words, *, n_labels: int, per_document: bool = False) -> WrfCounts:
    """Count the unigram sets and their intersections.

    Parameters
    ----------
    target, predicted : Words
        Over the same documents, labels and unigrams.
    n_labels : int
        C, the classes of the ontology.
    per_document : bool, default False
        One row per document that has any word, instead of the sum over documents.

    Returns
    -------
    WrfCounts
        Arrays of shape (K,) or (documents, K), K = C + 1 for C > 1, else 1.

    Examples
    --------
    >>> words = Words(np.array([0]), np.array([0]), np.array([5]), 1)
    >>> wrf_counts(words, words, n_labels=2).matched.tolist()
    [1, 0, 1]
    """
    rows, owners = _rows(target, predicted, per_document)
    parts = _sizes(target, predicted, rows, (owners, n_labels))
    if n_labels > 1:
        merged = (_combined(target), _combined(predicted))
        whole = _sizes(*merged, _rows(*merged, per_document)[0], (owners, 1))
        parts = tuple(np.concatenate(pair, axis=1) for pair in zip(parts, whole, strict=True))
    return WrfCounts(*(part if per_document else part[0] for part in parts))


def _rows(target: Words, predicted: Words, per_document: bool) -> tuple[tuple[Ints, Ints], int]:
    """Return the row of the result in which each word counts."""
    if not per_document:
        return (np.zeros_like(target.document), np.zeros_like(predicted.document)), 1
    used = np.zeros(target.n_documents, dtype=bool)
    used[target.document] = used[predicted.document] = True
    row = np.cumsum(used) - 1
    return (row[target.document], row[predicted.document]), int(np.count_nonzero(used))


def _sizes(
    target: Words, predicted: Words, rows: tuple[Ints, Ints], shape: tuple[int, int]
) -> tuple[Ints, ...]:
    hits = _hits(target, predicted)
    cells = rows[0] * shape[1] + target.label
    predicted_cells = rows[1] * shape[1] + predicted.label
    size = shape[0] * shape[1]
    return tuple(
        np.bincount(part, minlength=size).reshape(shape) for part in (cells[hits], predicted_cells, cells)
    )


def _hits(target: Words, predicted: Words) -> NDArray[np.generic]:
    """Return the rows of the target that are predicted, as an index."""
    if target.base == predicted.base and target.key is not None and predicted.key is not None:
        both = np.concatenate((target.key, predicted.key))
        both.sort(kind="stable")  # merges two ascending runs
        return np.searchsorted(target.key, both[1:][both[1:] == both[:-1]])
    sides = ((words.document, words.label, words.unigram) for words in (target, predicted))
    return shared(*row_keys(*sides))[0]


def _combined(words: Words) -> Words:
    """Merge all classes into one."""
    unigrams = words.base[1] or 1 + int(words.unigram.max(initial=0))
    _require_int64(words.n_documents, 1, unigrams)
    keys = words.document * unigrams + words.unigram
    return _as_sets(keys, 1, unigrams, n_documents=words.n_documents)


class WordCounts(NamedTuple):
    """Counts of words summed over documents, and of each document that has any."""

    pooled: WrfCounts
    documents: WrfCounts


def word_counts(target: Words, predicted: Words, *, n_labels: int) -> WordCounts:
    """Count the words of both sides, pooled and per document.

    Parameters
    ----------
    target, predicted : Words
        Over the same documents, labels and unigrams.
    n_labels : int

    Returns
    -------
    WordCounts

    Examples
    --------
    >>> words = Words(np.array([0]), np.array([0]), np.array([5]), 1)
    >>> word_counts(words, words, n_labels=1).pooled.matched.tolist()
    [1]
    """
    documents = wrf_counts(target, predicted, n_labels=n_labels, per_document=True)
    columns = (documents.matched, documents.predicted, documents.target)
    return WordCounts(WrfCounts(*(column.sum(axis=0) for column in columns)), documents)
