"""Agreement: textbook tables, the krippendorff package, scikit-learn, definitions."""

import itertools
from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.agreement import (
    COEFFICIENTS,
    NO_PAIRS,
    ONE_CATEGORY,
    agreement,
    answers_of_columns,
    answers_of_table,
    coefficient,
    group_answers,
)
from workers.metrics.annotators import cohen_kappa, span_f1
from workers.metrics.masi import MasiAlpha, SetAnswers, masi_distance, sets_of_matrix
from workers.metrics.resampling import draw, percentile_interval
from workers.metrics.spans import spans_of_columns

FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# three coders, fifteen units, "." is no answer
CODERS = [".....34121133.3", "1.213343.......", "..21344.21133.4"]


def krippendorffs() -> list[tuple[int, int]]:
    return [(unit, int(answer) - 1) for row in CODERS for unit, answer in enumerate(row) if answer != "."]


def test_the_textbook_table_of_fleiss() -> None:
    found = agreement(answers_of_table(FLEISS))
    assert found["fleiss"].value == pytest.approx(0.20993070442195522, abs=1e-15)
    assert found["ac1"].value == pytest.approx(0.2256141508, abs=5e-11)


def test_the_textbook_data_of_krippendorff() -> None:
    item, category = zip(*krippendorffs(), strict=True)
    found = agreement(answers_of_columns(item, category, n_items=15, n_categories=4))
    assert found["alpha"].value == pytest.approx(0.691358024691358, abs=1e-15)
    assert found["ac1"].value == pytest.approx(0.7091639179, abs=1e-10)


# per:place_of_birth in CrowdTruth's open domain: answers, how many chose it, and of how many units that is so
BIRTHPLACES = """
14 0 3  15 0 3139  15 1 354  15 2 97  15 3 30  15 4 21  15 5 17  15 6 7  15 7 12  15 8 18  15 9 27  15 10 55
15 11 59  15 12 82  15 13 87  15 14 53  15 15 18  16 0 5  16 1 10  16 2 1  16 3 1  16 4 1  16 8 1  16 14 1
30 0 1
"""


def test_agreement_on_a_crowdsourced_relation() -> None:
    votes, chosen, units = np.array(BIRTHPLACES.split(), dtype=np.int64).reshape(-1, 3).T
    found = agreement(replace(answers_of_table(np.stack((votes - chosen, chosen), axis=1)), times=units))
    assert found["fleiss"].value == pytest.approx(0.6494512002492937, abs=1e-13)
    assert found["alpha"].value == pytest.approx(0.6473431071183866, abs=1e-13)
    assert found["ac1"].value == pytest.approx(0.9289303704, abs=1e-9)


tables = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12)


@given(tables)
def test_alpha_equals_the_krippendorff_package(table) -> None:
    counts = np.array(table)
    pairable = counts[counts.sum(axis=1) >= 2]
    found = coefficient(answers_of_table(counts), "alpha")
    if np.count_nonzero(pairable.sum(axis=0)) < 2:
        assert np.isnan(found)
    else:
        theirs = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
        assert found == pytest.approx(theirs, abs=1e-12)


@given(tables, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_weighted_items_count_as_repeated_items(table, times) -> None:
    counts, times = np.array(table), np.array(times[: len(table)])
    repeated = np.repeat(counts, times, axis=0)
    whole = answers_of_table(counts)
    if not len(repeated) or answers_of_table(repeated).modal != whole.modal:
        return
    for name in COEFFICIENTS:
        expected = coefficient(answers_of_table(repeated), name)
        assert coefficient(whole, name, weights=times) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(tables, st.data())
def test_grouped_answers_give_the_same_coefficients(table, data) -> None:
    answers = answers_of_table(table)
    kinds = group_answers(answers)
    assert kinds.answers.n_items == len({tuple(row) for row in table})
    assert kinds.answers.modal == answers.modal
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    totals = kinds.totals(np.array(times), drawn=sum(times))
    for name in COEFFICIENTS:
        for whole, part in ((None, None), (times, totals)):
            wanted = coefficient(answers, name, weights=whole)
            found = coefficient(kinds.answers, name, weights=part)
            assert found == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_groups_differ_in_any_answer() -> None:
    answers = answers_of_columns([0, 0, 1, 1, 2, 3, 3], [0, 2, 1, 2, 2, 0, 2], n_items=4, n_categories=3)
    kinds = group_answers(answers)
    assert sorted(kinds.answers.times.tolist()) == [1, 1, 2]
    assert sorted(kinds.answers.votes.tolist()) == [1.0, 2.0, 2.0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=20), st.integers(0, 1_000)
)
def test_masi_alpha_on_grouped_answers_without_stored_distances(votes, seed) -> None:
    item, rows = zip(*((at, [bool(code & 1 << bit) for bit in range(3)]) for at, code in votes), strict=True)
    whole = sets_of_matrix(item, rows, n_items=5)
    kinds = group_answers(whole.answers)
    lean = MasiAlpha(SetAnswers(kinds.answers, whole.members), most_kept=0)
    assert lean() == pytest.approx(MasiAlpha(whole)(), abs=1e-12, nan_ok=True)
    weights = np.random.default_rng(seed).integers(0, 3, 5)
    totals = kinds.totals(weights, drawn=int(weights.sum()))
    assert lean(totals) == pytest.approx(MasiAlpha(whole)(weights), abs=1e-12, nan_ok=True)


