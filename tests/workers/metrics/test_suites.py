"""Properties of every suite: registered keys, bounds, order, names, shards."""

from collections.abc import Callable

import numpy as np
import pytest

from evalsvc.evaluation.measures.menu import MEASURES
from workers.metrics.bags import claims_of_columns, facts_of_columns
from workers.metrics.classification import confusion, confusion_counts
from workers.metrics.relations import links_of_columns
from workers.metrics.report import Report
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.suites import (
    bags_suite,
    classification_suite,
    entities_suite,
    relations_suite,
    sets_suite,
    texts_suite,
    triples_suite,
)
from workers.metrics.text_answers import Answer, Document, TextAnswers
from workers.metrics.weights import NO_GOLD
from workers.metrics.words import tokens_of_lists

LABELS = ["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "Other"]
WORDS = [[f"w{number % 7}" for number in range(doc, doc + 12)] for doc in range(6)]
TOKENS = tokens_of_lists(WORDS)
NOT_A_SHARE = {"tau", "opennre_tau"}
# one point per claim and no anchor: by definition not 1 for a perfect list
# figures of the spans that relations join
OF_SPANS = {"relation_strict_ceiling", "relation_bounds_ceiling", "relation_bounds_entity_f1"}
NEVER_ONE = {"auc_under_ties", "opennre_auc"}
NEVER_ONE |= {"answers_not_in_text", "answers_foreign_label", "answers_abstained"}


def single(seed: int, share: float) -> Report:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4, 50)
    answer = np.where(rng.random(50) < share, gold, (gold + 1) % 4)
    order = rng.permutation(50)
    return classification_suite(gold[order], answer[order], labels=LABELS, negative="Other")


def sets(seed: int, share: float) -> Report:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 3, 400)
    answer = np.where(rng.random(400) < share, gold, (gold + 1) % 3)
    order = rng.permutation(400)
    return sets_suite(range(400), gold, order, answer[order], n_items=400, labels=list("abc"))


def spans(labels: list[int], shift: int) -> Spans:
    document = np.repeat(np.arange(6), 2)
    start = np.tile([0, 6], 6) + shift
    return spans_of_columns(document, start, start + 2, labels, n_documents=6)


def entities(seed: int, share: float) -> Report:
    gold = np.random.default_rng(seed).integers(0, 3, 12).tolist()
    answer = spans(gold, 0 if share else 3)
    return entities_suite(spans(gold, 0), answer, labels=list("xyz"), tokens=TOKENS)


def relations(seed: int, share: float) -> Report:
    held = spans([0, 1] * 6, 0)
    kinds = np.random.default_rng(seed).integers(0, 2, 6)
    gold = links_of_columns(held, range(0, 12, 2), kinds, range(1, 12, 2))
    answer = links_of_columns(held, range(0, 12, 2), kinds if share else 1 - kinds, range(1, 12, 2))
    return relations_suite(gold, answer, relations=["p", "q"])


def ranked(seed: int, share: float) -> Report:
    size = {"n_pairs": 400, "n_relations": 3}
    relation = np.arange(400) % 3
    scores = np.random.default_rng(seed).permutation(400) / 400 + 0.5
    answer = relation if share else (relation + 1) % 3
    facts = facts_of_columns(range(400), relation, **size)
    return bags_suite(claims_of_columns(range(400), answer, scores, **size), facts, relations=list("abc"))


def entity_texts(seed: int, share: float) -> Report:
    labels = np.random.default_rng(seed).integers(0, 3, 6).tolist()
    documents = [Document(" ".join(words)) for words in WORDS]
    gold = [[Answer(label, ("w1 w2",))] for label in labels]
    answer = [[Answer(label, ("w1 w2" if share else "w4",))] for label in labels]
    places = [document.occurrences("w1 w2")[0] for document in documents]
    spans = spans_of_columns(range(6), *zip(*places, strict=True), labels, n_documents=6)
    return texts_suite(documents, spans, TextAnswers(gold, 3), TextAnswers(answer, 3), labels=list("xyz"))


def triple_texts(seed: int, share: float) -> Report:
    relations = np.random.default_rng(seed).integers(0, 2, 6).tolist()
    documents = [Document(" ".join(words)) for words in WORDS]
    gold = [[Answer(relation, ("w1", "w2"))] for relation in relations]
    answer = [[Answer(relation, ("w1", "w2") if share else ("w2", "w1"))] for relation in relations]
    return triples_suite(documents, TextAnswers(gold, 2), TextAnswers(answer, 2), relations=["p", "q"])


SUITES = [single, sets, entities, relations, ranked, entity_texts, triple_texts]
Suite = Callable[[int, float], Report]


