"""Ranks of facts: the same figures as from sorted claims."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.metrics import fact_ranks
from workers.metrics.bags import CUTS, claims_of_columns, facts_of_columns, hits
from workers.metrics.curve import thin
from workers.metrics.fact_ranks import rank_facts
from workers.metrics.ranking import (
    anchored_auc,
    area_under_ties,
    average_precision,
    best_point,
    points,
    precision_at,
    rank,
)
from workers.metrics.ranking_profiles import opennre

CLAIMS = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 0.75, 3.0]), st.booleans()), max_size=30
)


@given(claims=CLAIMS, unscored=st.integers(0, 3), few=st.sampled_from([0, 2, 64]))
@example(claims=[(0.5, False), (0.5, True), (0.5, True)], unscored=0, few=64)
@example(claims=[], unscored=1, few=64)
def test_figures_equal_those_of_the_sorted_list(claims, unscored, few):
    score, hit = np.array([one for one, _ in claims]), np.array([two for _, two in claims], dtype=bool)
    n_facts = int(hit.sum()) + unscored
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fact_ranks, "_FEW_TIES", few)
        placed = rank_facts(score, hit, n_facts=n_facts)
    ranked = rank(score, hit, n_facts=n_facts)
    np.testing.assert_array_equal(placed.rank, np.flatnonzero(ranked.hit) + 1)
    full, sparse = points(ranked), placed.points()
    for figure in (average_precision, anchored_auc):
        np.testing.assert_allclose(figure(sparse), figure(full), rtol=0, atol=1e-12)
    (f1, at), (expected, place_of) = best_point(sparse), best_point(full)
    np.testing.assert_equal(f1, expected)
    assert at < 0 or sparse.score[at] == full.score[place_of]
    for n in (1, 2, 5, 40):
        np.testing.assert_allclose(precision_at(sparse, n), precision_at(full, n), rtol=0, atol=1e-12)
    thinned, before = thin(sparse), thin(full)
    for name in ("recall", "precision", "score"):
        np.testing.assert_array_equal(getattr(thinned, name), getattr(before, name))


@given(hit=st.lists(st.booleans(), min_size=2, max_size=30).filter(any))
def test_a_constant_score_for_all_facts_reaches_half_of_one_and_the_precision_of_all_claims(hit):
    curve = points(rank(np.full(len(hit), 0.5), hit, n_facts=sum(hit)))
    area = anchored_auc(curve)
    np.testing.assert_allclose(area, (1 + np.mean(hit)) / 2)
    assert area > 0.5
    assert area_under_ties(curve) == 1


@given(claims=CLAIMS)
@example(claims=[(0.5, False), (0.25, False)])
def test_opennre_is_reproduced_point_by_point(claims):
    size = {"n_pairs": 31, "n_relations": 1}
    facts = facts_of_columns(
        [at for at, (_, fact) in enumerate(claims) if fact] + [30],
        [0] * (sum(f for _, f in claims) + 1),
        **size,
    )
    given_claims = claims_of_columns(
        range(len(claims)), [0] * len(claims), [one for one, _ in claims], **size
    )
    seen = opennre(given_claims, facts)
    if not claims:
        assert np.isnan(seen.max_f1)
        return
    ranked = rank(given_claims.score, hits(given_claims, facts), n_facts=len(facts))
    found = np.cumsum(ranked.hit)
    precision, recall = found / np.arange(1, len(found) + 1), found / len(facts)
    f1 = 2 * precision * recall / (precision + recall + 1e-20)
    best = int(np.argmax(f1))
    expected = (f1[best], ranked.score[best], precision[best], recall[best])
    assert (seen.max_f1, seen.tau, seen.precision_at_tau, seen.recall_at_tau) == expected
    area = np.trapezoid(precision, recall) if len(claims) > 1 else np.nan
    np.testing.assert_allclose(seen.auc, area, rtol=0, atol=1e-12)
    assert all(np.isnan(seen.p_at[n]) for n in CUTS)
