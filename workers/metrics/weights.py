"""Weighting schemes: class weights from gold counts, and weighted averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.counts import Counts, Ints, integers, require_choice
from workers.metrics.ratios import Floats, f_score, scores
from workers.metrics.report import Value, value_of

SCHEMES = ("weighted", "dodrans", "entropy", "entropy-positive", "macro", "macro-all")
ONE_CLASS = "all items are of one class, whose entropy weight is 0; macro is used instead"
NO_GOLD = "no averaged class has a gold label"
NOTHING = "there are no gold labels and no predictions"
NO_PREDICTION = "there are no predictions"


class Weights(NamedTuple):
    """Weights per class, all nan if undefined.

    *reason* explains undefined weights, or a replaced scheme.
    """

    values: Floats
    reason: str | None = None


def scheme_weights(gold: ArrayLike, scheme: str, *, items: int | None = None) -> Weights:
    """Compute class weights of a scheme, Σ w_i = 1.

    Harbecke et al. 2022.

    weighted n_i; dodrans n_i^(3/4); entropy −n_i·log(n_i/N) with N = *items*; entropy-positive the same
    with N = Σ n_i; macro 1 for n_i > 0; macro-all 1. 0·log 0 is 0.

    Parameters
    ----------
    gold : array_like of int, shape (classes,)
        Gold labels per averaged class, n_i.
    scheme : str
        One of `SCHEMES`.
    items : int, optional
        N of the entropy scheme: all items, those of the negative class too. Default Σ n_i.

    Returns
    -------
    Weights
        nan throughout when no class has gold. If every weight is 0 (one class holds all), macro.

    Raises
    ------
    ValueError
        If *scheme* is unknown or *items* is less than Σ n_i.

    Examples
    --------
    >>> scheme_weights([3, 1], "weighted").values.tolist()
    [0.75, 0.25]
    >>> scheme_weights([16, 1, 0], "dodrans").values.round(4).tolist()
    [0.8889, 0.1111, 0.0]
    """
    require_choice("scheme", scheme, SCHEMES)
    return _weights(integers(gold), scheme, items)


def _weights(n: Ints, scheme: str, items: int | None) -> Weights:
    total = int(n.sum())
    size = total if items is None or scheme == "entropy-positive" else items
    if size < total:
        raise ValueError(
            f"items is {size}, expected at least the {total} gold labels of the averaged classes"
        )
    if total == 0:
        return Weights(np.full(len(n), np.nan), NO_GOLD)
    raw = _raw(n.astype(np.float64), scheme, size)
    if raw.sum() > 0:
        return Weights(raw / raw.sum())
    return Weights((n > 0) / np.count_nonzero(n), ONE_CLASS)


def why_undefined(weights: ArrayLike, *, otherwise: str) -> str:
    """Return the reason why a sum with these weights is undefined.

    Parameters
    ----------
    weights : array_like of float
    otherwise : str

    Returns
    -------
    str

    Examples
    --------
    >>> why_undefined(scheme_weights([0, 0], "weighted").values, otherwise="no class has a word")
    'no averaged class has a gold label'
    """
    return NO_GOLD if np.isnan(np.asarray(weights, dtype=np.float64)).any() else otherwise


def _raw(n: Floats, scheme: str, size: int) -> Floats:
    if scheme == "weighted":
        return n
    if scheme == "dodrans":
        return n**0.75
    if scheme == "macro":
        return (n > 0).astype(np.float64)
    if scheme == "macro-all":
        return np.ones_like(n)
    return -n * np.log(np.where(n > 0, n, size) / size)


def weighted_average(scores: ArrayLike, weights: ArrayLike) -> float:
    """Average per-class scores, Σ w_i·s_i; a score of 0/0 counts 0.

    Parameters
    ----------
    scores : array_like of float, shape (classes,)
        Per-class F1, precision or recall; nan where 0/0.
    weights : array_like of float, shape (classes,)
        Weights that sum to 1.

    Returns
    -------
    float
        nan when the weights are, and without classes.

    Examples
    --------
    >>> weighted_average([0.5, float("nan")], [0.5, 0.5])
    0.25
    """
    return _summed(_without_nan(np.asarray(scores, dtype=np.float64)), np.asarray(weights))


def _without_nan(scores: Floats) -> Floats:
    return np.where(np.isnan(scores), 0.0, scores)


def _summed(scores: Floats, weights: Floats) -> float:
    return float(np.dot(scores, weights)) if scores.size else float("nan")


def micro_averages(counts: Counts, *, beta: float = 1.0) -> dict[str, Value]:
    """Compute micro precision, recall and F_β from summed counts.

    Parameters
    ----------
    counts : Counts
        The averaged classes only.
    beta : float, default 1.0

    Returns
    -------
    dict
        ``micro_precision``, ``micro_recall``, ``micro_f1``; each nan on 0/0.

    Examples
    --------
    >>> round(micro_averages(Counts.of([3], [1], [2]))["micro_f1"].value, 4)
    0.6667
    """
    micro = scores(counts.tp.sum(), counts.fp.sum(), counts.fn.sum(), beta=beta)
    return {
        "micro_f1": value_of(micro.f1, reason=NOTHING),
        "micro_precision": value_of(micro.precision, reason=NO_PREDICTION),
        "micro_recall": value_of(micro.recall, reason=NO_GOLD),
    }


def scheme_averages(
    counts: Counts, *, beta: float = 1.0, entropy: str = "all", schemes: tuple[str, ...] = SCHEMES
) -> dict[str, Value]:
    """Average precision, recall and F_β by every scheme.

    F is averaged, never computed from averages. A class with 0/0 counts 0; but where no averaged class has a
    prediction, every average of precision is undefined, as micro precision is.

    Parameters
    ----------
    counts : Counts
        The averaged classes only; ``counts.items`` is N of the entropy scheme (0: Σ n_i).
    beta : float, default 1.0
    entropy : {"all", "positive"}, default "all"
        N of the entropy scheme: all items, or the gold of the averaged classes.
    schemes : tuple of str
        Which of `SCHEMES`.

    Returns
    -------
    dict
        Keys like ``dodrans_f1``, ``macro_all_recall``; nan when no averaged class has gold, precision also
        when none has a prediction.

    Examples
    --------
    >>> figures = scheme_averages(Counts.of([1, 0], [0, 1], [1, 1], items=3))
    >>> round(figures["macro_f1"].value, 4), round(figures["weighted_f1"].value, 4)
    (0.3333, 0.4444)
    """
    require_choice("entropy", entropy, ("all", "positive"))
    of_classes = scores(counts.tp, counts.fp, counts.fn, beta=beta)
    for unknown in set(schemes) - set(SCHEMES):
        require_choice("scheme", unknown, SCHEMES)
    gold, items = counts.gold, counts.items if entropy == "all" and counts.items else None
    predicted, figures = bool(counts.predicted.any()), {}
    of_kind = {kind: _without_nan(getattr(of_classes, kind)) for kind in ("f1", "precision", "recall")}
    for scheme in schemes:
        weights = _weights(gold, scheme, items)
        for kind, values in of_kind.items():
            key, average = f"{scheme.replace('-', '_')}_{kind}", Value(float("nan"), NO_PREDICTION)
            if kind != "precision" or predicted:
                average = Value(_summed(values, weights.values), weights.reason)
            figures[key] = average
    return figures


def macro_flip(counts: Counts, *, beta: float = 1.0) -> float:
    """Compute how far one hit more or less in the rarest class moves macro F, all else equal.

    That is one hit less or, without a hit, one more: each further hit moves F less than the one before. Of
    several rarest classes it is the greatest. A wrong label that comes or goes with the hit moves its own
    class, too.

    Parameters
    ----------
    counts : Counts
        The averaged classes only.
    beta : float, default 1.0

    Returns
    -------
    float
        A distance ≥ 0; nan without gold.

    Examples
    --------
    >>> macro_flip(Counts.of([9, 1], [0, 0], [1, 0]))
    0.5
    """
    gold = counts.gold
    if not gold.any():
        return float("nan")
    rarest = gold == gold[gold > 0].min()
    tp, fp, fn = (part[rarest] for part in (counts.tp, counts.fp, counts.fn))
    step = np.where(tp, -1, 1)
    moved = f_score(tp + step, fp, fn - step, beta=beta) - f_score(tp, fp, fn, beta=beta)
    return float(np.abs(moved).max() / np.count_nonzero(gold))


def averages(
    counts: Counts, *, prefix: str = "", beta: float = 1.0, entropy: str = "all"
) -> dict[str, Value]:
    """Compute micro and weighted averages of precision, recall and F.

    Parameters
    ----------
    counts : Counts
        The averaged classes only.
    prefix : str, default ""
    beta : float, default 1.0
    entropy : {"all", "positive"}, default "all"

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> averages(Counts.of([1], [0], [0]), prefix="conll_")["conll_macro_f1"].value
    1.0
    """
    figures = micro_averages(counts, beta=beta) | scheme_averages(counts, beta=beta, entropy=entropy)
    return {prefix + key: value for key, value in figures.items()}
