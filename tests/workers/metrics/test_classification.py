"""Single labels: event detection, and the scorer of SemEval-2010 Task 8."""

import numpy as np
import pytest

from workers.metrics import semeval2010
from workers.metrics.classification import averaged_classes, confusion, confusion_counts
from workers.metrics.counts import Counts, integers
from workers.metrics.encoding import label_codes
from workers.metrics.ratios import f_score
from workers.metrics.suites import classification_suite

EVENTS_GOLD = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
EVENTS = [
    ([1, 2, 0, 1, 1, 1, 1, 2, 2, 0], 0.7, 0.6556, 0.6667, 0.6519),
    ([0, 2, 1, 2, 1, 1, 1, 2, 2, 0], 0.6, 0.5833, 0.5833, 0.5738),
    ([1, 2, 1, 1, 0, 1, 0, 2, 2, 1], 0.4, 0.3556, 0.3889, 0.3704),
    ([1, 2, 2, 0, 1, 2, 2, 1, 1, 2], 0.2, 0.1500, 0.1944, 0.1667),
]


@pytest.mark.parametrize(("answer", "micro", "precision", "recall", "macro"), EVENTS)
def test_event_detection_cases(answer, micro, precision, recall, macro) -> None:
    values = classification_suite(EVENTS_GOLD, answer, labels=["a", "b", "c"]).values
    found = [values[key].value for key in ("micro_f1", "macro_precision", "macro_recall", "macro_f1")]
    assert found == pytest.approx([micro, precision, recall, macro], abs=5e-5)


def test_a_missing_answer_is_a_miss_and_no_false_alarm() -> None:
    counts = confusion_counts(confusion([0, 1], [-1, 1], n_labels=2))
    assert counts == Counts.of([0, 1], [0, 0], [1, 0], items=2)


def test_items_of_the_negative_class_count_against_the_others() -> None:
    values = classification_suite([0, 0, 1], [1, 0, 1], labels=["NA", "A"], negative="NA").values
    assert values["micro_precision"].value == 0.5
    assert values["micro_recall"].value == 1.0


def test_the_negative_class_is_averaged_only_if_included() -> None:
    data = ([0, 0, 1], [1, 0, 1])
    out, inside = (
        classification_suite(*data, labels=["NA", "A"], negative="NA", include_negative=wanted).values
        for wanted in (False, True)
    )
    assert out["macro_f1"].value == pytest.approx(2 / 3)
    assert inside["weighted_recall"].value == pytest.approx(2 / 3)


