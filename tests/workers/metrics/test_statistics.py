"""Label statistics, source quality, label sets, relations between spans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.bags import facts_of_columns
from workers.metrics.classification import set_counts
from workers.metrics.relations import link_counts, links_of_columns
from workers.metrics.spans import spans_of_columns
from workers.metrics.statistics import label_statistics, perplexity, set_statistics, source_quality
from workers.metrics.suites import sets_suite

# gold of the SemEval-2010 Task 8 test set: relations by direction, and Other
DIRECTED = [134, 194, 162, 150, 153, 39, 291, 1, 211, 47, 22, 134, 32, 201, 210, 51, 108, 123]
OTHER = 454


def test_directed_labels_of_a_published_test_set() -> None:
    seen = label_statistics(DIRECTED, negative=OTHER)
    assert (seen.total, seen.ratio) == (2717, 291.0)
    assert seen.perplexity_with_negative == pytest.approx(14.451584843837727, abs=1e-12)
    assert seen.perplexity_without_negative == pytest.approx(14.365594377492465, abs=1e-12)


def test_undirected_labels_of_a_published_test_set() -> None:
    seen = label_statistics(np.array(DIRECTED).reshape(-1, 2).sum(axis=1), negative=OTHER)
    assert seen.perplexity_with_negative == pytest.approx(9.607829587906089, abs=1e-12)
    assert seen.perplexity_without_negative == pytest.approx(8.79965604201476, abs=1e-12)
    assert seen.ratio == pytest.approx(2.1025641025641026)


def test_an_empty_distribution_is_undefined() -> None:
    seen = label_statistics([0, 0])
    assert np.isnan([seen.ratio, seen.negative_share, perplexity([])]).all()


def test_a_fact_counts_once_and_a_pair_without_facts_is_na() -> None:
    # sentences 0 and 1 of pair 0, sentence 2 of pair 1, sentence 3 of pair 2
    seen = set_statistics([0, 0, 1, 2], [0, 1, 1, 2], [4, 4, 2, 4], n_relations=5)
    assert (seen.sentences, seen.pairs, seen.facts, seen.relations) == (4, 3, 3, 2)
    assert (seen.na_sentences, seen.na_pairs, seen.na_share) == (1, 1, 0.25)


def test_codes_out_of_range_are_rejected() -> None:
    with pytest.raises(ValueError, match="label is out of range"):
        set_statistics([0], [0], [5], n_relations=5)


def test_source_labels_against_human_gold() -> None:
    size = {"n_pairs": 4, "n_relations": 2}
    source = facts_of_columns([0, 1, 2], [0, 0, 1], **size)
    human = facts_of_columns([0, 0, 2], [0, 1, 1], **size)
    seen = source_quality(source, human)
    assert (seen.precision, seen.recall, seen.pair_accuracy) == pytest.approx((2 / 3, 2 / 3, 0.5))
    assert seen.relation_precision.tolist() == [0.5, 1.0]
    assert seen.relation_recall.tolist() == [1.0, 0.5]


cells = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=8)


@given(cells, st.data())
def test_label_sets_are_scored_as_scikit_learn_does(gold, data) -> None:
    from sklearn.metrics import f1_score

    shape = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=len(gold), max_size=len(gold))
    truth, answer = np.array(gold), np.array(data.draw(shape))
    values = sets_suite(
        *np.nonzero(truth), *np.nonzero(answer), n_items=len(truth), labels=["a", "b", "c"]
    ).values
    assert values["accuracy"].value == (truth == answer).all(axis=1).mean()
    if truth.any():
        for ours, theirs in (("micro", "micro"), ("macro_all", "macro"), ("weighted", "weighted")):
            expected = f1_score(truth, answer, average=theirs, zero_division=0)
            assert values[f"{ours}_f1"].value == pytest.approx(expected, abs=1e-12)


def test_label_sets_of_different_size_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"\(1, 1\) and \(2, 1\)"):
        set_counts(
            facts_of_columns([], [], n_pairs=1, n_relations=1),
            facts_of_columns([], [], n_pairs=2, n_relations=1),
        )


SPANS = ([0, 0, 1], [0, 3, 0], [1, 4, 2])


def test_a_relation_is_correct_with_direction_and_ends_and_strictly_with_types() -> None:
    gold = links_of_columns(spans_of_columns(*SPANS, [0, 1, 0], n_documents=2), [0], [0], [1])
    other = spans_of_columns(*SPANS, [0, 0, 0], n_documents=2)
    same, turned = links_of_columns(other, [0], [0], [1]), links_of_columns(other, [1], [0], [0])
    found = [
        int(link_counts(gold, answer, mode=mode, n_relations=1).tp[0])
        for answer in (same, turned)
        for mode in ("bounds", "strict")
    ]
    assert found == [1, 0, 0, 0]


def test_a_repeated_relation_counts_once() -> None:
    spans = spans_of_columns(*SPANS, [0, 1, 0], n_documents=2)
    counts = link_counts(
        links_of_columns(spans, [0], [0], [1]),
        links_of_columns(spans, [0, 0], [0, 0], [1, 1]),
        mode="strict",
        n_relations=1,
    )
    assert (counts.tp.tolist(), counts.fp.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [(([0], [0], [2]), "two documents"), (([9], [0], [0]), "3 spans"), (([0], [0], [0, 1]), "one length")],
)
def test_relations_between_invalid_ends_are_rejected(rows, message) -> None:
    with pytest.raises(ValueError, match=message):
        links_of_columns(spans_of_columns(*SPANS, [0, 1, 0], n_documents=2), *rows)
