"""Digest of the answers that a case scores, which tells runs apart."""

from __future__ import annotations

import hashlib

import numpy as np

from workers.scoring.scorer import SCORED_FORMS, ScoringCase


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
