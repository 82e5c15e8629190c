"""The parts of a report: figures of one family each, under the keys of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.metrics import matching, semeval2010, wrf
from workers.metrics.counts import Counts, Ints
from workers.metrics.ranking_profiles import Profile
from workers.metrics.report import Value, value_of
from workers.metrics.spans import Spans
from workers.metrics.weights import (
    NO_GOLD,
    NO_PREDICTION,
    NOTHING,
    micro_averages,
    scheme_averages,
    why_undefined,
)

NO_ITEMS = "there are no items"
NO_FACTS = "there are no facts"
NO_CLAIMS = "the system claims nothing"
FEW_POINTS = "an area needs two claims"
SHORT = "there are fewer claims than that"
AT_TAU = ("max_f1", "tau", "precision_at_tau", "recall_at_tau", "macro_f1_at_tau")


def averages(
    counts: Counts, *, prefix: str = "", beta: float = 1.0, entropy: str = "all"
) -> dict[str, Value]:
    """Micro and every weighted average of precision, recall and F, under prefixed keys.

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
    found = micro_averages(counts, beta=beta) | scheme_averages(counts, beta=beta, entropy=entropy)
    return {prefix + key: value for key, value in found.items()}


SEMEVAL_KEYS = tuple(
    f"semeval2010_{key}" for key in ("f1", "coverage", "accuracy_answered", "accuracy_as_other")
)
NO_ANSWERS = "no item was answered"


def semeval_figures(matrix: Ints, labels: Sequence[str]) -> dict[str, Value]:
    """Official F1, coverage and the further accuracies of SemEval-2010 Task 8.

    Parameters
    ----------
    matrix : int64 ndarray of shape (labels, labels + 1)
    labels : sequence of str

    Returns
    -------
    dict of str to Value
        Undefined when no label carries a direction.

    Examples
    --------
    >>> semeval_figures(np.array([[1, 1]]), ["R(e1,e2)"])["semeval2010_coverage"].value
    0.5
    """
    seen = semeval2010.evaluate_confusion(matrix, labels=labels)
    if not seen.relations:
        return dict.fromkeys(SEMEVAL_KEYS, Value(float("nan"), semeval2010.NO_DIRECTION))
    answered, _, as_other = seen.accuracies
    return {
        "semeval2010_f1": value_of(semeval2010.macro(seen.official)[2], reason=NO_GOLD),
        "semeval2010_coverage": value_of(seen.coverage, reason=NO_ITEMS),
        "semeval2010_accuracy_answered": value_of(answered, reason=NO_ANSWERS),
        "semeval2010_accuracy_as_other": value_of(as_other, reason=NO_ITEMS),
    }


def muc_figures(counts: matching.PairingCounts) -> dict[str, Value]:
    """Precision, recall and F1 of the four SemEval-2013 schemas.

    Parameters
    ----------
    counts : PairingCounts
        Summed over documents.

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> muc_figures(matching.PairingCounts(1, 1, 1, 0, 1, 0))["muc_partial_f1"].value
    0.5
    """
    found = {}
    for schema in matching.SCHEMAS:
        outcome = counts.outcome(schema)
        found[f"muc_{schema}_f1"] = value_of(outcome.f1, reason=NOTHING)
        found[f"muc_{schema}_precision"] = value_of(outcome.precision, reason=NO_PREDICTION)
        found[f"muc_{schema}_recall"] = value_of(outcome.recall, reason=NO_GOLD)
    return found


def wrf_figures(
    gold: Spans, predicted: Spans, tokens: wrf.Tokens, *, gold_counts: Ints, scheme: str | None = None
) -> dict[str, Value]:
    """WRF strict and lenient, pooled over documents and as a mean of documents.

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
    >>> words = wrf.tokens_of_lists([["Ada"]])
    >>> wrf_figures(spans, spans, words, gold_counts=np.array([1]))["wrf_lenient"].value
    1.0
    """
    size = len(gold_counts)
    target, said = wrf.words_of_spans(gold, tokens), wrf.words_of_spans(predicted, tokens)
    pooled = wrf.wrf_counts(target, said, n_labels=size)
    single = wrf.wrf_counts(target, said, n_labels=size, per_document=True)
    found = {}
    for mode in wrf.MODES:
        weights = wrf.gammas(size, mode=mode, scheme=scheme, gold=gold_counts)
        found[f"wrf_{mode}"] = value_of(
            float(wrf.wrf(pooled.f1, weights)), reason=why_undefined(weights, otherwise=wrf.EMPTY)
        )
        found[f"wrf_{mode}_mean"] = wrf.mean_wrf(single, weights)
    return found


def ranked_figures(seen: Profile, *, n_facts: int, prefix: str = "") -> dict[str, Value]:
    """What both profiles of ranked claims have in common.

    Parameters
    ----------
    seen : Profile
    n_facts : int
        Tells why a figure is undefined.
    prefix : str, default ""

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> from workers.metrics.ranking_profiles import corrected
    >>> size = {"n_pairs": 1, "n_relations": 1}
    >>> seen = corrected(claims_of_columns([0], [0], [0.9], **size), facts_of_columns([], [], **size))
    >>> ranked_figures(seen, n_facts=0)["max_f1"].reason
    'there are no facts'
    """
    reason = NO_CLAIMS if n_facts else NO_FACTS
    area = reason if np.isnan(seen.max_f1) else FEW_POINTS
    found = {f"p_at_{n}": value_of(number, reason=SHORT) for n, number in seen.p_at.items()}
    found |= {key: value_of(getattr(seen, key), reason=reason) for key in AT_TAU}
    found["auc"] = value_of(seen.auc, reason=area)
    found["p_at_mean"] = value_of(seen.p_at_mean, reason=SHORT)
    return {prefix + key: value for key, value in found.items()}