def test_suites_emit_exactly_the_registered_measures() -> None:
    assert set().union(*(suite(0, 1.0).values for suite in SUITES)) == set(MEASURES)


@pytest.mark.parametrize("suite", SUITES)
def test_perfect_answers_score_one(suite: Suite) -> None:
    found = {key: value.value for key, value in suite(1, 1.0).values.items()}
    assert {key for key, value in found.items() if abs(value - 1) > 1e-12} <= NOT_A_SHARE | NEVER_ONE


@pytest.mark.parametrize("suite", SUITES)
def test_disjoint_answers_score_zero(suite: Suite) -> None:
    found = suite(1, 0.0).values
    exempt = NOT_A_SHARE | {"semeval2010_coverage", "answers_coverage"} | OF_SPANS
    assert {key for key, value in found.items() if value.defined and value.value != 0} <= exempt


@pytest.mark.parametrize("suite", SUITES)
def test_values_lie_within_their_registered_bounds(suite: Suite) -> None:
    for key, value in suite(2, 0.6).values.items():
        low, high = MEASURES[key].low - 1e-12, MEASURES[key].high + 1e-12
        assert np.isnan(value.value) or low <= value.value <= high


@pytest.mark.parametrize("suite", SUITES)
def test_an_undefined_value_has_a_reason_and_only_it(suite: Suite) -> None:
    values = suite(3, 0.5).values.values()
    assert all((value.reason is None) == value.defined for value in values)


def test_the_order_of_items_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    gold, answer, order = rng.integers(0, 4, 80), rng.integers(-1, 4, 80), rng.permutation(80)
    one, two = (
        classification_suite(gold[o], answer[o], labels=LABELS, negative="Other") for o in (order, range(80))
    )
    assert repr(one) == repr(two)


def test_renaming_labels_changes_no_figure() -> None:
    rng = np.random.default_rng(9)
    gold, answer, turn = rng.integers(0, 4, 80), rng.integers(0, 4, 80), np.array([2, 3, 0, 1])
    plain = classification_suite(gold, answer, labels=list("abcd"), negative="d")
    turned = classification_suite(turn[gold], turn[answer], labels=list("wxyz"), negative="x")
    for key, value in plain.values.items():
        assert turned.values[key].value == pytest.approx(value.value, abs=1e-12, nan_ok=True)


def test_lists_and_arrays_give_the_same_figures() -> None:
    gold, answer = [0, 1, 2, 3], [0, 1, 1, -1]
    one, two = (
        classification_suite(g, s, labels=LABELS) for g, s in ((gold, answer), map(np.array, (gold, answer)))
    )
    assert repr(one) == repr(two)


def test_shards_sum_to_the_total() -> None:
    rng = np.random.default_rng(4)
    gold, answer = rng.integers(0, 4, 90), rng.integers(-1, 4, 90)
    shards = [confusion_counts(confusion(gold[at::3], answer[at::3], n_labels=4)) for at in range(3)]
    assert shards[0] + shards[1] + shards[2] == confusion_counts(confusion(gold, answer, n_labels=4))


def test_negative_items_enter_entropy_of_label_sets_only() -> None:
    data = ([0, 1, 2], [0, 0, 1], [0, 1, 2], [0, 1, 1])
    bare, full = (
        sets_suite(*data, n_items=9, labels=["a", "b"], negative_items=count).values for count in (0, 6)
    )
    assert {key for key in bare if bare[key] != full[key]} == {
        "entropy_f1",
        "entropy_precision",
        "entropy_recall",
    }


def test_a_scheme_for_wrf_changes_it() -> None:
    gold, answer = spans([0, 0, 1] * 4, 0), spans([0, 0, 0] * 4, 0)
    plain, weighed = (
        entities_suite(gold, answer, labels=["x", "y"], tokens=TOKENS, wrf_scheme=scheme)
        .values["wrf_strict"]
        .value
        for scheme in (None, "weighted")
    )
    assert plain != weighed


@pytest.mark.parametrize("scheme", ["weighted", "entropy", "macro"])
def test_a_scheme_for_wrf_is_undefined_without_gold(scheme) -> None:
    gold, answer = spans_of_columns([], [], [], [], n_documents=6), spans([0, 1] * 6, 0)
    values = entities_suite(gold, answer, labels=["x", "y"], tokens=TOKENS, wrf_scheme=scheme).values
    found = [values[f"wrf_{key}"] for key in ("strict", "lenient", "strict_mean", "lenient_mean")]
    assert {value.reason for value in found} == {NO_GOLD}
    assert not any(value.defined for value in found)
