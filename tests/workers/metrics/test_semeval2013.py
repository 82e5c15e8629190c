"""COR, INC, PAR, MIS and SPU per type."""

import numpy as np
import pytest

from workers.metrics.matching import PairingCounts, document_pairings
from workers.metrics.report import class_rows
from workers.metrics.semeval2013 import muc_figures, outcomes_by_label, pairings_by_label, total
from workers.metrics.spans import Spans, exact_counts, spans_of_columns, spans_of_lists

LABELS = ["PER", "LOC", "ORG"]
GOLD = [[(0, 2, "PER"), (3, 5, "LOC")], [(0, 1, "ORG")], [(4, 6, "LOC")]]
SAID = [[(0, 2, "LOC"), (4, 5, "LOC")], [(0, 1, "ORG"), (7, 9, "PER")], []]


def spans(documents: list[list[tuple[int, int, str]]]) -> Spans:
    return spans_of_lists(documents, labels=LABELS)


def test_each_outcome_is_counted_for_its_type() -> None:
    found = outcomes_by_label(pairings_by_label(spans(GOLD), spans(SAID), n_labels=3), LABELS)
    assert {label: row[:5] for label, row in found["strict"].items()} == {
        "PER": (0, 1, 0, 0, 1),
        "LOC": (0, 1, 0, 1, 0),
        "ORG": (1, 0, 0, 0, 0),
    }
    assert found["partial"]["LOC"][:5] == (0, 0, 1, 1, 0)
    assert found["type"]["LOC"][:5] == (1, 0, 0, 1, 0)
    assert found["exact"]["PER"][:5] == (1, 0, 0, 0, 1)


def test_a_wrong_type_is_a_prediction_of_its_own_type() -> None:
    found = outcomes_by_label(pairings_by_label(spans(GOLD), spans(SAID), n_labels=3), LABELS)
    for rows in found.values():
        sizes = {label: (row.possible, row.actual) for label, row in rows.items()}
        assert sizes == {"PER": (1, 1), "LOC": (2, 2), "ORG": (1, 1)}
    loc = found["exact"]["LOC"]  # one of two predictions has the bounds of a gold span, though of a person
    assert (loc.precision, loc.recall, loc.f1) == (0.5, 0.0, 0.0)
    assert found["type"]["LOC"][-3:] == (0.5, 0.5, 0.5)


def test_the_strict_figures_of_a_type_are_those_of_exact_spans() -> None:
    draw = np.random.default_rng(7)
    columns = draw.integers([[[0, 0, 3, 0]]], [[[20, 3, 5, 3]]], (2, 150, 4))
    gold, answer = (spans_of_columns(*side.T, n_documents=20) for side in columns)
    strict = outcomes_by_label(pairings_by_label(gold, answer, n_labels=3), LABELS)["strict"]
    exact = class_rows(LABELS, exact_counts(gold, answer, n_labels=3))
    assert sum(row.correct for row in exact) > 30
    for row in exact:
        assert strict[row.label].possible == row.gold
        assert strict[row.label].actual == row.predicted
        assert strict[row.label][-3:] == pytest.approx((row.precision, row.recall, row.f1))


def test_the_types_sum_to_the_total() -> None:
    gold, answer = spans(GOLD), spans(SAID)
    whole = PairingCounts(*document_pairings(gold, answer).sum(axis=0).tolist())
    assert total(pairings_by_label(gold, answer, n_labels=3)) == whole


def test_undefined_figures_name_the_missing_spans() -> None:
    reasons = {key: value.reason for key, value in muc_figures(PairingCounts(predicted=2)).items()}
    assert reasons["muc_strict_recall"] == "there are no gold spans"
    assert reasons["muc_strict_f1"] is None
    reasons = {key: value.reason for key, value in muc_figures(PairingCounts()).items()}
    assert reasons["muc_type_precision"] == "there are no predicted spans"
    assert reasons["muc_type_f1"] == "there are no gold spans and no predicted spans"


def test_sides_with_different_numbers_of_documents_are_rejected() -> None:
    with pytest.raises(ValueError, match="3 documents"):
        pairings_by_label(spans(GOLD), spans(SAID[:1]), n_labels=3)
