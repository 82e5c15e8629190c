"""Comparison of systems: SciPy, a published example, degenerate runs, Holm, bands."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.systems import (
    FEW_RUNS,
    NO_VARIANCE,
    ROUNDED_TO_ZERO,
    Printed,
    Spread,
    cohens_d,
    detectable_difference,
    holm,
    size_word,
    spread,
    welch,
    welch_of_moments,
    welch_of_printed,
)

A = [0.71, 0.72, 0.705, 0.731, 0.718]
B = [0.69, 0.702, 0.655, 0.71, 0.699, 0.688]
runs = st.lists(st.floats(0, 1), min_size=2, max_size=7)


def test_the_least_degrees_of_freedom_are_those_of_the_smaller_side() -> None:
    """Of equal systems Welch's own find 12 % of two runs against 20 to differ at .05."""
    two, twenty = [0.70, 0.72], [0.6 + at / 100 for at in range(20)]
    welchs, least = welch(two, twenty), welch(two, twenty, least_df=True)
    assert (least.df, least.t) == (1, welchs.t)
    assert least.p == pytest.approx(1 - 2 / math.pi * math.atan(abs(welchs.t)))  # Cauchy's distribution
    assert least.low < welchs.low < welchs.high < least.high
    rounded = welch(two, twenty, step=0.005)
    assert rounded.t == pytest.approx(welchs.t * (1 - 0.005 / abs(welchs.difference)))
    assert (rounded.df, rounded.low, rounded.p > welchs.p) == (welchs.df, welchs.low, True)
    assert welch(two, twenty, step=1).p == 1
    sides = spread(np.array(two)), spread(np.array(twenty))
    assert detectable_difference(*sides, least_df=True) > detectable_difference(*sides)


@pytest.mark.parametrize(
    ("first", "second"), [((2, 1), (2, 1)), ((3, 1), (3, 1)), ((10, 1), (10, 1)), ((2, 0.2), (5, 1.2))]
)
def test_a_test_detects_the_stated_difference_in_four_of_five_cases(
    first: tuple[int, float], second: tuple[int, float]
) -> None:
    """With two runs each it was less than half: the degrees of freedom vary with what a test sees."""
    from scipy.stats import ttest_ind

    sides = [Spread(n, 0, deviation, 0, 0) for n, deviation in (first, second)]
    rng, found = np.random.default_rng(1), detectable_difference(*sides)
    drawn = [rng.normal(0, deviation, (20_000, n)) for n, deviation in (first, second)]
    p = ttest_ind(drawn[0] + found, drawn[1], axis=1, equal_var=False).pvalue
    assert np.mean(p < 0.05) == pytest.approx(0.8, abs=0.015)


def test_welch_on_known_runs() -> None:
    seen = welch(A, B)
    assert (seen.t, seen.df, seen.p) == pytest.approx(
        (2.8921030166681105, 7.7427322222517185, 0.020844302586961582)
    )


def test_effect_size_is_pooled_for_unequal_n_and_averaged_for_equal() -> None:
    assert welch(A, B).d == pytest.approx(1.6527681535318954, abs=1e-14)
    one, two = spread(A), spread(B[:5])
    assert cohens_d(one, two) == pytest.approx(
        (one.mean - two.mean) / np.sqrt((one.deviation**2 + two.deviation**2) / 2), abs=1e-12
    )


@given(runs, runs)
def test_welch_equals_scipy(a, b) -> None:
    from scipy import stats

    if np.ptp(a) < 1e-6 or np.ptp(b) < 1e-6:
        return
    theirs, ours = stats.ttest_ind(a, b, equal_var=False), welch(a, b)
    interval = theirs.confidence_interval(0.95)
    assert (ours.p, ours.df) == pytest.approx((theirs.pvalue, theirs.df), abs=1e-12)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), abs=1e-10)


@pytest.mark.parametrize(
    ("a", "b", "reason"), [([0.5], [0.4, 0.6], FEW_RUNS), ([0.5, 0.5], [0.4, 0.4], NO_VARIANCE)]
)
def test_no_p_without_runs_or_variance(a, b, reason) -> None:
    seen = welch(a, b)
    assert np.isnan([seen.p, seen.low, seen.d]).all()
    assert (seen.reason, seen.word) == (reason, None)


def test_the_spread_of_one_run_has_no_deviation() -> None:
    assert spread([0.5])[:2] == (1, 0.5)
    assert np.isnan(spread([0.5]).deviation)


def test_figures_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(ValueError, match="finite"):
        spread([float("nan")])


@pytest.mark.parametrize(
    ("d", "word"),
    [
        (0.0, "none"),
        (0.01, "very small"),
        (0.2, "small"),
        (0.5, "medium"),
        (-0.8, "large"),
        (1.2, "very large"),
        (2, "huge"),
    ],
)
def test_words_for_effect_sizes(d, word) -> None:
    assert size_word(d) == word


