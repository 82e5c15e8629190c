"""Label statistics of test sets, and the quality of source labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.bags import Facts
from workers.metrics.classification import set_counts
from workers.metrics.counts import Counts, integers
from workers.metrics.ratios import Floats, divide, precision, recall


def perplexity(counts: ArrayLike) -> float:
    """Compute the perplexity of a label distribution, exp(−Σ p·ln p).

    It is the equivalent number of equally frequent classes.

    Parameters
    ----------
    counts : array_like of int
        Count of each label; labels that do not occur add nothing.

    Returns
    -------
    float
        nan when there is no label at all.

    Examples
    --------
    >>> round(perplexity([5, 5]), 12), perplexity([7, 0])
    (2.0, 1.0)
    """
    n = integers(counts)
    share = n[n > 0] / max(int(n.sum()), 1)
    return float(np.exp(-np.dot(share, np.log(share)))) if len(share) else float("nan")


def imbalance_ratio(counts: ArrayLike) -> float:
    """Divide the most by the least frequent class, of those that occur.

    Parameters
    ----------
    counts : array_like of int
        Positive classes.

    Returns
    -------
    float
        nan when none occurs.

    Examples
    --------
    >>> imbalance_ratio([291, 1, 0])
    291.0
    """
    n = integers(counts)
    present = n[n > 0]
    return float(present.max() / present.min()) if len(present) else float("nan")


class LabelStatistics(NamedTuple):
    """Shape of a label distribution; nan where undefined."""

    total: int
    classes: int
    negative_share: float
    perplexity_with_negative: float
    perplexity_without_negative: float
    ratio: float


def label_statistics(positive: ArrayLike, *, negative: int = 0) -> LabelStatistics:
    """Describe the distribution of labels.

    Parameters
    ----------
    positive : array_like of int
        Count per positive class of the ontology.
    negative : int, default 0
        Count of the negative class (N/A).

    Returns
    -------
    LabelStatistics

    Examples
    --------
    >>> label_statistics([30, 10], negative=60).negative_share
    0.6
    """
    n = integers(positive)
    total = int(n.sum()) + negative
    return LabelStatistics(
        total=total,
        classes=int(np.count_nonzero(n)),
        negative_share=float(divide(negative, total)),
        perplexity_with_negative=perplexity(np.append(n, negative)),
        perplexity_without_negative=perplexity(n),
        ratio=imbalance_ratio(n),
    )


class SetStatistics(NamedTuple):
    """Sizes of a relation test set and the spread of its labels."""

    sentences: int
    pairs: int
    facts: int
    relations: int
    na_sentences: int
    na_pairs: int
    labels: LabelStatistics

    @property
    def na_share(self) -> float:
        """Share of sentences that are N/A; nan without sentences."""
        return float(divide(self.na_sentences, self.sentences))


def set_statistics(
    pair: ArrayLike, sentence: ArrayLike, label: ArrayLike, *, n_relations: int
) -> SetStatistics:
    """Count sentences, pairs, facts and relations of a test set.

    Parameters
    ----------
    pair : array_like of int, shape (sentences,)
        The ordered pair (head, tail) of every sentence.
    sentence, label : array_like of int, shape (labels,)
        One row per label of a sentence; N/A has no row. Repeats count once.
    n_relations : int
        Positive relations of the ontology.

    Returns
    -------
    SetStatistics
        A fact is a distinct (pair, relation); a pair is N/A when none of its sentences has a label.

    Raises
    ------
    ValueError
        If a sentence or a label is out of range.

    Examples
    --------
    >>> sizes = set_statistics([0, 0, 1], [0, 1], [2, 2], n_relations=3)
    >>> sizes.facts, sizes.pairs, sizes.na_sentences, sizes.na_pairs
    (1, 2, 1, 1)
    """
    owner, rows, codes = integers(pair), integers(sentence), integers(label)
    for name, column, size in (("sentence", rows, len(owner)), ("label", codes, n_relations)):
        if len(column) and (column.min() < 0 or column.max() >= size):
            raise ValueError(f"a {name} is out of range, expected a code from 0 to {size - 1}")
    cells = np.unique(rows * n_relations + codes)
    facts = np.unique(owner[cells // n_relations] * n_relations + cells % n_relations)
    per_label = np.bincount(cells % n_relations, minlength=n_relations)
    na_sentences = len(owner) - len(np.unique(cells // n_relations))
    pairs = len(np.unique(owner))
    return SetStatistics(
        sentences=len(owner),
        pairs=pairs,
        facts=len(facts),
        relations=int(np.count_nonzero(per_label)),
        na_sentences=na_sentences,
        na_pairs=pairs - len(np.unique(facts // n_relations)),
        labels=label_statistics(per_label, negative=na_sentences),
    )


Z_95 = 1.959963984540054  # of the standard normal distribution, two-sided


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """Compute the Wilson interval of a share at 95 %.

    (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = hits/n; it stays within 0 and 1.

    Parameters
    ----------
    hits, n : int
        0 ≤ hits ≤ n.

    Returns
    -------
    tuple of float
        Both ends; nan without cases.

    Examples
    --------
    >>> [round(end, 4) for end in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    if not n:
        return float("nan"), float("nan")
    p, square = hits / n, Z_95**2
    middle = p + square / (2 * n)
    half = Z_95 * float(np.sqrt(p * (1 - p) / n + square / (4 * n * n)))
    return max(0.0, (middle - half) / (1 + square / n)), min(1.0, (middle + half) / (1 + square / n))


class SourceQuality(NamedTuple):
    """Source labels compared with human gold; nan where undefined."""

    precision: float
    recall: float
    pair_accuracy: float
    counts: Counts
    relation_precision: Floats
    relation_recall: Floats


def source_quality(source: Facts, human: Facts) -> SourceQuality:
    """Compute precision and recall of source facts, and accuracy of pairs.

    A pair is correct if its whole set of relations is.

    Parameters
    ----------
    source, human : Facts
        Over the same pairs and relations; a pair without a fact is N/A.

    Returns
    -------
    SourceQuality

    Examples
    --------
    >>> from workers.metrics.bags import facts_of_columns
    >>> source = facts_of_columns([0, 1], [0, 0], n_pairs=3, n_relations=1)
    >>> human = facts_of_columns([0, 2], [0, 0], n_pairs=3, n_relations=1)
    >>> quality = source_quality(source, human)
    >>> quality.precision, quality.recall, round(quality.pair_accuracy, 4)
    (0.5, 0.5, 0.3333)
    """
    compared = set_counts(human, source)
    total = compared.counts.total()
    return SourceQuality(
        precision=float(precision(total.tp, total.fp)[0]),
        recall=float(recall(total.tp, total.fn)[0]),
        pair_accuracy=compared.exact_share,
        counts=compared.counts,
        relation_precision=precision(compared.counts.tp, compared.counts.fp),
        relation_recall=recall(compared.counts.tp, compared.counts.fn),
    )
