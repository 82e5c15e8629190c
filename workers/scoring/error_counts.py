"""Errors of a run by kind."""

from __future__ import annotations

import numpy as np

from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from workers.metrics import matching
from workers.metrics.classification import MISSING
from workers.metrics.encoding import distinct
from workers.metrics.relations import claim_kinds
from workers.scoring.case import ScoringCase


def relation_error_counts(case: ScoringCase) -> dict[str, int]:
    """Count wrong relations between predicted entities by kind."""
    if not case.options.relations or case.form in TEXT_FORMS:
        return {}
    kinds = claim_kinds(case.gold_links, case.predicted_links)
    return {kind: count for kind, count in kinds.items() if kind != "right"}


def error_counts(case: ScoringCase) -> dict[str, int]:
    """Count errors by kind: missed, spurious, confused or wrong in part."""
    if case.form in TEXT_FORMS:
        sides = list(zip(case.gold_texts.sets, case.predicted_texts.sets, strict=True))
        return {
            "missed": sum(len(target - answers) for target, answers in sides),
            "spurious": sum(len(answers - target) for target, answers in sides),
        }
    if case.suite == "entities":
        pairings = matching.document_pairings(case.gold_spans, case.predicted_spans)
        total = matching.PairingCounts(*pairings.sum(axis=0).tolist())
        return {
            "missed": total.gold - total.pairs,
            "spurious": total.predicted - total.pairs,
            "wrong type": total.bounds - total.both,
            "wrong bounds": total.labels - total.both,
            "wrong type and bounds": total.pairs - total.bounds - total.labels + total.both,
        }
    if case.suite == "single labels":
        truth, answer = case.answers
        none = [MISSING, len(case.options.labels)]
        wrong, bare, silent = truth != answer, np.isin(truth, none), np.isin(answer, none)
        return {
            "missed": int(np.count_nonzero(wrong & ~bare & silent)),
            "spurious": int(np.count_nonzero(wrong & bare & ~silent)),
            "confused": int(np.count_nonzero(wrong & ~bare & ~silent)),
        }
    item, label = case.predicted_sets
    width = case.facts.n_relations
    predicted = distinct(item * width + label)
    missed = np.setdiff1d(case.facts.cells, predicted) // width
    spurious = np.setdiff1d(predicted, case.facts.cells) // width
    confused = np.intersect1d(missed, spurious)
    return {
        "missed": int(np.count_nonzero(~np.isin(missed, confused))),
        "spurious": int(np.count_nonzero(~np.isin(spurious, confused))),
        "confused": len(confused),
    }
