"""SemEval-2013 counts and figures: COR, INC, PAR, MIS, SPU per label."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workers.metrics.matching import SCHEMAS, PairingCounts, pair_spans
from workers.metrics.ratios import divide
from workers.metrics.report import LabelOutcome, Value, value_of
from workers.metrics.spans import Spans

NO_SPANS = "there are no gold spans and no predicted spans"
NO_GOLD_SPANS = "there are no gold spans"
NO_PREDICTED_SPANS = "there are no predicted spans"


class LabelPairings(NamedTuple):
    """Counts of one label over its gold and its predicted spans.

    A pair of different labels is in the first of one label and in the second of the other.
    """

    gold: PairingCounts
    predicted: PairingCounts


def pairings_by_label(gold: Spans, predicted: Spans, *, n_labels: int) -> list[LabelPairings]:
    """Compute the six integers of `PairingCounts` for every label and side.

    Parameters
    ----------
    gold, predicted : Spans
        Without duplicates, over the same documents; label codes below *n_labels*.
    n_labels : int

    Returns
    -------
    list of LabelPairings, one per label code

    Raises
    ------
    ValueError
        If the numbers of documents differ.

    Examples
    --------
    A wrong type is one INC of the gold's type, and a prediction of its own type:

    >>> from workers.metrics.spans import spans_of_columns
    >>> a = spans_of_columns([0, 0], [0, 5], [4, 6], [0, 1], n_documents=1)
    >>> b = spans_of_columns([0, 0], [0, 8], [4, 9], [1, 1], n_documents=1)
    >>> rows = outcomes_by_label(pairings_by_label(a, b, n_labels=2), ["PER", "LOC"])["strict"]
    >>> [(row.incorrect, row.possible, row.actual) for row in rows.values()]
    [(1, 1, 0), (0, 1, 2)]
    """
    gold.require_same_documents(predicted)
    pairs = pair_spans(gold, predicted)
    g, p = pairs.gold, pairs.predicted
    bounds = (gold.start[g] == predicted.start[p]) & (gold.end[g] == predicted.end[p])
    same_label = gold.label[g] == predicted.label[p]

    def counted(labels: NDArray[np.generic]) -> NDArray[np.int64]:
        return np.bincount(labels, minlength=n_labels).astype(np.int64)

    sides = []
    for of_pair in (gold.label[g], predicted.label[p]):
        columns = (of_pair, of_pair[bounds], of_pair[same_label], of_pair[bounds & same_label])
        sides.append([counted(column) for column in columns])
    (of_gold, *gold_parts), (of_predicted, *predicted_parts) = sides
    left = np.stack((counted(gold.label), of_gold, of_gold, *gold_parts), axis=1)
    right = np.stack((of_predicted, counted(predicted.label), of_predicted, *predicted_parts), axis=1)
    rows = zip(left.tolist(), right.tolist(), strict=True)
    return [LabelPairings(PairingCounts(*one), PairingCounts(*other)) for one, other in rows]


def total(parts: list[LabelPairings]) -> PairingCounts:
    """Sum counts of labels.

    Parameters
    ----------
    parts : list of LabelPairings

    Returns
    -------
    PairingCounts

    Examples
    --------
    >>> total([LabelPairings(PairingCounts(1, 1, 1), PairingCounts(1, 2, 1))]).predicted
    2
    """
    whole = reduce(add, (part.gold for part in parts), PairingCounts())
    return replace(whole, predicted=sum(part.predicted.predicted for part in parts))


def outcomes_by_label(parts: list[LabelPairings], labels: list[str]) -> dict[str, dict[str, LabelOutcome]]:
    """Map schema and label to counts and figures.

    Precision is over the predicted spans of a label, recall over its gold spans.

    Parameters
    ----------
    parts : list of LabelPairings
        Aligned with *labels*.
    labels : list of str

    Returns
    -------
    dict of str to dict of str to LabelOutcome

    Examples
    --------
    >>> one = PairingCounts(1, 1, 1, 1, 0, 0)
    >>> outcomes_by_label([LabelPairings(one, one)], ["PER"])["exact"]["PER"].correct
    1
    """
    return {
        schema: {label: _outcome(part, schema) for label, part in zip(labels, parts, strict=True)}
        for schema in SCHEMAS
    }


def _outcome(part: LabelPairings, schema: str) -> LabelOutcome:
    gold, predicted = part.gold.outcome(schema), part.predicted.outcome(schema)
    precision, recall = predicted.precision, gold.recall
    counts = (*gold[:4], predicted.spurious, part.gold.gold, part.predicted.predicted)
    if np.isnan(precision) and np.isnan(recall):
        return LabelOutcome(*counts, precision, recall, precision)
    p, r = np.nan_to_num((precision, recall))  # without one of them F is 0, as over all labels
    return LabelOutcome(*counts, precision, recall, float(divide(2 * p * r, p + r, undefined=0.0)))


def muc_figures(counts: PairingCounts) -> dict[str, Value]:
    """Compute precision, recall and F1 of the four SemEval-2013 schemas.

    Parameters
    ----------
    counts : PairingCounts
        Summed over documents.

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> muc_figures(PairingCounts(1, 1, 1, 0, 1, 0))["muc_partial_f1"].value
    0.5
    """
    figures = {}
    for schema in SCHEMAS:
        outcome = counts.outcome(schema)
        figures[f"muc_{schema}_f1"] = value_of(outcome.f1, reason=NO_SPANS)
        figures[f"muc_{schema}_precision"] = value_of(outcome.precision, reason=NO_PREDICTED_SPANS)
        figures[f"muc_{schema}_recall"] = value_of(outcome.recall, reason=NO_GOLD_SPANS)
    return figures