def test_fleiss_uses_only_items_with_the_modal_number_of_answers() -> None:
    table = [[2, 1], [1, 2], [3, 0], [9, 0]]
    assert coefficient(answers_of_table(table), "fleiss") == coefficient(
        answers_of_table(table[:3]), "fleiss"
    )


def test_single_answers_leave_agreement_undefined_with_a_reason() -> None:
    assert {value.reason for value in agreement(answers_of_table([[1, 0], [0, 1]])).values()} == {NO_PAIRS}


def test_one_category_leaves_kappa_and_alpha_undefined_but_not_ac1() -> None:
    found = agreement(answers_of_table([[3, 0], [3, 0]]))
    assert found["fleiss"].reason == found["alpha"].reason == ONE_CATEGORY
    assert found["ac1"].value == found["observed"].value == 1.0


def masi(a: set[int], b: set[int]) -> float:
    if a == b:
        return 0.0
    kind = 2 / 3 if a and b and (a <= b or b <= a) else 1 / 3 if a & b else 0.0
    return 1 - len(a & b) / len(a | b) * kind


set_votes = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.booleans(), min_size=3, max_size=3)), min_size=2, max_size=20
)


@given(set_votes)
def test_masi_alpha_equals_its_definition(votes) -> None:
    held = [(item, {at for at, has in enumerate(row) if has}) for item, row in votes]
    pairable = [(i, s) for i, s in held if sum(j == i for j, _ in held) > 1]
    sizes = {i: sum(j == i for j, _ in held) for i, _ in held}
    within = sum(
        masi(a, b) / (sizes[i] - 1) for (i, a), (j, b) in itertools.permutations(pairable, 2) if i == j
    )
    across = sum(masi(a, b) for (_, a), (_, b) in itertools.permutations(pairable, 2))
    item, rows = zip(*votes, strict=True)
    found = MasiAlpha(sets_of_matrix(item, rows, n_items=5))()
    expected = 1 - within * (len(pairable) - 1) / across if across else float("nan")
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_masi_of_empty_sets() -> None:
    assert masi_distance([[0, 0]], [[0, 0], [1, 0]]).tolist() == [[0.0, 1.0]]


def test_an_interval_contains_the_figure_in_any_order_of_replicates() -> None:
    alpha = MasiAlpha(
        sets_of_matrix([0, 0, 1, 1, 2, 2], [[1, 0], [1, 0], [0, 1], [1, 1], [0, 1], [0, 1]], n_items=3)
    )
    drawn = [alpha(draw(3, seed=0, replicate=r)) for r in range(200)]
    interval = percentile_interval(drawn)
    assert interval.low <= alpha() <= interval.high
    assert interval == percentile_interval(
        [alpha(draw(3, seed=0, replicate=r)) for r in reversed(range(200))]
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=10, max_size=25))
def test_cohen_kappa_equals_scikit_learn(answers) -> None:
    from sklearn.metrics import cohen_kappa_score

    left, right = zip(*answers, strict=True)
    items = list(range(len(answers)))
    found = cohen_kappa(items * 2, [0] * len(items) + [1] * len(items), [*left, *right])
    if len(set(left) | set(right)) == 1:
        assert np.isnan(found.value[0])
    else:
        assert found.value[0] == pytest.approx(cohen_kappa_score(left, right), abs=1e-12)


def test_cohen_kappa_needs_enough_common_items() -> None:
    found = cohen_kappa([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0])
    assert (found.common[0], found.observed[0]) == (2, 1.0)
    assert np.isnan(found.value[0])


def test_the_matrix_of_pairs_is_symmetric_with_an_undefined_diagonal() -> None:
    table = cohen_kappa([0, 0, 1, 1], [4, 1, 4, 1], [1, 1, 0, 0], least_common=2).matrix(5)
    assert table[1, 4] == table[4, 1] == 1.0
    assert np.isnan(np.diagonal(table)).all()


def test_two_answers_of_one_annotator_to_an_item_are_rejected() -> None:
    with pytest.raises(ValueError, match="twice"):
        cohen_kappa([0, 0], [1, 1], [0, 1])


def test_span_f1_counts_common_items_only() -> None:
    # annotators 0 and 1 share item 0; annotator 1 alone marked item 1
    spans = spans_of_columns([0, 0, 1, 2], [0, 4, 0, 0], [2, 5, 2, 9], [0, 0, 0, 0], n_documents=3)
    found = span_f1([0, 0, 1], [0, 1, 1], spans)
    assert (len(found), found.value[0]) == (1, pytest.approx(2 / 3))


def test_span_f1_without_spans_is_undefined() -> None:
    found = span_f1([0, 0], [0, 1], spans_of_columns([], [], [], [], n_documents=2))
    assert np.isnan(found.value[0])
    assert found.observed[0] == 1.0
