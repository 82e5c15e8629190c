"""SemEval-2013 counts and figures: COR, INC, PAR, MIS, SPU per label."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from workers.metrics.matching import SCHEMAS, PairingCounts, SpanOutcome, pair_spans
from workers.metrics.report import Value, value_of
from workers.metrics.spans import Spans

NO_SPANS = "there are no gold spans and no predicted spans"
NO_GOLD_SPANS = "there are no gold spans"
NO_PREDICTED_SPANS = "there are no predicted spans"


def pairings_by_label(gold: Spans, predicted: Spans, *, n_labels: int) -> list[PairingCounts]:
    """Compute the six integers of `PairingCounts` for every label.

    A pair belongs to the label of its gold span; an unpaired prediction belongs to its own label. So the
    labels sum to the total exactly: Σ_c gold_c = gold, Σ_c predicted_c = predicted.

    Parameters
    ----------
    gold, predicted : Spans
        Without duplicates, over the same documents; label codes below *n_labels*.
    n_labels : int

    Returns
    -------
    list of PairingCounts, one per label code

    Raises
    ------
    ValueError
        If the numbers of documents differ.

    Examples
    --------
    A wrong type is one INC of the gold's type, not one MIS and one SPU:

    >>> from workers.metrics.spans import spans_of_columns
    >>> a = spans_of_columns([0, 0], [0, 5], [4, 6], [0, 1], n_documents=1)
    >>> b = spans_of_columns([0, 0], [0, 8], [4, 9], [1, 1], n_documents=1)
    >>> [counts.outcome("strict")[:] for counts in pairings_by_label(a, b, n_labels=2)]
    [(0, 1, 0, 0, 0), (0, 0, 0, 1, 1)]
    """
    gold.require_same_documents(predicted)
    pairs = pair_spans(gold, predicted)
    g, p = pairs.gold, pairs.predicted
    bounds = (gold.start[g] == predicted.start[p]) & (gold.end[g] == predicted.end[p])
    same_label = gold.label[g] == predicted.label[p]
    unpaired = np.ones(len(predicted), dtype=bool)
    unpaired[p] = False
    of_pair = gold.label[g]

    def counted(labels: NDArray[np.generic]) -> NDArray[np.int64]:
        return np.bincount(labels, minlength=n_labels).astype(np.int64)

    paired = counted(of_pair)
    columns = (
        counted(gold.label),
        paired + counted(predicted.label[unpaired]),
        paired,
        counted(of_pair[bounds]),
        counted(of_pair[same_label]),
        counted(of_pair[bounds & same_label]),
    )
    return [PairingCounts(*row) for row in np.stack(columns, axis=1).tolist()]


def total(parts: list[PairingCounts]) -> PairingCounts:
    """Sum counts of labels, documents or shards.

    Parameters
    ----------
    parts : list of PairingCounts

    Returns
    -------
    PairingCounts

    Examples
    --------
    >>> total([PairingCounts(1, 2, 1, 0, 1, 0), PairingCounts(2, 1, 1, 1, 1, 1)]).predicted
    3
    """
    return reduce(add, parts, PairingCounts())


def outcomes_by_label(parts: list[PairingCounts], labels: list[str]) -> dict[str, dict[str, SpanOutcome]]:
    """Map schema and label to COR, INC, PAR, MIS, SPU.

    Parameters
    ----------
    parts : list of PairingCounts
        Aligned with *labels*.
    labels : list of str

    Returns
    -------
    dict of str to dict of str to SpanOutcome

    Examples
    --------
    >>> outcomes_by_label([PairingCounts(1, 1, 1, 1, 0, 0)], ["PER"])["exact"]["PER"].correct
    1
    """
    return {
        schema: {label: part.outcome(schema) for label, part in zip(labels, parts, strict=True)}
        for schema in SCHEMAS
    }


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
