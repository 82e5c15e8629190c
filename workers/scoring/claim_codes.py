"""Claims of a scored file as numbers, for comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workers.scoring.scorer import ScoringCase

Codes = NDArray[np.uint64]
# Bits of start, length and label; what remains numbers the item or pair.
START_BITS, LENGTH_BITS, LABEL_BITS = 20, 12, 11


def claim_codes(case: ScoringCase, positives: int) -> Codes:
    """Return the sorted codes of the claims made.

    Of a ranking its first ones, as many as the gold has.
    """
    if case.suite == "entities":
        spans = case.predicted_spans
        return _codes(spans.document, spans.label, spans.start, spans.end - spans.start)
    if case.suite == "ranking":
        claims = case.claims
        first = np.lexsort((claims.relation, claims.pair, -claims.score))[:positives]
        return _codes(claims.pair[first], claims.relation[first])
    if case.suite == "single labels":
        _, answer = case.answers
        made = np.flatnonzero((answer >= 0) & (answer < len(case.options.labels)))
        return _codes(made, answer[made])
    return _codes(*case.predicted_sets)


def _codes(
    unit: NDArray[np.integer],
    label: NDArray[np.integer],
    start: NDArray[np.integer] | int = 0,
    length: NDArray[np.integer] | int = 0,
) -> Codes:
    code = np.asarray(unit, dtype=np.uint64)
    for column, bits in ((label, LABEL_BITS), (start, START_BITS), (length, LENGTH_BITS)):
        part = np.asarray(column).astype(np.uint64) & np.uint64((1 << bits) - 1)
        code = (code << np.uint64(bits)) | part
    return np.unique(code)
