"""WRF: weighted ROUGE-1 F1 over the words inside entities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workers.metrics.counts import Ints, integers, require_choice
from workers.metrics.ratios import Floats, divide
from workers.metrics.report import ClassRow, Value, value_of
from workers.metrics.spans import Spans
from workers.metrics.weights import scheme_weights, why_undefined
from workers.metrics.words import Tokens, WordCounts, WrfCounts, word_counts, words_of_spans

MODES = ("strict", "lenient")
COMBINED = "*"
EMPTY = "no gold or predicted entity contains a word"


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
    >>> from workers.metrics.words import tokens_of_lists
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
    >>> from workers.metrics.words import Words
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
