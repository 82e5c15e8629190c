"""Ranked claims: published figures of both profiles, scikit-learn, ties, bags, thinning."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.metrics.ranked_numbers import GOLD, SCORES
from workers.metrics.bags import Claims, Facts, bag_claims, claims_of_columns, facts_of_columns, hits
from workers.metrics.curve import thin
from workers.metrics.ranking import order_by_score, points, precision_at, rank
from workers.metrics.ranking_profiles import FEW_CLAIMS, FEW_POINTS, NO_CLAIMS, NO_FACTS, corrected, opennre
from workers.metrics.suites import bags_suite

NAN = float("nan")


def small() -> tuple[Claims, Facts]:
    gold = [(pair, int(one) - 1) for pair, held in enumerate(GOLD.split()) for one in held if one != "."]
    scores = np.array([int(score) for score in SCORES.split()]) / 1000
    size = {"n_pairs": 120, "n_relations": 3}
    claims = claims_of_columns(np.repeat(np.arange(120), 3), np.tile([0, 1, 2], 120), scores, **size)
    return claims, facts_of_columns(*zip(*gold, strict=True), **size)


def tiny() -> tuple[Claims, Facts]:
    """Pairs ab, cd, ef, gh, and 300 more with a claim of 0 each; the fact of ef is never claimed."""
    size = {"n_pairs": 304, "n_relations": 2}
    pair, relation = [0, 0, 1, 1, 3, 3, *range(4, 304)], [0, 1, 1, 0, 0, 1, *[0] * 300]
    claims = claims_of_columns(pair, relation, [0.9, 0.8, 0.7, 0.2, 0.6, 0.1, *[0.0] * 300], **size)
    return claims, facts_of_columns([0, 1, 2], [0, 1, 0], **size)


def test_opennre_figures_on_a_list_with_ties() -> None:
    seen = opennre(*small())
    found = [seen.auc, seen.max_f1, seen.macro_f1_at_tau, seen.micro_f1_at_half, seen.macro_f1_at_half]
    published = [
        0.9016589502195078,
        0.84472049689441,
        0.5705981822024943,
        0.8301886792452831,
        0.5608672086720867,
    ]
    assert found == pytest.approx(published, abs=1e-15)
    assert [*seen.p_at.values(), seen.p_at_mean] == pytest.approx([0.74, 0.415, 0.28, 0.47833333333333333])


def test_opennre_f1_per_relation() -> None:
    rows = bags_suite(*small(), relations=["r1", "r2", "r3"]).classes["opennre"]
    assert [row.f1 for row in rows] == pytest.approx([0.8433734939759037, 0.868421052631579, 0.0], abs=1e-15)


def test_corrected_figures_on_a_list_with_ties() -> None:
    seen = corrected(*small())
    found = [seen.ap, seen.auc, seen.max_f1, seen.tau, seen.macro_f1_at_tau]
    assert found == pytest.approx([0.9137954310, 0.9137064786, 0.8395061728, 0.49, 0.5705981822], abs=5e-11)


def test_an_unclaimed_fact_lowers_macro_f1_only_in_the_corrected_profile() -> None:
    theirs, ours = opennre(*tiny()), corrected(*tiny())
    assert (theirs.macro_f1_at_tau, ours.macro_f1_at_tau) == pytest.approx(
        (0.8333333333333333, 0.6666666666666666)
    )
    assert (theirs.auc, theirs.max_f1) == pytest.approx((0.19444444444444442, 0.6666666666666666), abs=1e-15)
    assert theirs.p_at_mean == pytest.approx(0.012222222222222223, abs=1e-15)
    assert (theirs.micro_f1_at_half, theirs.macro_f1_at_half) == pytest.approx((2 / 3, 2 / 3))


@pytest.mark.parametrize("n", [2, 10])
def test_a_perfect_ranking(n) -> None:
    size = {"n_pairs": n, "n_relations": 1}
    zeros = np.zeros(n, dtype=int)
    data = (
        claims_of_columns(range(n), zeros, -np.arange(n), **size),
        facts_of_columns(range(n), zeros, **size),
    )
    assert opennre(*data).auc == pytest.approx(1 - 1 / n)
    assert (corrected(*data).auc, corrected(*data).ap) == pytest.approx((1.0, 1.0))


ranked = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40)


@given(ranked)
def test_corrected_equals_scikit_learn_if_every_fact_is_scored(rows) -> None:
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve

    score, hit = (np.array(column) for column in zip(*rows, strict=True))
    if not hit.any():
        return
    size = {"n_pairs": len(score), "n_relations": 1}
    zeros = np.zeros(len(score), dtype=int)
    facts = facts_of_columns(np.flatnonzero(hit), zeros[hit], **size)
    seen = corrected(claims_of_columns(np.arange(len(score)), zeros, score, **size), facts)
    precision, recall, _ = precision_recall_curve(hit, score)
    assert seen.ap == pytest.approx(average_precision_score(hit, score), abs=1e-12)
    assert seen.auc == pytest.approx(auc(recall, precision), abs=1e-12)


@given(ranked, st.integers(0, 5))
def test_opennre_equals_the_loop_of_the_toolkit(rows, unscored) -> None:
    from sklearn.metrics import auc, f1_score

    score, hit = (np.array(column) for column in zip(*rows, strict=True))
    total = int(hit.sum()) + unscored
    if not total or len(score) < 2:
        return
    n = len(score) + unscored
    size = {"n_pairs": n, "n_relations": 1}
    facts = facts_of_columns(
        [*np.flatnonzero(hit), *range(len(score), n)], np.zeros(total, dtype=int), **size
    )
    seen = opennre(
        claims_of_columns(np.arange(len(score)), np.zeros(len(score), dtype=int), score, **size), facts
    )
    precision, recall, right = [], [], 0
    for at, (_, true) in enumerate(sorted(rows, key=lambda row: row[0], reverse=True)):
        right += true
        precision.append(right / (at + 1))
        recall.append(right / total)
    f1 = [2 * p * r / (p + r + 1e-20) for p, r in zip(precision, recall, strict=True)]
    tau = sorted(score, reverse=True)[int(np.argmax(f1))]
    assert (seen.auc, seen.max_f1, seen.tau) == (
        pytest.approx(auc(recall, precision), abs=1e-15),
        max(f1),
        tau,
    )
    assert seen.macro_f1_at_tau == pytest.approx(f1_score(hit, score >= tau, zero_division=0), abs=1e-12)


@given(st.permutations(range(12)))
def test_the_order_of_ties_does_not_matter_in_the_corrected_profile(order) -> None:
    size = {"n_pairs": 12, "n_relations": 1}
    score, facts = np.repeat([3.0, 2.0, 1.0], 4), facts_of_columns([0, 5, 6, 11], [0] * 4, **size)
    rows = np.array(order)
    seen = corrected(claims_of_columns(rows, np.zeros(12, dtype=int), score[rows], **size), facts)
    plain = corrected(claims_of_columns(range(12), np.zeros(12, dtype=int), score, **size), facts)
    assert (seen.ap, seen.auc, seen.max_f1) == (plain.ap, plain.auc, plain.max_f1)


def test_opennre_counts_unscored_cells_as_claims_at_a_threshold_of_zero_or_less() -> None:
    size = {"n_pairs": 2, "n_relations": 2}
    claims = claims_of_columns([0, 1], [0, 0], [-1.0, -2.0], **size)
    facts = facts_of_columns([0, 1], [0, 0], **size)
    assert opennre(claims, facts).counts.fp.tolist() == [0, 2]
    assert corrected(claims, facts).counts.fp.tolist() == [0, 0]


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, 3.0]), max_size=60))
def test_ties_stay_in_input_order(scores) -> None:
    expected = sorted(range(len(scores)), key=lambda row: -scores[row])
    assert order_by_score(np.array(scores, dtype=float)).tolist() == expected


def test_precision_at_n_counts_ties_in_proportion() -> None:
    curve = points(rank([9, 5, 5, 5, 5], [True, True, False, False, True], n_facts=3))
    assert [precision_at(curve, n) for n in (1, 2, 3)] == pytest.approx([1.0, 0.75, 2 / 3])
    assert np.isnan(precision_at(curve, 6))


def test_undefined_figures_have_reasons() -> None:
    size = {"n_pairs": 1, "n_relations": 1}
    empty, one = claims_of_columns([], [], [], **size), claims_of_columns([0], [0], [1.0], **size)
    none, fact = facts_of_columns([], [], **size), facts_of_columns([0], [0], **size)
    assert bags_suite(one, none, relations=["r"]).values["ap"] == (
        pytest.approx(NAN, nan_ok=True),
        NO_FACTS,
    )
    assert bags_suite(empty, fact, relations=["r"]).values["max_f1"].reason == NO_CLAIMS
    assert bags_suite(one, fact, relations=["r"]).values["opennre_auc"].reason == FEW_POINTS
    assert bags_suite(one, fact, relations=["r"]).values["p_at_100"].reason == FEW_CLAIMS


def test_bag_scores_are_the_maximum_or_mean_of_sentence_scores() -> None:
    sentences = claims_of_columns([0, 1, 2, 2], [1, 1, 1, 0], [0.2, 0.6, 0.5, 0.1], n_pairs=3, n_relations=2)
    one = bag_claims(sentences, [1, 1, 0], aggregation="ONE", n_bags=2)
    mean = bag_claims(sentences, [1, 1, 0], aggregation="AVG", n_bags=2)
    assert list(zip(one.pair, one.relation, strict=True)) == [(1, 1), (0, 1), (0, 0)]
    assert (one.score.tolist(), mean.score.tolist()) == ([0.6, 0.5, 0.1], pytest.approx([0.4, 0.5, 0.1]))
    great = claims_of_columns([0, 1, 2], [0, 0, 1], [1.7e308, 1.7e308, 0.5], n_pairs=3, n_relations=2)
    mean = bag_claims(great, [0, 0, 0], aggregation="AVG", n_bags=1)
    assert mean.score.tolist() == [pytest.approx(1.7e308), 0.5]


@given(
    st.lists(st.lists(st.integers(-30, 30), min_size=1, max_size=7), min_size=2, max_size=12),
    st.sampled_from([10, 100, 7_000]),
    st.randoms(use_true_random=False),
)
def test_mean_scores_of_bags_are_equal_where_exact_means_are_in_any_order_of_lines(
    bags, unit, random
) -> None:
    bags = [*bags, *(scores * times for scores in bags for times in (1, 3))]  # whose means are equal
    lines = [(bag, score / unit) for bag, scores in enumerate(bags) for score in scores]
    random.shuffle(lines)
    n = len(lines)
    sentences = claims_of_columns(range(n), [0] * n, [score for _, score in lines], n_pairs=n, n_relations=1)
    claims = bag_claims(sentences, [bag for bag, _ in lines], aggregation="AVG", n_bags=len(bags))
    mean = dict(zip(claims.pair.tolist(), claims.score.tolist(), strict=True))
    exact = [Fraction(sum(scores), len(scores)) for scores in bags]
    for one, other in combinations(range(len(bags)), 2):
        assert (mean[one] < mean[other], mean[one] == mean[other]) == (
            exact[one] < exact[other],
            exact[one] == exact[other],
        )


def test_scores_of_bags_of_one_sentence_stay_distinct_and_as_they_are() -> None:
    scores = [1.0, np.nextafter(1.0, 0), 0.2, 1e-30, 2e-30, 0.1, 0.2, 0.3]
    sentences = claims_of_columns(range(8), [0] * 8, scores, n_pairs=8, n_relations=1)
    found = bag_claims(sentences, [0, 1, 2, 3, 4, 5, 5, 5], aggregation="AVG", n_bags=6).score.tolist()
    assert found[:2] == scores[:2]
    assert found[3:5] == scores[3:5]
    assert found[2] == found[5]


def test_hits_are_the_same_without_a_lookup_table() -> None:
    size = {"n_pairs": 2**24, "n_relations": 8}
    claims = claims_of_columns([5, 2**24 - 1], [7, 0], [0.1, 0.2], **size)
    assert hits(claims, facts_of_columns([5], [7], **size)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 0], [0, 0], [1.0, 2.0]), "row 1 repeats pair 0, relation 0"),
        (([0], [0], [NAN]), "row 0 has the score nan"),
        (([2], [0], [1.0]), "row 0 has pair 2"),
        (([0], [5], [1.0]), "row 0 has relation 5"),
        (([0], [0, 1], [1.0]), "1 pairs and 2 relations"),
        (([0], [0], [1.0, 2.0]), "1 claims and 2 scores"),
    ],
)
def test_invalid_claims_are_rejected_with_their_row(columns, message) -> None:
    with pytest.raises(ValueError, match=message):
        claims_of_columns(*columns, n_pairs=2, n_relations=2)


def test_a_thinned_curve_is_within_tolerance_of_every_point() -> None:
    rng = np.random.default_rng(7)
    hit = rng.random(60_000) < np.linspace(0.9, 0.0, 60_000)
    curve = points(rank(-np.arange(60_000), hit, n_facts=int(hit.sum()) + 50))
    thinned = thin(curve)
    assert len(thinned.recall) <= 2_000
    assert thinned.moved == 5e-4
    x, y = thinned.recall, thinned.precision
    nearest = np.full(len(curve.claims), np.inf)
    for at in range(len(x) - 1):
        width, height = x[at + 1] - x[at], y[at + 1] - y[at]
        along = ((curve.recall - x[at]) * width + (curve.precision - y[at]) * height) / (width**2 + height**2)
        along = np.clip(along, 0, 1)
        away = np.hypot(curve.recall - x[at] - along * width, curve.precision - y[at] - along * height)
        nearest = np.minimum(nearest, away)
    assert nearest.max() <= 5e-4 + 1e-12


def test_a_jagged_curve_is_thinned_with_a_greater_tolerance() -> None:
    hit = np.arange(4_000) % 2 == 0
    thinned = thin(points(rank(-np.arange(4_000), hit, n_facts=2_000)), most=50)
    assert len(thinned.recall) <= 50
    assert thinned.moved > 5e-4
