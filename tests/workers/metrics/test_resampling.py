"""Resampling: repeatable, shardable, equal to direct computation."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.bags import Claims, Facts, claims_of_columns, facts_of_columns, hits
from workers.metrics.classification import confusion, confusion_counts
from workers.metrics.ranking import (
    STATISTICS,
    Points,
    anchored_auc,
    average_precision,
    best_point,
    points,
    rank,
)
from workers.metrics.reranking import bootstrap_ranking, randomise_ranking, sort_claims
from workers.metrics.resampling import (
    Tallies,
    bootstrap,
    draw,
    flips,
    label_tallies,
    percentile_interval,
    randomisation_p,
    randomise,
    span_tallies,
    table_tallies,
    word_tallies,
    wrf_of_sums,
)
from workers.metrics.spans import exact_counts, spans_of_columns
from workers.metrics.weights import micro_averages, scheme_averages
from workers.metrics.words import tokens_of_lists, words_of_spans
from workers.metrics.wrf import MODES, gammas, wrf_figures

DEALT = np.random.default_rng(11)
GOLD = DEALT.integers(0, 3, 60)
SAID = np.where(DEALT.random(60) < 0.7, GOLD, DEALT.integers(-1, 3, 60))
OTHER = np.where(DEALT.random(60) < 0.5, GOLD, DEALT.integers(-1, 3, 60))


def statistic(curve: Points, name: str) -> float:
    """One of `STATISTICS` of a curve that is sorted anew."""
    return {"ap": average_precision, "auc": anchored_auc, "max_f1": lambda c: best_point(c)[0]}[name](curve)


def macro(sums: np.ndarray) -> float:
    return scheme_averages(confusion_counts(sums.reshape(3, 4)))["macro_f1"].value


def tallied(answers: np.ndarray) -> Tallies:
    return label_tallies(GOLD, answers, n_labels=3)


def claims_and_facts(seed: int, n: int = 30, width: int = 4) -> tuple[Claims, Facts]:
    rng = np.random.default_rng(seed)
    size = {"n_pairs": n, "n_relations": width}
    pair, relation = np.repeat(np.arange(n), width), np.tile(np.arange(width), n)
    facts = facts_of_columns(np.arange(0, n, 2), np.arange(0, n, 2) % width, **size)
    plain = claims_of_columns(pair, relation, rng.random(n * width).round(1), **size)
    return claims_of_columns(pair, relation, plain.score + 0.3 * hits(plain, facts), **size), facts


def test_a_replicate_depends_on_seed_and_number_alone() -> None:
    assert draw(9, seed=4, replicate=7).tolist() == draw(9, seed=4, replicate=7).tolist()
    assert draw(99, seed=4, replicate=7).tolist() != draw(99, seed=4, replicate=8).tolist()
    assert flips(99, seed=4, replicate=7).tolist() != flips(99, seed=5, replicate=7).tolist()


def test_sharded_replicates_equal_unsharded_ones() -> None:
    whole = bootstrap(tallied(SAID), macro, replicates=range(20))
    shards = [bootstrap(tallied(SAID), macro, replicates=range(at, at + 5)) for at in range(0, 20, 5)]
    assert np.concatenate(shards).tolist() == whole.tolist()


def ranked(replicates: range) -> np.ndarray:
    return bootstrap_ranking(sort_claims(*claims_and_facts(1)), replicates=replicates)


def reranked(replicates: range) -> np.ndarray:
    (a, facts), (b, _) = claims_and_facts(1), claims_and_facts(2)
    return randomise_ranking(sort_claims(a, facts, against=b), replicates=replicates)


def swapped(replicates: range) -> np.ndarray:
    return randomise(tallied(SAID), tallied(OTHER), macro, replicates=replicates)


def drawn(replicates: range) -> np.ndarray:
    return bootstrap(tallied(SAID), macro, replicates=replicates)


def counted(rows: range) -> np.ndarray:
    return confusion(GOLD[rows.start : rows.stop], SAID[rows.start : rows.stop], n_labels=3)


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_shards_give_the_same_figures_on_any_number_of_processes(processes: int) -> None:
    """Each process has a shard of the replicates, or of the items whose counts are added up."""
    step = 60 // processes
    shards = [range(at, at + step) for at in range(0, 60, step)]
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        for work in (drawn, swapped, ranked, reranked):
            parts = [*pool.map(work, shards)]
            assert np.concatenate(parts).tolist() == work(range(60)).tolist()
        assert sum(pool.map(counted, shards)).tolist() == counted(range(60)).tolist()


def test_a_bootstrap_replicate_is_the_figure_of_the_drawn_items() -> None:
    rows = np.repeat(np.arange(60), draw(60, seed=0, replicate=3))
    expected = scheme_averages(confusion_counts(confusion(GOLD[rows], SAID[rows], n_labels=3)))[
        "macro_f1"
    ].value
    assert bootstrap(tallied(SAID), macro, replicates=[3])[0] == pytest.approx(expected, abs=1e-12)


def test_a_randomisation_replicate_is_the_difference_after_swapping_answers() -> None:
    swap = flips(60, seed=2, replicate=5)
    sides = np.where(swap, OTHER, SAID), np.where(swap, SAID, OTHER)
    one, two = (macro(tallied(side).sums()) for side in sides)
    found = randomise(tallied(SAID), tallied(OTHER), macro, seed=2, replicates=[5])[0]
    assert found == pytest.approx(one - two, abs=1e-12)


def test_a_system_against_itself_has_p_one() -> None:
    drawn = randomise(tallied(SAID), tallied(SAID), macro, replicates=range(30))
    assert randomisation_p(0.0, drawn) == 1.0


def test_a_clear_difference_has_the_smallest_p() -> None:
    perfect = macro(tallied(GOLD).sums())
    worst = tallied(np.full(60, -1))
    drawn = randomise(tallied(GOLD), worst, macro, replicates=range(99))
    assert randomisation_p(perfect - macro(worst.sums()), drawn) == 1 / 100


def test_systems_with_different_items_are_rejected() -> None:
    with pytest.raises(ValueError, match="different items"):
        randomise(table_tallies([[1]]), table_tallies([[1], [1]]), lambda sums: 0.0, replicates=[0])


def test_span_tallies_sum_to_exact_counts() -> None:
    gold = spans_of_columns([0, 1, 1], [0, 0, 4], [2, 2, 5], [0, 1, 0], n_documents=2)
    answer = spans_of_columns([0, 1, 1], [0, 0, 4], [2, 2, 6], [0, 0, 0], n_documents=2)
    right, predicted, found = span_tallies(gold, answer, n_labels=2).sums().reshape(3, 2)
    counts = exact_counts(gold, answer, n_labels=2)
    assert (right == counts.tp).all()
    assert (predicted == counts.predicted).all()
    assert (found == counts.gold).all()
    assert micro_averages(counts)["micro_f1"].value == pytest.approx(1 / 3)


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from(STATISTICS))
def test_reweighting_a_sorted_list_equals_sorting_again(seed, replicate, name) -> None:
    claims, facts = claims_and_facts(seed)
    times = draw(30, seed=1, replicate=replicate)
    rows = np.repeat(np.arange(len(claims)), times[claims.pair])
    n_facts = int(times @ np.bincount(facts.pair, minlength=30))
    again = points(rank(claims.score[rows], hits(claims, facts)[rows], n_facts=n_facts))
    found = bootstrap_ranking(sort_claims(claims, facts), name=name, seed=1, replicates=[replicate])
    assert found[0] == pytest.approx(statistic(again, name), abs=1e-12)


@given(st.integers(0, 50), st.sampled_from(STATISTICS))
def test_swapping_claims_in_a_merged_list_equals_ranking_again(seed, name) -> None:
    (a, facts), (b, _) = claims_and_facts(seed), claims_and_facts(seed + 99)
    swap = flips(30, seed=3, replicate=seed)[a.pair]
    scores = np.where(swap, b.score, a.score), np.where(swap, a.score, b.score)
    one, two = (statistic(points(rank(s, hits(a, facts), n_facts=len(facts))), name) for s in scores)
    found = randomise_ranking(sort_claims(a, facts, against=b), name=name, seed=3, replicates=[seed])
    assert found[0] == pytest.approx(one - two, abs=1e-12)


def test_an_unknown_statistic_is_rejected() -> None:
    with pytest.raises(ValueError, match="ap, auc, max_f1"):
        bootstrap_ranking(sort_claims(*claims_and_facts(0)), name="p")


def test_undefined_replicates_are_left_out_of_an_interval() -> None:
    assert percentile_interval([0.5, float("nan"), 0.5]) == (0.5, 0.5)
    assert np.isnan(percentile_interval([float("nan")]).low)


def a_few_documents(seed, n=12):
    """Words, and gold and predicted spans over them."""
    rng = np.random.default_rng(seed)
    texts = [[f"w{word}" for word in rng.integers(0, 9, 8)] for _ in range(n)]
    sides = []
    for _ in range(2):
        document = np.sort(rng.integers(0, n, 20))
        start = rng.integers(0, 6, 20)
        sides.append((document, start, start + rng.integers(1, 3, 20), rng.integers(0, 2, 20)))
    return texts, sides


def repeated(texts, sides, weights):
    """The same documents, each as often as it was drawn."""
    rows = [at for at, weight in enumerate(weights) for _ in range(weight)]
    spans = []
    for document, *rest in sides:
        taken = [
            (new, *(part[at] for part in rest))
            for new, row in enumerate(rows)
            for at in np.flatnonzero(document == row)
        ]
        spans.append(spans_of_columns(*np.array(taken).reshape(-1, 4).T, n_documents=len(rows)))
    return tokens_of_lists([texts[row] for row in rows]), spans


@pytest.mark.parametrize("seed", range(5))
def test_wrf_of_drawn_documents_equals_wrf_of_repeated_documents(seed):
    texts, sides = a_few_documents(seed)
    tokens, (gold, answer) = repeated(texts, sides, [1] * len(texts))
    weights = [gammas(2, mode=mode) for mode in MODES]
    target, words = words_of_spans(gold, tokens), words_of_spans(answer, tokens)
    tallies = word_tallies(target, words, weights, n_labels=2)
    drawn = draw(len(texts), seed=seed, replicate=1)
    tokens, (gold, answer) = repeated(texts, sides, drawn)
    whole = wrf_figures(gold, answer, tokens, gold_counts=np.bincount(gold.label, minlength=2))
    names = ("wrf_strict", "wrf_strict_mean", "wrf_lenient", "wrf_lenient_mean")
    found = [value for two in wrf_of_sums(tallies.sums(drawn), weights) for value in two]
    assert found == pytest.approx([whole[name].value for name in names])
