"""Weighting schemes against the authors' figures, scikit-learn, and the D properties."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.classification import confusion_counts
from workers.metrics.counts import Counts
from workers.metrics.weights import (
    NO_GOLD,
    NO_PREDICTION,
    ONE_CLASS,
    SCHEMES,
    macro_flip,
    micro_averages,
    scheme_averages,
    scheme_weights,
)

FULL = [[50, 3, 2, 1], [4, 20, 1, 0], [3, 2, 7, 0], [2, 0, 1, 1]]
NO_C = [[50, 3, 2, 1], [4, 20, 1, 0], [3, 2, 7, 0], [0, 0, 0, 0]]
FULL_D = [[*row, 0] for row in FULL] + [[0] * 5]
SINGLE = [[0, 0], [1, 9]]
POSITIVE = [1, 2, 3]
KINDS = ("precision", "recall", "f1")

# (matrix, averaged classes, scheme, precision, recall, F1); None: only F1 is given
PUBLISHED = [
    (FULL, [0, 1, 2, 3], "macro-all", 0.6959553158705701, 0.631547619047619, 0.6528985507246378),
    (FULL, [0, 1, 2, 3], "weighted", 0.7947834098454403, 0.8041237113402062, 0.7972508591065293),
    (FULL, [0, 1, 2, 3], "dodrans", 0.7772266571004605, 0.7743034793736538, 0.7724077416108862),
    (FULL, [0, 1, 2, 3], "entropy", 0.7368753984378867, 0.7064180287401153, 0.7160020342537924),
    (FULL, POSITIVE, "macro", 0.6454545454545455, 0.5444444444444444, 0.5806763285024156),
    (FULL, POSITIVE, "weighted", 0.7228381374722839, 0.6829268292682927, 0.6984800282785437),
    (FULL, POSITIVE, "dodrans", 0.7069445116507285, 0.6556634290028868, 0.6751794697735445),
    (FULL, POSITIVE, "entropy", 0.6894461791749734, 0.6264534473771555, 0.6501380887479863),
    (FULL, POSITIVE, "entropy-positive", None, None, 0.6032745354),
    (NO_C, POSITIVE, "macro-all", 0.5, 0.4611111111111111, 0.4787878787878788),
    (NO_C, POSITIVE, "weighted", 0.7675675675675675, 0.7297297297297297, 0.746928746928747),
    (NO_C, POSITIVE, "dodrans", 0.7634246224040733, 0.720753348542159, 0.7401493821157565),
    (NO_C, POSITIVE, "entropy", None, None, 0.7299678532),
    (NO_C, [0, 1, 2, 3], "macro-all", 0.5942982456140351, 0.569047619047619, 0.5803298471440065),
    (NO_C, [0, 1, 2, 3], "dodrans", 0.8245540921964064, 0.813227334199585, 0.8179560466621065),
    (NO_C, [0, 1, 2, 3], "entropy", None, None, 0.7812671002),
    (FULL_D, [1, 2, 3, 4], "macro-all", 0.4840909090909091, 0.4083333333333333, 0.43550724637681165),
    (FULL_D, [1, 2, 3, 4], "entropy", 0.6894461791749734, 0.6264534473771555, 0.6501380887479863),
    (SINGLE, [1], "weighted", 1.0, 0.9, 0.9473684210526316),
    (SINGLE, [1], "entropy", 1.0, 0.9, 0.9473684210526316),
]


def picked(matrix: list[list[int]], classes: list[int]) -> Counts:
    return confusion_counts(matrix).select(np.isin(np.arange(len(matrix)), classes))


@pytest.mark.parametrize(("matrix", "classes", "scheme", "precision", "recall", "f1"), PUBLISHED)
def test_averages_equal_the_published_code(matrix, classes, scheme, precision, recall, f1) -> None:
    found = scheme_averages(picked(matrix, classes))
    for kind, expected in zip(KINDS, (precision, recall, f1), strict=True):
        if expected is not None:
            assert found[f"{scheme.replace('-', '_')}_{kind}"].value == pytest.approx(expected, abs=5e-11)


def test_micro_is_one_division_of_summed_counts() -> None:
    found = micro_averages(picked(FULL, POSITIVE))
    figures = [found[f"micro_{kind}"].value for kind in KINDS]
    assert figures == pytest.approx([0.7368421052631579, 0.6829268292682927, 0.7088607594936709], abs=1e-15)


def test_a_single_class_falls_back_to_macro_with_a_reason() -> None:
    assert scheme_weights([10], "entropy", items=10) == ([1.0], ONE_CLASS)


def test_no_gold_leaves_averages_undefined_with_a_reason() -> None:
    found = scheme_averages(Counts.of([0], [3], [0]))["macro_f1"]
    assert np.isnan(found.value)
    assert found.reason == NO_GOLD


def test_precision_without_predictions_is_undefined_in_every_average() -> None:
    counts = Counts.of([0, 0], [0, 0], [3, 1])
    found = scheme_averages(counts) | micro_averages(counts)
    precisions = {key: value for key, value in found.items() if key.endswith("precision")}
    assert len(precisions) == len(SCHEMES) + 1
    assert {value.reason for value in precisions.values()} == {NO_PREDICTION}
    assert not any(value.defined for value in precisions.values())
    assert found["macro_recall"].value == found["macro_f1"].value == 0.0


def test_one_predicted_class_is_enough_to_average_precision() -> None:
    found = scheme_averages(Counts.of([1, 0], [0, 0], [0, 1]))
    assert found["macro_precision"].value == 0.5


def test_micro_without_labels_is_undefined() -> None:
    assert not micro_averages(Counts.of([0], [0], [0]))["micro_f1"].defined


def test_entropy_positive_differs_from_entropy_where_negatives_exist() -> None:
    found = scheme_averages(picked(FULL, POSITIVE), entropy="positive")
    assert found["entropy_f1"].value == found["entropy_positive_f1"].value != 0.6501380887479863


@pytest.mark.parametrize("option", [{"entropy": "some"}, {"beta": 0}, {"schemes": ("best",)}])
def test_an_unknown_scheme_is_rejected(option) -> None:
    with pytest.raises(ValueError, match="expected"):
        scheme_averages(Counts.of([1], [1], [1]), **option)


def test_fewer_items_than_gold_labels_are_rejected() -> None:
    with pytest.raises(ValueError, match="at least the 5"):
        scheme_weights([5], "entropy", items=4)


gold_counts = st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any)


@given(gold_counts, st.sampled_from(SCHEMES), st.integers(0, 50))
def test_d0_weights_sum_to_one(gold, scheme, negative) -> None:
    assert scheme_weights(gold, scheme, items=sum(gold) + negative).values.sum() == pytest.approx(
        1, abs=1e-12
    )


@given(gold_counts, st.sampled_from(["weighted", "dodrans", "macro"]))
def test_d1_larger_classes_weigh_no_less(gold, scheme) -> None:
    present = np.sort([n for n in gold if n])
    assert (np.diff(scheme_weights(present, scheme).values) >= -1e-12).all()


@given(gold_counts, st.sampled_from(["weighted", "dodrans", "macro", "entropy"]), st.integers(0, 50))
def test_d2_items_of_larger_classes_weigh_no_more(gold, scheme, negative) -> None:
    present = np.sort([n for n in gold if n])
    weights = scheme_weights(present, scheme, items=int(present.sum()) + negative).values
    assert (np.diff(weights / present) <= 1e-12).all()


def test_entropy_breaks_d1_above_n_over_e() -> None:
    weights = scheme_weights([30, 60], "entropy").values
    assert weights[1] < weights[0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_averages_equal_scikit_learn(pairs) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    gold, answer = zip(*pairs, strict=True)
    matrix = np.zeros((5, 5), dtype=int)
    np.add.at(matrix, (gold, answer), 1)
    counts = picked(matrix.tolist(), [1, 2, 3, 4])
    ours = scheme_averages(counts) | micro_averages(counts)
    for scheme, average in (("weighted", "weighted"), ("macro_all", "macro"), ("micro", "micro")):
        theirs = precision_recall_fscore_support(
            gold, answer, labels=[1, 2, 3, 4], average=average, zero_division=0
        )
        if counts.gold.any():
            mine = [np.nan_to_num(ours[f"{scheme}_{kind}"].value) for kind in KINDS]
            assert mine == pytest.approx(list(theirs[:3]), abs=1e-12)


def test_macro_flip_is_the_most_that_one_hit_more_or_less_moves_in_a_class_of_the_fewest_examples() -> None:
    counts = Counts.of([2, 4, 9], [20, 0, 1], [3, 1, 0])
    macro = scheme_averages(counts)["macro_f1"].value
    moved = []
    for rarest, step in product((0, 1), (-1, 1)):
        hits = step * (np.arange(3) == rarest)
        after = Counts.of(counts.tp + hits, counts.fp, counts.fn - hits)
        moved.append(abs(scheme_averages(after)["macro_f1"].value - macro))
    assert macro_flip(counts) == pytest.approx(max(moved))
    assert moved.index(max(moved)) > 1  # of the second class


def test_one_flipped_example_of_the_rarest_class_moves_macro_by_its_share() -> None:
    before, after = Counts.of([9, 2], [0, 0], [1, 0]), Counts.of([9, 1], [0, 0], [1, 1])
    moved = scheme_averages(before)["macro_f1"].value - scheme_averages(after)["macro_f1"].value
    assert macro_flip(before) == pytest.approx(moved)


def test_without_a_hit_macro_flip_turns_one_miss_of_the_rarest_class_into_a_hit() -> None:
    """2 gold examples, both missed: F1 goes from 0 to 2/3, macro over two classes by 1/3."""
    before, after = Counts.of([9, 0], [0, 0], [1, 2]), Counts.of([9, 1], [0, 0], [1, 1])
    moved = scheme_averages(after)["macro_f1"].value - scheme_averages(before)["macro_f1"].value
    assert macro_flip(before) == pytest.approx(1 / 3)
    assert macro_flip(before) == pytest.approx(moved)


def test_macro_flip_counts_false_alarms_of_a_class_without_a_hit() -> None:
    """1 gold example missed, 3 false alarms: F1 goes from 0 to 2/5."""
    assert macro_flip(Counts.of([0, 5, 5], [3, 0, 0], [1, 0, 0])) == pytest.approx(2 / 15)


def test_macro_flip_ignores_classes_without_gold() -> None:
    assert macro_flip(Counts.of([2, 0], [0, 4], [0, 0])) == pytest.approx(1 - 2 / 3)
    assert np.isnan(macro_flip(Counts.of([0], [4], [0])))


def test_an_inventory_without_labels_has_no_average() -> None:
    found = scheme_averages(Counts.of([], [], [])) | micro_averages(Counts.of([], [], []))
    assert not any(value.defined for value in found.values())
    assert all(value.reason for value in found.values())