def test_holm_adjusts_in_steps_and_skips_missing_tests() -> None:
    adjusted = holm([0.01, float("nan"), 0.04, 0.03])
    assert adjusted[[0, 2, 3]].tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(adjusted[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_raw_and_bonferroni(p) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= np.minimum(np.array(p) * len(p), 1) + 1e-15).all()


def test_effect_size_of_the_published_example_is_huge() -> None:
    assert size_word(cohens_d(Spread(5, 72.5, 0.3, 0, 0), Spread(5, 71.5, 0.4, 0, 0))) == "huge"


@pytest.mark.parametrize("score", [0.1, 0.7, 1 / 3, 0.1 + 0.2])
def test_equal_runs_have_no_variance_despite_rounding(score) -> None:
    assert spread([score] * 3) == (3, score, 0.0, score, score)
    seen = welch([score] * 3, [score / 2] * 7)
    assert seen.reason == NO_VARIANCE
    assert np.isnan([seen.t, seen.p, seen.low, seen.high, seen.d]).all()
    assert seen.word is None


def test_runs_that_differ_in_the_last_digits_of_a_float_do_not_vary() -> None:
    more, less = [0.9, 0.9, 0.9 + 2e-16], [0.8, 0.8 + 2e-16, 0.8]
    assert len({*more}) == len({*less}) == 2
    assert welch(more, less).reason == NO_VARIANCE
    assert spread(more) == (3, 0.9, 0.0, 0.9, more[2])
    assert np.isnan(
        [cohens_d(spread(more), spread(less)), detectable_difference(spread(more), spread(less))]
    ).all()
    assert spread([0.9, 0.9 + 1e-6]).deviation > 0


@pytest.mark.parametrize(
    ("a", "b", "expected", "p_range", "d_range", "called"),
    [
        # Harbecke et al. 2022, Table 3, micro and macro; Table 4, micro and dodrans; then unequal n
        (
            (5, 72.5, 0.3),
            (5, 71.5, 0.4),
            (0.0025057925429301676, 2.82842712474619),
            (0.0006396610269819307, 0.008499284740177943),
            (2.2326252226057663, 3.6167777207178413),
            True,
        ),
        (
            (5, 60.3, 0.8),
            (5, 43.1, 0.6),
            (8.220203472797299e-10, 24.324473272817226),
            (2.919623049769579e-10, 3.31931374257318e-09),
            (22.59999613556407, 26.305892875931796),
            True,
        ),
        (
            (5, 89.1, 0.3),
            (5, 88.4, 0.3),
            (0.0061361730824244405, 2.3333333333332957),
            (0.000977480212391236, 0.02663649662964619),
            (1.7142857142856982, 3.199999999999932),
            True,
        ),
        (
            (5, 88.7, 0.3),
            (5, 88.1, 0.3),
            (0.0133490634260178, 2.0000000000000284),
            (0.0022052539734681875, 0.0538256070600689),
            (1.4285714285714692, 2.8000000000000114),
            False,
        ),
        (
            (3, 70.0, 0.5),
            (10, 69.0, 0.7),
            (0.04329566979568364, 1.496771814800255),
            (0.0212170789962, 0.07811686232218026),
            (1.2538427919009467, 1.778594583599766),
            False,
        ),
    ],
)
def test_printed_figures_are_tested_with_what_their_rounding_allows(
    a, b, expected, p_range, d_range, called
) -> None:
    seen = welch_of_printed(Printed(*a, 0.05, 0.05), Printed(*b, 0.05, 0.05))
    assert (seen.test.p, seen.test.d) == pytest.approx(expected, rel=1e-9)
    assert seen.p_range == pytest.approx(p_range, rel=1e-9)
    assert seen.d_range == pytest.approx(d_range, rel=1e-9)
    assert seen.called is called


@pytest.mark.parametrize(("a", "b"), [((2, 84.9, 0.1), (5, 83.0, 0.0)), ((4, 70.2, 0.1), (3, 70.0, 0.2))])
def test_the_least_p_is_that_of_all_figures_that_round_to_the_printed_ones(a, b) -> None:
    """It lies between the corners where a larger deviation adds degrees of freedom."""
    seen = welch_of_printed(Printed(*a, 0.05, 0.05), Printed(*b, 0.05, 0.05))
    deviations = [np.linspace(max(sd - 0.05, 0), sd + 0.05, 101) for _, _, sd in (a, b)]
    far = a[1] - b[1] + 0.1
    tests = [
        welch_of_moments(Spread(a[0], far, first, 0, 0), Spread(b[0], 0, second, 0, 0)).p
        for first in deviations[0]
        for second in deviations[1]
        if first + second
    ]
    assert seen.p_range[0] <= min(tests) * (1 + 1e-9)
    assert seen.p_range[0] == pytest.approx(min(tests), rel=0.01)


def test_printed_deviations_of_zero_are_rounded_ones() -> None:
    """84.9 ± 0.0 may stand for runs that vary."""
    seen = welch_of_printed(Printed(5, 84.9, 0.0, 0.05, 0.05), Printed(2, 83.0, 0.0, 0.5, 0.5))
    assert seen.test.reason == ROUNDED_TO_ZERO
    exact = welch_of_printed(Printed(5, 84.9, 0.0, 0.0, 0.0), Printed(2, 83.0, 0.0, 0.0, 0.0))
    assert exact.test.reason == NO_VARIANCE


def test_printed_means_that_may_be_equal_differ_with_no_certainty() -> None:
    seen = welch_of_printed(Printed(5, 70.1, 0.0, 0.05, 0.05), Printed(5, 70.0, 0.1, 0.05, 0.05))
    assert seen.p_range[1] == 1.0
    assert not seen.called


def test_printed_figures_of_single_runs_have_no_test() -> None:
    seen = welch_of_printed(Printed(1, 70.0, 0.1, 0.05, 0.05), Printed(5, 60.0, 0.1, 0.05, 0.05))
    assert seen.test.reason == FEW_RUNS
    assert not seen.called
