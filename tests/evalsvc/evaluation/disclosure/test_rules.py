"""Reference values of the rules on what a score may give away."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log

import pytest

from evalsvc.core.formats.answer_texts import Normalisation
from evalsvc.evaluation.disclosure import gold_counts, rules
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts, WordCounts, largest_change
from evalsvc.evaluation.disclosure.shown_tests import MANY_PAIRS, StoredTest, adjusted_if_let_out
from evalsvc.evaluation.measures.menu import MENU

SCORES = [0.6123, 0.618, 0.62, 0.6201, 0.6299, 0.615, 0.6351, 0.64, 0.6449, 0.655, 0.6551, 0.6651]


@pytest.mark.parametrize(
    ("positives", "step"),
    [
        (41, 0.05),
        (100, 0.05),
        (183, 0.02),
        (200, 0.02),
        (201, 0.01),
        (399, 0.01),
        (400, 0.01),
        (401, 0.005),
        (1_000, 0.005),
        (1_001, 0.002),
        (1_999, 0.002),
        (2_000, 0.002),
        (2_263, 0.001),
        (3_392, 0.001),
        (50_000, 0.001),
        (40, None),
    ],
)
def test_micro_f1_is_rounded_to_the_least_step_above_two_labels(positives: int, step: float | None) -> None:
    change = largest_change("micro_f1", GoldCounts(positives, {"a": positives}), {})
    assert change is not None
    assert rules.step_for(change) == step


@pytest.mark.parametrize(
    ("positives", "least"),
    [(1, 50), (50, 50), (51, 100), (201, 250), (250, 250), (1_949, 2_000), (2_263, 2_300), (12_345, 13_000)],
)
def test_a_ranking_needs_about_as_many_claims_as_the_gold_has_labels(positives: int, least: int) -> None:
    assert rules.least_claims(positives) == least


def test_over_items_pairs_that_a_reader_adds_tell_no_more_of_a_p_than_its_range() -> None:
    """p times the number of pairs, against three bounds, would be three more bounds for each number."""
    for one, other in ((0.011, 0.049), (0.0011, 0.009), (0.00011, 0.0009), (0.051, 1.0)):
        for pairs in range(1, 46):
            others = [StoredTest(0, at + 2, "over items", p=1.0, differing=20) for at in range(pairs - 1)]
            adjusted = {
                adjusted_if_let_out(
                    [StoredTest(0, 1, "over items", p=p, differing=20), *others],
                    lambda test: "",
                    lambda test: 1,
                )[0].p_holm
                for p in (one, other)
            }
            assert len(adjusted) == 1
            assert (adjusted.pop() or 0) >= other
    [alone] = adjusted_if_let_out(
        [StoredTest(0, 1, "over items", p=0.03, differing=20)], lambda test: "", lambda test: 1
    )
    assert rules.p_range(alone.p_holm or 1) == "< .05"
    [runs] = adjusted_if_let_out([StoredTest(0, 1, "over runs", p=0.03)], lambda test: "", lambda test: 1)
    assert runs.p_holm == 0.03


def test_p_of_the_best_systems_of_two_teams_is_adjusted_for_all_pairs_of_their_systems() -> None:
    """The best of ten equal systems was ahead in 25 % of cases; a team makes no tests of others stricter."""
    tests = [StoredTest(0, 1, "over runs", p=0.01), StoredTest(0, 2, "over runs", p=0.002)]
    pairs = {1: 6, 2: 4}
    adjusted = adjusted_if_let_out(tests, lambda test: "", lambda test: pairs[test.b])
    assert [test.p_holm for test in adjusted] == pytest.approx([0.01 * 6, 0.002 * 4 * 2])
    withheld = adjusted_if_let_out(
        tests, lambda test: "withheld" if test.b == 2 else "", lambda test: pairs[test.b]
    )
    assert [test.p_holm for test in withheld] == [0.06, None]


def test_over_items_there_is_no_test_where_no_p_could_show_a_difference() -> None:
    """Of teams with 50 pairs of systems none was ahead of another, 500 of 1,000 items apart."""
    for p in (0.0001, 0.03, 0.9):
        test = StoredTest(0, 1, "over items", p=p, differing=20)
        [fewer], [many] = (
            adjusted_if_let_out([test], lambda test: "", lambda test, n=n: n) for n in (49, 51)
        )
        assert (fewer.p_holm is None, fewer.reason) == (False, None)
        assert (many.p, many.p_holm, many.reason) == (None, None, MANY_PAIRS)
    runs = StoredTest(0, 1, "over runs", p=0.0001)
    assert adjusted_if_let_out([runs], lambda test: "", lambda test: 51)[0].p_holm == 0.0001 * 51


@pytest.mark.parametrize(
    ("positives", "change", "step"),
    [
        (183, 0.03939609919585476, 0.05),
        (1_000, 0.008907755278982138, 0.01),
        (3_392, 0.002986195458995222, 0.005),
    ],
)
@pytest.mark.parametrize("key", ["ap", "opennre_auc"])
def test_areas_under_the_curve_move_by_more_than_a_label(
    key: str, positives: int, change: float, step: float
) -> None:
    moved = largest_change(key, GoldCounts(positives, {"a": positives}), {})
    assert moved == pytest.approx(change)
    assert moved is not None
    assert rules.step_for(moved) == step


def test_wrf_moves_by_the_words_of_the_longest_entity() -> None:
    words = {"a": 100, "b": 140, "": 240}
    gold = GoldCounts(100, {"a": 50, "b": 50}, words={"spans": WordCounts(words, 20, 41)})
    # of a label, 2 · 20 / 100 with a weight of 1/3, and 2 · 20 / 240 of all
    assert largest_change("wrf_strict", gold, {}) == pytest.approx(40 / 300 + 40 / 240)
    # a document may have one label; the mean is over the 41 with any
    assert largest_change("wrf_strict_mean", gold, {}) == pytest.approx(40 / 300 + 40 / 240 + 1 / 40)


def test_types_that_a_gold_lacks_make_no_label_of_it_weigh_less_in_wrf() -> None:
    """WRF averages the types that occur; one label moved it by three shown steps."""
    words = {"a": 100, "b": 140, "": 240}
    gold = GoldCounts(100, {"a": 50, "b": 50}, words={"spans": WordCounts(words, 2, 41)})
    unused = replace(gold, classes={**gold.classes, **{f"c{n}": 0 for n in range(18)}})
    assert largest_change("wrf_strict", unused, {}) == largest_change("wrf_strict", gold, {})


@pytest.mark.parametrize(("beta", "least"), [(1.0, 200), (0.5, 500), (2.0, 500), (0.1, 10_100)])
def test_a_class_is_shown_in_whole_percent_if_one_label_moves_its_f_by_one_at_most(
    beta: float, least: int
) -> None:
    gold = GoldCounts(1_000, {"a": 500, "b": 500}, beta=beta)
    assert gold.least_class == least
    right, gold_labels, claims = 60, least, 60  # all claims are right: one label less moves most for β < 1
    scores = [(1 + beta**2) * tp / (claims + beta**2 * gold_labels) for tp in (right, right - 1)]
    assert scores[0] - scores[1] <= rules.CLASS_STEP


def test_which_step_an_averaged_precision_has_tells_the_size_of_no_class() -> None:
    """A file may claim few of one class, and many of all others."""
    claims = {"a": 4, "b": 2_000, "c": 2_000, "d": 2_000}
    golds = [GoldCounts(200, {"a": n, "b": 100, "c": 79 - n, "d": 21}) for n in (30, 39, 40, 45)]
    assert len({largest_change("weighted_precision", gold, claims) for gold in golds}) == 1


def test_the_precision_of_sets_of_labels_is_of_the_labels_that_they_average() -> None:
    """It was withheld as of a class without a claim, N/A."""
    gold = GoldCounts(1_000, {"a": 90, "b": 60}, 850, averaged_negative="NA")
    claims = {"a": 90, "b": 60}
    of_sets = largest_change("weighted_precision", gold, claims)
    assert of_sets == largest_change("weighted_precision", replace(gold, averaged_negative=""), claims)
    of_labels = largest_change("weighted_precision", gold, claims | {"NA": 10})
    assert of_labels is not None
    assert of_sets is not None
    assert of_labels > 0.05 > of_sets


def test_entities_within_one_token_are_one_word_of_it() -> None:
    """WRF counts the token: a Chinese clause without spaces is one."""
    spans = ((0, 1, "PER"), (2, 4, "LOC"), (5, 7, "ORG"), (8, 10, "LOC"))
    line = gold_counts.GoldLine("d1", "我在北京上大学 10km", spans=spans)
    found, most = gold_counts._words_of_spans(line, spans)
    assert {label: len(words) for label, words in found.items()} == {"PER": 1, "LOC": 2, "ORG": 1, "": 2}
    assert most == 1
    assert gold_counts._words_of_spans(line, ((8, 12, "X"),))[1] == 2


def test_entities_of_the_same_tokens_are_no_words_of_their_own() -> None:
    """Of 05-17 WRF counts 05, - and 17: many dates have few words."""
    text = " ".join(f"{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 26))
    spans = [(at * 6, at * 6 + 5, "DATE") for at in range(300)]
    found, most = gold_counts._words_of_spans(gold_counts.GoldLine("d1", text), spans)
    assert (len(found["DATE"]), most) == (12, 3)
    quoted = gold_counts.GoldLine("d1", "“Riga” and _Riga_")
    found, most = gold_counts._words_of_spans(quoted, ((0, 6, "LOC"), (11, 17, "LOC")))
    assert (found[""], most) == ({"riga"}, 3)


@pytest.mark.parametrize("in_tokens", [False, True])
def test_words_of_a_gold_count_once_within_a_document(in_tokens: bool) -> None:
    """As WRF counts them; a name that comes again and again would else make the step too small."""
    spans = ((0, 4, "LOC"), (9, 13, "LOC"), (15, 21, "PER"))
    of_tokens = ((0, 1, "LOC"), (2, 3, "LOC"), (4, 7, "PER"))
    tokens = ("Oslo", "and", "Oslo", ",", "Ada", "B", ".")
    lines = [
        gold_counts.GoldLine("d1", spans=of_tokens, tokens=tokens)
        if in_tokens
        else gold_counts.GoldLine("d1", "Oslo and Oslo, Ada B.", spans=spans),
        gold_counts.GoldLine("d2", "None.", spans=()),
    ]
    words = gold_counts.of_documents(lines, (), Normalisation()).words
    # a full stop of its own is a token, and may be one of a text
    assert words["spans"] == ({"LOC": 1, "PER": 2 + in_tokens, "": 3 + in_tokens}, 3, 1)
    assert words["entity_texts"] == ({"LOC": 1, "PER": 2 + in_tokens, "": 3 + in_tokens}, 2 + in_tokens, 1)


def test_answers_as_text_are_counted_as_they_are_compared() -> None:
    """Each distinct text once, by the options of the benchmark, and its words as they are split."""
    tokens = ("The Bank", "bank", "the  bank", "New York", "New")
    spans = tuple((at, at + 1, "ORG" if at < 3 else "LOC") for at in range(5))
    links = ((0, "in", 3), (1, "in", 3), (3, "near", 0), (0, "near", 3))
    lines = [gold_counts.GoldLine("d1", tokens=tokens, spans=spans, relations=links)]
    plain = gold_counts.of_documents(lines, ("near",), Normalisation())
    assert (plain.answers, plain.answers_of_relations) == ({"ORG": 3, "LOC": 2}, {"in": 2, "near": 1})
    assert plain.words["entity_texts"] == ({"ORG": 4, "LOC": 2, "": 6}, 2, 1)
    alike = gold_counts.of_documents(lines, ("near",), Normalisation(casefold=True, strip_articles=True))
    assert (alike.answers, alike.answers_of_relations) == ({"ORG": 1, "LOC": 2}, {"in": 1, "near": 1})
    assert alike.words["entity_texts"] == ({"ORG": 1, "LOC": 2, "": 3}, 2, 1)


def test_wrf_moves_as_in_the_form_of_files_that_one_label_moves_furthest() -> None:
    many, few = ({"a": count, "": count} for count in (1_000, 100))
    forms = {"spans": WordCounts(many, 1, 100), "entity_texts": WordCounts(few, 2, 50)}
    gold = GoldCounts(100, {"a": 1_000}, words=forms)
    assert largest_change("wrf_strict", gold, {}) == pytest.approx(4 / 100)
    assert largest_change("wrf_strict_mean", gold, {}) == pytest.approx(4 / 100 + 1 / 49)


@pytest.mark.parametrize("key", [key for key in MENU if "tau" in key or key in ("auc", "auc_under_ties")])
def test_figures_that_a_file_can_make_depend_on_few_labels_are_never_shown(key: str) -> None:
    """With one claim before a tie of the others, half the precision there is the AUC: right or wrong."""
    assert largest_change(key, GoldCounts(100_000, {"a": 100_000}), {"a": 100_000}) is None


@pytest.mark.parametrize("key", ["accuracy", "micro_recall", "micro_f1"])
@pytest.mark.parametrize("items", [20, 40, 50, 100, 200, 400, 500, 1_000, 2_000])
def test_no_step_shows_exact_figures_where_a_label_moves_them_by_a_step(key: str, items: int) -> None:
    """Several right counts share each figure shown, also where the change is one of the steps."""
    change = largest_change(key, GoldCounts(items, {"a": items}), {})
    assert change is not None
    step = rules.step_for(change)
    if step is not None:
        assert step > change
        shown = [rules.rounded(right / items, step) for right in range(items + 1)]
        assert len(set(shown)) < len(shown)
        assert max(abs(now - before) for before, now in pairwise(shown)) <= step + rules.TINY


def test_an_average_with_a_class_of_one_is_withheld() -> None:
    gold = GoldCounts(2_717, {f"Relation{n}(e1,e2)": n for n in range(1, 19)})
    change = largest_change("macro_f1", gold, {})
    assert change == pytest.approx(0.1111111111111111)
    assert change is not None
    assert rules.step_for(change) is None


@pytest.mark.parametrize(
    ("key", "claims", "change", "step"),
    [
        ("p_at_100", 0, 0.01, 0.02),
        ("micro_precision", 150, 0.006666666666666667, 0.01),
        ("muc_strict_precision", 1, 1.0, None),
        ("micro_recall", 1, 1 / 400, 0.005),
        ("accuracy", 1, 1 / 1_000, 0.002),
    ],
)
def test_the_step_of_a_ratio_follows_its_denominator(
    key: str, claims: int, change: float, step: float | None
) -> None:
    moved = largest_change(key, GoldCounts(1_000, {"a": 400}), {"a": claims})
    assert moved == pytest.approx(change)
    assert moved is not None
    assert rules.step_for(moved) == step


def test_lines_of_the_negative_class_are_no_claims() -> None:
    claims = {"a": 1, "NA": 4_999}
    gold = GoldCounts(5_000, {"a": 400, "b": 400}, 4_200)
    assert largest_change("micro_precision", gold, claims) == 1.0
    averaged = replace(gold, averaged_negative="NA")  # they are none in sets of labels
    assert largest_change("micro_precision", averaged, claims) == 1.0


@pytest.mark.parametrize(("negative", "change"), [(4_200, 2 / 800), (100, 2 / 100 / 3)])
def test_where_the_negative_class_is_averaged_the_form_that_moves_further_decides(
    negative: int, change: float
) -> None:
    gold = GoldCounts(800 + negative, {"a": 400, "b": 400}, negative, averaged_negative="NA")
    assert largest_change("macro_f1", gold, {}) == pytest.approx(change)
    assert largest_change("micro_f1", gold, {}) == 2 / 800


@pytest.mark.parametrize(
    "key",
    [
        *("string_answered_recall", "triple_answered_f1", "semeval2010_accuracy_answered"),
        *("opennre_micro_f1_at_half", "opennre_macro_f1_at_half"),
    ],
)
def test_figures_whose_denominator_the_file_chooses_are_never_shown(key: str) -> None:
    assert key in MENU
    gold = GoldCounts(5_000, {"a": 4_000}, relations={"r": 900}, answers={"a": 400})
    assert largest_change(key, gold, {"a": 5_000}) is None


@pytest.mark.parametrize("undirected", [{}, {"Other": 5}, {"Other": 900, "Else (e1)": 900}])
def test_labels_without_a_direction_do_not_count_in_the_official_f1_of_semeval(
    undirected: dict[str, int],
) -> None:
    gold = GoldCounts(2_000, {"R(e1,e2)": 100, "R(e2,e1)": 50, "R(x)(e1,e2)": 300} | undirected)
    assert largest_change("semeval2010_f1", gold, {}) == pytest.approx(2 / 150 / 2)


@pytest.mark.parametrize("key", ["tau", "opennre_tau"])
def test_thresholds_are_never_shown(key: str) -> None:
    assert largest_change(key, GoldCounts(9_000, {"a": 9_000}), {}) is None


def test_answers_as_text_move_by_one_of_the_distinct_ones() -> None:
    """A label on many places of one text is one answer."""
    gold = GoldCounts(
        500, {"a": 4_000}, relations={"r": 900}, relations_of_span=3,
        answers={"a": 400}, answers_of_relations={"r": 300},
    )  # fmt: skip
    assert largest_change("conll_micro_f1", gold, {}) == 2 / 4_000
    assert largest_change("string_micro_f1", gold, {}) == 2 / 400
    assert largest_change("triple_micro_f1", gold, {}) == 3 * 2 / 300
    assert largest_change("string_micro_precision", gold, {"a": 100_000}) is None


def test_averages_move_by_the_heaviest_label() -> None:
    gold = GoldCounts(1_000, {"a": 400, "b": 100, "c": 0}, entropy_items=1_000)
    assert largest_change("weighted_f1", gold, {}) == pytest.approx(2 / 500)
    assert largest_change("macro_f1", gold, {}) == pytest.approx(0.5 * 2 / 100)
    assert largest_change("macro_all_f1", gold, {}) == pytest.approx(2 / 300)
    share = -0.1 * log(0.1) / -(0.1 * log(0.1) + 0.4 * log(0.4))
    assert largest_change("entropy_f1", gold, {}) == pytest.approx(share * 2 / 100)


def test_a_precision_averaged_over_classes_moves_by_one_claim_of_a_class() -> None:
    gold = GoldCounts(1_000, {"a": 400, "b": 400})
    assert largest_change("macro_precision", gold, {"a": 400, "b": 1}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("value", "step", "shown"),
    [(0.61249999, 0.001, 0.612), (0.6125, 0.001, 0.613), (0.015, 0.01, 0.02), (0.03, 0.02, 0.04)],
)
def test_figures_are_rounded_half_up(value: float, step: float, shown: float) -> None:
    assert rules.rounded(value, step) == shown


def test_an_interval_around_a_shown_difference_depends_on_the_width_alone() -> None:
    ends = {rules.around(0.02, low, low + 0.013, 0.01) for low in (0.0, 0.0009, 0.004, 0.0101, -0.009)}
    assert ends == {(-0.03, 0.07)}
    assert rules.around(0.02, 0.0, 0.131, 0.01) == (-0.06, 0.1)


def test_a_narrow_interval_does_not_tell_whether_any_outcome_differs() -> None:
    """Half widths of none to 7 of 286 outcomes that differ, with the step of accuracy."""
    widths = [1.96 * differing**0.5 / 286 for differing in range(8)]
    assert {rules.around(0.0, -width, width, 0.005) for width in widths} == {(-0.025, 0.025)}
    assert {rules.at_least(width, 0.005) for width in widths} == {0.025}


@pytest.mark.parametrize(
    ("p", "shown"),
    [(0.0004, "< .001"), (0.001, "< .01"), (0.0499, "< .05"), (0.05, "≥ .05"), (1.0, "≥ .05")],
)
def test_a_p_value_is_shown_as_a_range(p: float, shown: str) -> None:
    assert rules.p_range(p) == shown


@pytest.mark.parametrize(
    ("items", "most"),
    [(60, 3), (149, 3), (150, 3), (200, 4), (286, 5), (2_717, 54), (4_999, 99), (5_000, 100), (9_744, 100)],
)
def test_the_default_quota_in_total_follows_the_items(items: int, most: int) -> None:
    assert rules.in_total(items) == most


@pytest.mark.parametrize(
    ("eta", "shown"),
    [
        (0.005, [0.61, 0.62, 0.62, 0.62, 0.63, 0.63, 0.635, 0.635, 0.645, 0.655, 0.655, 0.665]),
        (0.01, [0.61, 0.61, 0.61, 0.62, 0.62, 0.62, 0.64, 0.64, 0.64, 0.66, 0.66, 0.66]),
        (0.02, [0.62, 0.62, 0.62, 0.62, 0.62, 0.62, 0.62, 0.62, 0.64, 0.64, 0.64, 0.66]),
    ],
)
def test_the_ladder_shows_only_improvements_above_its_step(eta: float, shown: list[float]) -> None:
    assert rules.ladder(SCORES, eta) == shown


def test_the_ladder_goes_down_where_lower_is_better() -> None:
    assert rules.ladder([0.5, 0.495, 0.47, 0.6], 0.01, higher=False) == [0.5, 0.5, 0.47, 0.47]


def test_a_near_duplicate_has_fewer_changes_than_one_per_fifty_labels_or_twenty() -> None:
    assert (rules.near_below(183), rules.near_below(1_001)) == (20, 21)


def test_the_ledger_counts_bits_of_figures_and_of_the_gold() -> None:
    assert 5 * rules.bits(0.02) == pytest.approx(28.362126709857478)
    assert 100 * rules.bits(0.001) == pytest.approx(996.7226258835992)
    assert 100 * (rules.bits(0.001) + 4 * rules.bits(0.01)) == pytest.approx(3660.0072189843177)


@pytest.mark.parametrize(("items", "bits"), [(286, 957.7), (5_000, 17_555.5)])
def test_the_gold_of_the_simulation_has_the_stated_entropy(items: int, bits: float) -> None:
    """24 relations with shares .68/rank, the rest negative."""
    harmonic = sum(1 / rank for rank in range(1, 25))
    counts = [int(items * 0.68 / rank / harmonic) for rank in range(1, 25)]
    assert rules.label_bits([*counts, items - sum(counts)]) == pytest.approx(bits, abs=0.05)