def test_beta_above_one_prefers_recall() -> None:
    assert f_score(5, 5, 0, beta=2.0) > f_score(5, 5, 0, beta=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confusion([0], [0, 1], n_labels=2), "one length"),
        (lambda: confusion([2], [0], n_labels=2), r"gold\[0\] is 2"),
        (lambda: confusion([0], [-2], n_labels=2), r"predicted\[0\] is -2"),
        (lambda: confusion([-1], [0], n_labels=2), "from 0 to 1"),
        (lambda: confusion_counts([[1, 2, 3]]), "expected"),
        (lambda: averaged_classes(["A"], negative="B", include_negative=False), "negative"),
        (lambda: averaged_classes(["A", "A"], negative=None, include_negative=False), "'A'"),
        (lambda: label_codes(["A", "X"], ["A"]), "position 1"),
        (lambda: integers([0.5]), "whole"),
    ],
)
def test_invalid_input_is_rejected_with_its_position(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


RELATIONS = [
    "Cause-Effect",
    "Component-Whole",
    "Content-Container",
    "Entity-Destination",
    "Entity-Origin",
    "Instrument-Agency",
    "Member-Collection",
    "Message-Topic",
    "Product-Producer",
]
DIRECTED = [f"{name}({way})" for name in RELATIONS for way in ("e1,e2", "e2,e1")]
# the scorer's own confusion matrix (rows gold, columns classified as) and its column of skipped examples
ROWS = """
14 26 23 13 17 6 36 0 30 9 5 23 2 33 17 8 13 11 55 3
28 62 23 39 28 17 63 0 40 9 7 36 6 45 36 12 28 37 136 7
29 42 35 36 29 7 47 0 34 11 4 23 3 31 19 8 18 28 65 1
18 44 28 35 14 10 48 0 39 6 8 18 3 27 33 12 21 15 92 0
18 31 15 26 21 4 30 0 31 6 3 18 5 29 16 3 22 18 77 1
7 15 10 12 8 2 17 0 12 3 2 10 1 11 6 2 5 10 30 3
26 59 57 40 49 24 86 0 73 14 8 43 12 74 64 16 34 39 125 1
0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0
19 47 34 40 34 6 72 0 39 10 2 30 3 40 30 14 32 22 89 5
5 10 8 6 5 5 15 0 9 5 4 8 3 8 7 4 4 10 30 2
4 2 4 5 2 3 15 0 10 1 1 6 0 7 5 2 6 5 18 1
20 30 25 24 12 14 43 0 30 2 6 17 3 30 29 7 16 19 77 3
4 9 4 3 3 2 8 0 5 2 2 5 0 8 4 0 2 3 14 0
27 42 36 38 33 11 73 0 43 11 10 28 6 50 47 10 21 26 100 0
23 42 27 27 20 7 66 0 33 9 2 24 8 39 35 9 16 29 74 0
4 11 13 11 7 3 16 0 7 2 1 3 1 16 16 2 2 4 25 0
10 21 20 19 17 6 28 0 20 9 5 14 2 28 16 8 13 17 65 5
22 31 22 18 17 6 35 0 28 7 3 17 7 36 22 11 17 21 67 7
62 130 83 74 57 32 145 1 81 27 23 84 13 98 88 16 52 75 255 14
"""
MATRIX = np.array([[int(cell) for cell in row.split()] for row in ROWS.strip().splitlines()])
OFFICIAL = {
    "Cause-Effect": (7.65, 7.58, 7.61),
    "Component-Whole": (7.50, 7.44, 7.47),
    "Content-Container": (4.28, 4.26, 4.27),
    "Entity-Destination": (10.19, 10.18, 10.18),
    "Entity-Origin": (6.22, 6.15, 6.18),
    "Instrument-Agency": (3.58, 3.57, 3.57),
    "Member-Collection": (7.27, 7.25, 7.26),
    "Message-Topic": (5.84, 5.84, 5.84),
    "Product-Producer": (4.78, 4.74, 4.76),
}


def scored() -> semeval2010.Evaluation:
    return semeval2010.evaluate_confusion(MATRIX, labels=[*DIRECTED, "Other"])


def percentages(counts: Counts) -> list[float]:
    return [round(100 * figure, 2) for figure in semeval2010.macro(counts)]


def test_macro_figures_equal_the_official_scorer() -> None:
    assert percentages(scored().official) == [6.37, 6.33, 6.35]


def test_the_other_two_views_equal_the_official_scorer() -> None:
    assert percentages(scored().directed) == [4.86, 4.83, 4.84]
    assert percentages(scored().undirected) == [9.74, 9.68, 9.71]


def test_figures_per_relation_equal_the_official_scorer() -> None:
    seen = scored()
    official = seen.official
    rows = zip(official.tp / official.predicted, official.tp / official.gold, strict=True)
    for name, (precision, recall) in zip(seen.relations, rows, strict=True):
        f1 = 2 * precision * recall / (precision + recall)
        assert (100 * precision, 100 * recall, 100 * f1) == pytest.approx(OFFICIAL[name], abs=0.00501)


def test_coverage_counts_skipped_examples() -> None:
    assert round(100 * scored().coverage, 2) == 99.34


def test_the_suite_computes_the_official_score() -> None:
    cells = [(row, column) for (row, column), count in np.ndenumerate(MATRIX) for _ in range(count)]
    gold, answer = np.array(cells).T
    values = classification_suite(
        gold, np.where(answer == 19, -1, answer), labels=[*DIRECTED, "Other"], negative="Other"
    ).values
    assert round(100 * values["semeval2010_f1"].value, 2) == 6.35
    assert round(100 * values["accuracy"].value, 2) == 8.66
    assert round(100 * values["micro_f1"].value, 2) == 6.67


def test_the_official_score_averages_the_relations_of_the_key() -> None:
    labels = ["Cause(e1,e2)", "Cause(e2,e1)", "Whole(e1,e2)", "Whole(e2,e1)", "Other"]
    values = classification_suite([0, 1, 4], [0, 2, 2], labels=labels, negative="Other").values
    # Cause: 1 right of 1 claimed and 2 to find; Whole is not in the key
    assert values["semeval2010_f1"].value == pytest.approx(2 / 3)


def test_without_directed_labels_there_is_no_official_score() -> None:
    assert "semeval2010_f1" not in classification_suite([0], [0], labels=["A"]).values
    value = semeval2010.semeval_figures(semeval2010.evaluate([0], [0], labels=["A"]))["semeval2010_f1"]
    assert (value.defined, value.reason) == (False, semeval2010.NO_DIRECTION)


def test_skipped_examples_in_the_three_accuracies() -> None:
    assert [round(100 * figure, 2) for figure in scored().accuracies] == [8.72, 8.66, 8.84]


def test_the_official_table_has_a_row_per_undirected_relation() -> None:
    names = ["R(e1,e2)", "R(e2,e1)", "Other"]
    report = classification_suite([0, 0, 1, 2], [0, 1, 1, -1], labels=names)
    (row,) = report.classes["semeval2010"]
    assert row[:4] == ("R", 3, 3, 2)
    assert report.values["semeval2010_accuracy_answered"].value == 2 / 3
    assert report.values["semeval2010_accuracy_as_other"].value == 3 / 4


def test_no_items_give_an_empty_matrix() -> None:
    assert confusion([], [], n_labels=2).tolist() == [[0, 0, 0], [0, 0, 0]]
    values = classification_suite([], [], labels=["NA", "A"], negative="NA").values
    assert not any(value.defined for value in values.values())


def test_codes_can_be_floats_without_a_fraction() -> None:
    assert confusion([0.0, 1.0], [1.0, -1.0], n_labels=2).tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match=r"0\.5"):
        confusion([0.5], [0], n_labels=2)
