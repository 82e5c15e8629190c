"""WRF: weighted ROUGE-1 F1 over the words inside entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints, integers, require_choice
from workers.metrics.encoding import Vocabulary, encode, row_keys, shared
from workers.metrics.ratios import Floats, divide, f_score
from workers.metrics.report import ClassRow, Value, value_of
from workers.metrics.spans import Spans
from workers.metrics.weights import scheme_weights, why_undefined

MODES = ("strict", "lenient")
COMBINED = "*"
WORDS_AT_ONCE = 1_000_000
EMPTY = "no gold or predicted entity contains a word"


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


def gammas(
    n_labels: int,
    *,
    mode: str = "strict",
    custom: ArrayLike | None = None,
    scheme: str | None = None,
    gold: ArrayLike | None = None,
) -> Floats:
    """Return the weights γ of WRF: sum 1, combined class last.

    strict: 1/(C+1) each; lenient: γ_combined = 2·γ_i. With a *scheme* the combined class keeps its share and
    the rest is divided by the scheme's weights over gold entity counts. C = 1: γ = 1.

    Parameters
    ----------
    n_labels : int
        C.
    mode : {"strict", "lenient"}, default "strict"
    custom : array_like of float, optional
        One γ ≥ 0 per class and one for the combined class; scaled to sum to 1.
    scheme : str, optional
        A weighting scheme; needs *gold*.
    gold : array_like of int, optional
        Gold entities per class.

    Returns
    -------
    float64 ndarray of shape (K,)
        nan throughout when the scheme is undefined (no gold).

    Raises
    ------
    ValueError
        For an unknown option, or *custom* of the wrong length, negative, or all 0.

    Examples
    --------
    >>> gammas(2, mode="lenient").tolist()
    [0.25, 0.25, 0.5]
    """
    require_choice("mode", mode, MODES)
    if custom is not None:
        given = np.asarray(custom, dtype=np.float64)
        size = n_labels + (n_labels > 1)
        if given.shape != (size,) or not np.isfinite(given).all() or (given < 0).any() or given.sum() == 0:
            raise ValueError(f"custom is {given.tolist()}, expected {size} weights of 0 or more, not all 0")
        return given / given.sum()
    if n_labels < 2:
        return np.ones(n_labels)
    share = 1 / (n_labels + 1) if mode == "strict" else 2 / (n_labels + 2)
    each = np.full(n_labels, 1 / n_labels)
    if scheme is not None:
        each = scheme_weights(integers(np.zeros(n_labels) if gold is None else gold), scheme).values
    return np.append(each * (1 - share), share)


def wrf(scores: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Compute WRF = Σ γ_i·R1-F1_i over defined classes (Weber et al.).

    The γ of defined classes are scaled to sum to 1.

    Parameters
    ----------
    scores : array_like of float, shape (…, K)
        R1-F1 per class, nan where undefined.
    weights : array_like of float, shape (K,)
        γ.

    Returns
    -------
    float64 ndarray of shape (…)
        nan where no class with a weight is defined.

    Examples
    --------
    >>> round(float(wrf([0.8, 10 / 11, 0.875], gammas(2))), 4)
    0.8614
    """
    given, gamma = np.asarray(scores, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    defined = ~np.isnan(given)
    return np.asarray(divide(np.nan_to_num(given) @ gamma, defined @ gamma))


def wrf_figures(
    gold: Spans, predicted: Spans, tokens: Tokens, *, gold_counts: Ints, scheme: str | None = None
) -> dict[str, Value]:
    """Compute WRF strict and lenient, pooled and averaged over documents.

    Parameters
    ----------
    gold, predicted : Spans
    tokens : Tokens
        In the units of the spans.
    gold_counts : int64 ndarray of shape (labels,)
        Gold entities per class.
    scheme : str, optional
        Weighting scheme that divides the γ of the single classes.

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0], [0], [1], [0], n_documents=1)
    >>> words = tokens_of_lists([["Ada"]])
    >>> wrf_figures(spans, spans, words, gold_counts=np.array([1]))["wrf_lenient"].value
    1.0
    """
    words = word_counts(
        words_of_spans(gold, tokens), words_of_spans(predicted, tokens), n_labels=len(gold_counts)
    )
    return figures_of_words(words, gold_counts=gold_counts, scheme=scheme)


def figures_of_words(words: WordCounts, *, gold_counts: Ints, scheme: str | None = None) -> dict[str, Value]:
    """Compute WRF strict and lenient of word sets, pooled and averaged over documents.

    Parameters
    ----------
    words : WordCounts
    gold_counts : int64 ndarray of shape (labels,)
        Gold entities per class.
    scheme : str, optional
        Weighting scheme that divides the γ of the single classes.

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> words = Words(np.array([0]), np.array([0]), np.array([5]), 1)
    >>> counts = word_counts(words, words, n_labels=1)
    >>> figures_of_words(counts, gold_counts=np.array([1]))["wrf_strict"].value
    1.0
    """
    figures = {}
    for mode in MODES:
        weights = gammas(len(gold_counts), mode=mode, scheme=scheme, gold=gold_counts)
        figures[f"wrf_{mode}"] = weighted_words(words, weights)
        figures[f"wrf_{mode}_mean"] = weighted_words(words, weights, mean=True)
    return figures


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


def weighted_words(words: WordCounts, weights: ArrayLike, *, figure: str = "f1", mean: bool = False) -> Value:
    """Weight R1-F1, R1-P or R1-R of the classes by γ.

    Parameters
    ----------
    words : WordCounts
    weights : array_like of float, shape (K,)
        γ, of the combined class last.
    figure : {"f1", "precision", "recall"}, default "f1"
    mean : bool, default False
        Average over the documents in which a class is defined, instead of pooling their counts.

    Returns
    -------
    Value

    Examples
    --------
    >>> counts = WrfCounts(np.array([1]), np.array([2]), np.array([1]))
    >>> rows = WrfCounts(*(np.array([[n]]) for n in (1, 2, 1)))
    >>> weighted_words(WordCounts(counts, rows), [1.0], figure="precision").value
    0.5
    """
    require_choice("figure", figure, ("f1", "precision", "recall"))
    scores = wrf(getattr(words.documents if mean else words.pooled, figure), weights)
    if mean:
        scores = scores[~np.isnan(scores)]
        scores = scores.mean() if len(scores) else np.array(np.nan)
    return value_of(float(scores), reason=why_undefined(weights, otherwise=EMPTY))


def word_rows(labels: Sequence[str], counts: WrfCounts) -> tuple[ClassRow, ...]:
    """Make a row of words per class, |T|, |P|, |P∩T|, R1-P, R1-R and R1-F1, the combined class last.

    Parameters
    ----------
    labels : sequence of str
    counts : WrfCounts
        Arrays of shape (K,).

    Returns
    -------
    tuple of ClassRow
        The combined class is labelled ``*``; a class without words is undefined.

    Examples
    --------
    >>> rows = word_rows(["loc"], WrfCounts(np.array([2]), np.array([3]), np.array([2])))
    >>> rows[0].recall, rows[0].f1
    (1.0, 0.8)
    """
    names = [*labels, COMBINED] if len(labels) > 1 else labels
    parts = (counts.target, counts.predicted, counts.matched, counts.precision, counts.recall, counts.f1)
    columns = (part.tolist() for part in parts)
    return tuple(ClassRow(*row) for row in zip(names, *columns, strict=True))


def mean_word_rows(labels: Sequence[str], documents: WrfCounts) -> tuple[ClassRow, ...]:
    """Make a row per class of its means over the documents in which it is defined, the combined class last.

    Parameters
    ----------
    labels : sequence of str
    documents : WrfCounts
        Arrays of shape (documents, K).

    Returns
    -------
    tuple of ClassRow
        Its counts are documents: with words of the gold, with predicted ones, with both. A class is defined
        in gold + predicted - correct of them.

    Examples
    --------
    >>> counts = WrfCounts(*(np.array([[n], [0]]) for n in (1, 2, 1)))
    >>> mean_word_rows(["loc"], counts)[0].precision
    0.5
    """
    names = [*labels, COMBINED] if len(labels) > 1 else labels
    target, predicted = documents.target > 0, documents.predicted > 0
    defined = (target | predicted).sum(axis=0)
    sums = (np.nansum(part, axis=0) for part in (documents.precision, documents.recall, documents.f1))
    means = (np.asarray(divide(part, defined)).tolist() for part in sums)
    counts = (part.sum(axis=0).tolist() for part in (target, predicted, target & predicted))
    return tuple(ClassRow(*row) for row in zip(names, *counts, *means, strict=True))
