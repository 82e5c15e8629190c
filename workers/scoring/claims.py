"""Claims of a scored file, as numbers and as a digest."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from workers.scoring.scorer import SCORED_FORMS, ScoringCase

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


def answers_digest(case: ScoringCase) -> str:
    """Return the SHA-256 of the claims about the gold's items, sorted.

    Rows, labels and bounds are whole numbers, scores are doubles; claims about other items don't count.
    """
    if case.form in SCORED_FORMS:
        claims = case.claims
        columns, scores = [claims.pair, claims.relation], claims.score + 0.0  # -0.0 is 0.0
    else:
        placed = case.placed
        columns, scores = [placed.row, placed.label, placed.start, placed.end], np.zeros(0)
    whole = [column.astype("<i8") for column in columns if len(column)]
    order = np.lexsort([*([scores] if len(scores) else []), *reversed(whole)]) if whole else slice(0)
    digest = hashlib.sha256(f"{case.suite} {len(whole)}\n".encode())
    for column in whole:
        digest.update(column[order].tobytes())
    digest.update(scores[order].astype("<f8").tobytes() if len(scores) else b"")
    for row, links in sorted(case.placed.links.items()):
        digest.update(f"{row} {sorted(links)}\n".encode())
    return digest.hexdigest()
