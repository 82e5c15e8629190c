"""COR, INC, PAR, MIS and SPU per type."""

import pytest

from workers.metrics.matching import PairingCounts, document_pairings
from workers.metrics.semeval2013 import muc_figures, outcomes_by_label, pairings_by_label, total
from workers.metrics.spans import Spans, spans_of_lists

LABELS = ["PER", "LOC", "ORG"]
GOLD = [[(0, 2, "PER"), (3, 5, "LOC")], [(0, 1, "ORG")], [(4, 6, "LOC")]]
SAID = [[(0, 2, "LOC"), (4, 5, "LOC")], [(0, 1, "ORG"), (7, 9, "PER")], []]


def spans(documents: list[list[tuple[int, int, str]]]) -> Spans:
    return spans_of_lists(documents, labels=LABELS)


def test_each_outcome_is_counted_for_its_type() -> None:
    found = outcomes_by_label(pairings_by_label(spans(GOLD), spans(SAID), n_labels=3), LABELS)
    assert {label: tuple(outcome) for label, outcome in found["strict"].items()} == {
        "PER": (0, 1, 0, 0, 1),
        "LOC": (0, 1, 0, 1, 0),
        "ORG": (1, 0, 0, 0, 0),
    }
    assert tuple(found["partial"]["LOC"]) == (0, 0, 1, 1, 0)
    assert tuple(found["type"]["LOC"]) == (1, 0, 0, 1, 0)
    assert tuple(found["exact"]["PER"]) == (1, 0, 0, 0, 1)


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
