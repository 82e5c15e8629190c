"""WRF against the published tables, and rules the paper leaves open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.metrics.encoding import Vocabulary
from workers.metrics.spans import exact_counts, spans_of_columns, spans_of_lists
from workers.metrics.tags import spans_of_tags
from workers.metrics.weights import micro_averages
from workers.metrics.words import (
    WordCounts,
    WrfCounts,
    tokens_of_lists,
    word_counts,
    words_of_spans,
    wrf_counts,
)
from workers.metrics.wrf import gammas, mean_word_rows, weighted_words, word_rows, wrf

LABELS = ["loc", "type"]
WORDS = "scroll tip is partially melted by too high temperatures".split()  # noqa: SIM905
TARGET = "B-loc I-loc O B-type I-type O B-type I-type I-type"
USE_CASES = [
    (TARGET, 1.0, 1.0, 1.0),
    ("B-loc I-loc O B-type I-type B-loc B-type I-type I-type", 0.8571, 0.9111, 0.9167),
    ("O O O B-type I-type O B-type I-type I-type", 0.8, 0.6111, 0.6667),
    ("B-type I-type O B-type I-type O B-type I-type I-type", 0.6667, 0.6111, 0.7083),
    ("B-loc I-loc B-type I-type I-type O B-type I-type I-type", 0.6667, 0.9475, 0.9439),
    ("B-loc I-loc B-loc I-loc I-loc O B-type I-type I-type", 0.6667, 0.7516, 0.7970),
]


def counted(words: list[list[str]], target, predicted, *, labels: list[str], **options: bool) -> WrfCounts:
    tokens = tokens_of_lists(words, casefold=options.pop("casefold", False))
    sides = [words_of_spans(spans_of_lists(side, labels=labels), tokens) for side in (target, predicted)]
    return wrf_counts(*sides, n_labels=len(labels), **options)


def scored(counts: WrfCounts, **options: object) -> float:
    size = len(counts.f1) - 1 if len(counts.f1) > 1 else 1
    return float(wrf(counts.f1, gammas(size, **options)))


def of_tags(words: list[str], target: str, predicted: str) -> tuple[WrfCounts, float]:
    names, tokens = Vocabulary({"loc": 0, "type": 1}), tokens_of_lists([words])
    gold, answer = (spans_of_tags([tags.split()], labels=names) for tags in (target, predicted))
    f1 = micro_averages(exact_counts(gold, answer, n_labels=2))["micro_f1"].value
    return wrf_counts(words_of_spans(gold, tokens), words_of_spans(answer, tokens), n_labels=2), f1


@pytest.mark.parametrize(("predicted", "f1", "strict", "lenient"), USE_CASES)
def test_the_published_use_cases(predicted, f1, strict, lenient) -> None:
    counts, exact = of_tags(WORDS, TARGET, predicted)
    found = exact, scored(counts), scored(counts, mode="lenient")
    assert found == pytest.approx((f1, strict, lenient), abs=5e-5)


def test_a_redundant_entity_lowers_exact_f1_but_not_wrf() -> None:
    counts, exact = of_tags(["scroll", *WORDS], f"O {TARGET}", f"B-loc {TARGET}")
    assert (exact, scored(counts), scored(counts, mode="lenient")) == pytest.approx(
        (0.8571, 1.0, 1.0), abs=5e-5
    )


SENTENCE = "faulty ekmv scroll scroll tip partially melted too high temperatures".split()  # noqa: SIM905
GOLD = [(3, 5, "loc"), (5, 7, "type"), (7, 10, "type")]
SAID = [(1, 2, "loc"), (2, 3, "loc"), (3, 5, "loc"), (0, 1, "type"), (5, 7, "type"), (7, 10, "type")]


def test_the_worked_example() -> None:
    counts = counted([SENTENCE], [GOLD], [SAID], labels=LABELS)
    assert counts.f1.tolist() == pytest.approx([0.8, 0.9091, 0.875], abs=5e-5)
    assert (scored(counts), scored(counts, mode="lenient")) == pytest.approx((0.8614, 0.8648), abs=5e-5)


def test_removing_the_redundant_word_of_the_worked_example_changes_nothing() -> None:
    whole = counted([SENTENCE], [GOLD], [SAID], labels=LABELS)
    less = counted([SENTENCE], [GOLD], [[span for span in SAID if span != (2, 3, "loc")]], labels=LABELS)
    assert less.f1.tolist() == whole.f1.tolist()


def test_repeats_of_a_component_lower_only_exact_f1() -> None:
    words = ["blower", "noise", "noise", *["blower", "motor"] * 3]
    gold = [(1, 2, "type"), (2, 3, "type"), (3, 5, "loc"), (5, 7, "loc"), (7, 9, "loc")]
    answer = [(0, 1, "loc"), *gold]
    spans = [spans_of_lists([side], labels=LABELS) for side in (gold, answer)]
    assert micro_averages(exact_counts(*spans, n_labels=2))["micro_f1"].value == pytest.approx(
        0.909, abs=5e-4
    )
    assert scored(counted([words], [gold], [answer], labels=LABELS)) == 1.0


def test_a_single_class_has_no_combined_class() -> None:
    assert counted([["a"]], [[(0, 1, "x")]], [[(0, 1, "x")]], labels=["x"]).f1.tolist() == [1.0]


def test_weights_of_undefined_classes_go_to_the_defined_ones() -> None:
    counts = counted([["a", "b"]], [[(0, 1, "loc")]], [[(0, 2, "loc")]], labels=LABELS)
    assert np.isnan(counts.f1[1])
    assert scored(counts) == pytest.approx(2 / 3)


def test_one_empty_side_counts_zero() -> None:
    assert scored(counted([["a"]], [[(0, 1, "loc")]], [[]], labels=LABELS)) == 0.0


def test_no_words_on_either_side_are_undefined() -> None:
    assert np.isnan(scored(counted([["a"]], [[]], [[]], labels=LABELS)))


def test_pooled_sums_sizes_before_the_division_and_mean_averages_documents() -> None:
    words, labels = [["a", "b", "c"], ["d"], ["e"]], ["x"]
    gold, answer = [[(0, 3, "x")], [(0, 1, "x")], []], [[(0, 1, "x")], [(0, 1, "x")], []]
    assert scored(counted(words, gold, answer, labels=labels)) == pytest.approx(2 * 2 / (2 + 4))
    single = counted(words, gold, answer, labels=labels, per_document=True)
    assert weighted_words(WordCounts(single, single), gammas(1), mean=True).value == pytest.approx(
        (0.5 + 1.0) / 2
    )


def test_casefold_joins_words_that_differ_in_case() -> None:
    data = [["Rome", "rome"]], [[(0, 1, "x")]], [[(1, 2, "x")]]
    assert scored(counted(*data, labels=["x"])) == 0.0
    assert scored(counted(*data, labels=["x"], casefold=True)) == 1.0


def test_a_scheme_divides_the_rest_after_the_combined_class() -> None:
    weights = gammas(2, mode="lenient", scheme="weighted", gold=[3, 1])
    assert weights.tolist() == pytest.approx([0.375, 0.125, 0.5])


def test_custom_weights_are_scaled() -> None:
    assert gammas(2, custom=[2, 1, 1]).tolist() == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("custom", [[1, 1], [1, -1, 1], [0, 0, 0], [1, 1, float("inf")]])
def test_invalid_custom_weights_are_rejected(custom) -> None:
    with pytest.raises(ValueError, match="expected 3 weights"):
        gammas(2, custom=custom)


documents = st.lists(st.lists(st.sampled_from("abc"), min_size=4, max_size=4), min_size=1, max_size=4)
side = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2), st.sampled_from(LABELS)), max_size=4)


@given(documents, st.data())
def test_word_sets_equal_plain_python(words, data) -> None:
    drawn = [[[(s, min(s + w, 4), x) for s, w, x in data.draw(side)] for _ in words] for _ in "ab"]
    found = counted(words, *drawn, labels=LABELS, per_document=False)
    matched = np.zeros(3, dtype=int)
    for tokens, *sides in zip(words, *drawn, strict=True):
        bags = [[{t for s, e, x in spans for t in tokens[s:e] if x in kept} for spans in sides] for kept in
                (["loc"], ["type"], LABELS)]  # fmt: skip
        matched += [len(a & b) for a, b in bags]
    assert found.matched.tolist() == matched.tolist()


def test_documents_sum_to_the_total() -> None:
    words, gold, answer = [SENTENCE, SENTENCE], [GOLD, SAID], [SAID, GOLD]
    one, two = (counted(words[:1], [g], [s], labels=LABELS) for g, s in zip(gold, answer, strict=True))
    whole = counted(words, gold, answer, labels=LABELS)
    assert (one + two).f1.tolist() == whole.f1.tolist()


# Ten documents with the reference figures of the table per class and of every γ.
CLASSES = ["loc", "type", "cause"]
REFERENCE = [
    (
        "the scroll tip is melted and the scroll is loose",
        [(1, 3, 0), (4, 5, 1)],
        [(1, 3, 0), (4, 5, 1), (7, 8, 0)],
    ),
    ("oil leak at front left seal", [(0, 2, 1), (3, 6, 0)], [(0, 2, 0), (3, 6, 0)]),
    ("door panel broken panel", [(0, 2, 0), (2, 3, 1), (3, 4, 0)], [(0, 2, 0), (2, 3, 1)]),
    ("noise noise noise", [(0, 1, 1), (1, 2, 1), (2, 3, 1)], [(0, 1, 1)]),
    ("pump fails", [(0, 1, 0)], []),
    ("all fine today", [], []),
    ("warning lamp on in dash", [], [(0, 2, 1)]),
    (
        "blower motor ; blower ; blower motor seized",
        [(0, 2, 0), (5, 7, 0), (7, 8, 1)],
        [(0, 2, 0), (3, 4, 0), (5, 7, 0), (7, 8, 1)],
    ),
    (
        "Scroll worn , scroll cracked",
        [(0, 1, 0), (1, 2, 1), (3, 4, 0), (4, 5, 1)],
        [(0, 1, 0), (1, 2, 1), (4, 5, 1)],
    ),
    ("hinge squeaks loud", [(0, 1, 0), (1, 3, 1)], [(0, 1, 0), (0, 2, 1)]),
]
GAMMAS = {
    "strict": {},
    "lenient": {"mode": "lenient"},
    "custom": {"custom": [2, 1, 1, 4]},
    "strict-weighted": {"scheme": "weighted", "gold": [10, 10, 0]},
}


def reference_words(*, casefold: bool = False) -> WordCounts:
    tokens = tokens_of_lists([text.split() for text, _, _ in REFERENCE], casefold=casefold)
    sides = []
    for side in (1, 2):
        rows = [(at, *span) for at, case in enumerate(REFERENCE) for span in case[side]]
        spans = spans_of_columns(*zip(*rows, strict=True), n_documents=len(REFERENCE))
        sides.append(words_of_spans(spans, tokens))
    return word_counts(*sides, n_labels=3)


@pytest.mark.parametrize(
    ("casefold", "mean", "expected"),
    [
        (False, False, [0.8116809116809116, 0.830982905982906, 0.8496947496947497, 0.8020299145299145]),
        (False, True, [0.6879188712522046, 0.7008597883597883, 0.7136810279667423, 0.6814484126984127]),
        (True, False, [0.8296969696969697, 0.8495454545454545, 0.8709090909090909, 0.8197727272727273]),
    ],
)
def test_every_gamma_has_the_reference_figure(casefold: bool, mean: bool, expected: list[float]) -> None:
    words = reference_words(casefold=casefold)
    found = [weighted_words(words, gammas(3, **how), mean=mean).value for how in GAMMAS.values()]
    assert found == pytest.approx(expected, abs=1e-12)


def test_rows_of_words_per_class_end_with_all_classes_together() -> None:
    rows = {row.label: tuple(row)[1:] for row in word_rows(CLASSES, reference_words().pooled)}
    assert rows["loc"] == pytest.approx(
        (13, 13, 11, 0.8461538461538461, 0.8461538461538461, 0.8461538461538461)
    )
    assert rows["type"] == pytest.approx((10, 10, 7, 0.7, 0.7, 0.7))
    assert rows["cause"] == pytest.approx((0, 0, 0, *[np.nan] * 3), nan_ok=True)
    assert rows["*"] == pytest.approx(
        (23, 22, 20, 0.9090909090909091, 0.8695652173913043, 0.8888888888888888)
    )


def test_means_per_class_count_an_empty_side_as_zero() -> None:
    rows = mean_word_rows(CLASSES, reference_words().documents)
    assert [row.gold + row.predicted - row.correct for row in rows] == [7, 8, 0, 9]  # documents
    means = [(row.precision, row.recall, row.f1) for row in rows if row.label != "cause"]
    assert rows[2].f1 != rows[2].f1  # undefined without a document
    reference = [
        [0.7999999999999999, 0.7857142857142857, 0.7738095238095238],
        [0.6875, 0.6875, 0.6875],
        [0.7777777777777778, 0.712962962962963, 0.7396825396825396],
    ]
    assert pytest.approx(np.array(reference), abs=1e-12) == np.array(means)


def test_words_collected_in_parts_are_those_of_all_spans_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokens_of_lists([["a", "b", "a", "c"], ["b", "d"]])
    spans = spans_of_columns([0, 0, 1, 0], [0, 1, 0, 2], [4, 4, 2, 3], [0, 0, 1, 1], n_documents=2)
    whole = words_of_spans(spans, tokens)
    for at_once in (1, 3, 100):
        monkeypatch.setattr("workers.metrics.words.WORDS_AT_ONCE", at_once)
        words = words_of_spans(spans, tokens)
        for name in ("document", "label", "unigram", "key"):
            assert getattr(words, name).tolist() == getattr(whole, name).tolist()
