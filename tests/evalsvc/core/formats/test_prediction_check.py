"""Predictions against what is expected."""

import json

import pytest

from evalsvc.core.formats.conll import read_conll_predictions
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.records import ScoresPrediction

TOKENS = {"1": ("Ada", "ran"), "2": ("Rome",)}


def run(*objects, **options) -> tuple[list[Claim], Problems, PredictionCheck]:
    problems = Problems()
    expected = {"ids": ["a", "b"], "labels": ["r", "s"], "negative": "NA"}
    check = PredictionCheck(**{**expected, "problems": problems, **options})
    source = "\n".join(map(json.dumps, objects)).encode()
    return list(check.claims(read_predictions(source, problems=problems))), problems, check


def spans_run(*objects, **options) -> tuple[list[Claim], Problems, PredictionCheck]:
    expected = {"ids": TOKENS, "labels": ["P"], "negative": None, "tokens": TOKENS, "scheme": "IOB2"}
    return run(*objects, **{**expected, **options})


@pytest.mark.parametrize(
    ("lines", "form", "claims"),
    [
        ([{"id": "a", "label": "r"}, {"id": "b", "label": "NA"}], "label", [("a", "r"), ("b", "NA")]),
        (
            [{"id": "a", "labels": ["s", "r"]}, {"id": "b", "labels": ["NA"]}],
            "labels",
            [("a", ("s", "r")), ("b", ())],
        ),
        ([{"id": "b", "labels": []}, {"id": "a", "labels": []}], "labels", [("b", ()), ("a", ())]),
        (
            [{"id": "a", "scores": {"r": 0.5}}, {"id": "b", "scores": {}}],
            "scores",
            [("a", {"r": 0.5}), ("b", {})],
        ),
    ],
)
def test_each_form_gives_its_claims(lines, form, claims):
    found, problems, check = run(*lines)
    assert (found, check.form, problems.total) == (claims, form, 0)


def test_a_sentence_with_a_bad_tag_is_not_missing_as_well():
    problems = Problems()
    check = PredictionCheck(
        ids=["1", "2", "3"], labels=["P"], scheme="IOB2", forms=["tags"], problems=problems
    )
    content = b"Ada\tS-P\n\nRome\tO\n\nBo\tB-P\n"
    check.check(read_conll_predictions(content, scheme="IOB2", problems=problems))
    assert problems.by_code == {"bad_tag": 1}


def test_unknown_labels_of_a_line_are_all_counted_and_a_hundred_of_them_examined(monkeypatch):
    examined = []
    of_one = PredictionCheck._unknown_label
    monkeypatch.setattr(PredictionCheck, "_unknown_label", lambda *args: examined.append(of_one(*args)))
    _, problems, _ = run({"id": "a", "scores": {f"k{n}": 1 for n in range(5_000)}})
    assert (problems.by_code["unknown_label"], len(examined)) == (5_000, 100)


def test_scores_of_the_negative_class_are_left_out_and_counted():
    found, _, check = run({"id": "a", "scores": {"NA": 0.9, "r": 0.1}}, {"id": "b", "scores": {}})
    assert (found, check.dropped_negative) == ([("a", {"r": 0.1}), ("b", {})], 1)
    found, _, check = run({"h": "x", "t": "y", "relation": "NA", "score": 1})
    assert (found, check.dropped_negative) == ([], 1)


def test_bag_claims_need_no_line_for_each_id_and_both_spellings_mix():
    lines = (
        {"h": "x", "t": "y", "relation": "r", "score": 1},
        {"entpair": ["x", "y"], "relation": "s", "score": 0},
    )
    found, problems, _ = run(*lines, pairs=[("x", "y")])
    assert (found, problems.total) == ([("x", "y", "r", 1.0), ("x", "y", "s", 0.0)], 0)


def test_a_pair_and_relation_claimed_twice_is_rejected_with_its_line():
    line = {"h": "x", "t": "y", "relation": "r", "score": 1}
    for pairs in (None, [("x", "y")]):
        _, problems, _ = run(line, {**line, "relation": "s"}, {**line, "score": 0.5}, pairs=pairs)
        assert [(problem.code, problem.line) for problem in problems.first] == [("duplicate_claim", 3)]


def test_an_unexpected_pair_is_rejected_with_a_hint_if_reversed():
    _, problems, _ = run({"h": "y", "t": "x", "relation": "r", "score": 1}, pairs=[("x", "y")])
    assert (problems.first[0].code, problems.first[0].value) == ("unknown_id", "y, x")
    assert problems.first[0].hint


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ([{"id": "a", "label": "r"}], ["missing_id"]),
        ([{"id": "a", "label": "r"}, {"id": "c", "label": "r"}, {"id": "b", "label": "r"}], ["unknown_id"]),
        ([{"id": "a", "label": "r"}, {"id": "a", "label": "s"}, {"id": "b", "label": "r"}], ["duplicate_id"]),
        ([{"id": "a", "label": "zebra"}, {"id": "b", "label": "r"}], ["unknown_label"]),
        ([{"id": "a", "label": "na"}, {"id": "b", "label": "r"}], ["near_label"]),
        ([{"id": "a", "labels": ["r", "r"]}, {"id": "b", "labels": []}], ["duplicate_label"]),
        ([{"id": "a", "labels": ["r", "NA"]}, {"id": "b", "labels": []}], ["negative_with_label"]),
        ([{"id": "a", "scores": {"r": 1, "q": 1}}, {"id": "b", "scores": {}}], ["unknown_label"]),
        ([{"id": "a", "label": "r"}, {"id": "b", "labels": ["r"]}], ["mixed_forms"]),
        (
            [{"id": "a", "scores": {"r": 1}}, {"h": "x", "t": "y", "relation": "r", "score": 1}],
            ["mixed_forms"],
        ),
        ([{"h": "x", "t": "y", "relation": "zebra", "score": 1}], ["unknown_label"]),
    ],
)
def test_unexpected_predictions_are_reported(lines, codes):
    assert [problem.code for problem in run(*lines)[1].first] == codes


def test_missing_answers_may_count_as_wrong_instead():
    found, problems, check = run({"id": "a", "label": "r"}, missing="wrong")
    assert (found, problems.total, check.missing_ids) == ([("a", "r")], 0, ["b"])


def test_a_form_that_is_not_accepted_is_rejected():
    _, problems, _ = run({"id": "a", "label": "r"}, forms=["scores", "bag"], missing="wrong")
    assert problems.first[0].expected == "one of: scores, bag"


def test_a_similar_label_is_suggested_every_time():
    lines = [{"id": str(n), "label": "borne_in"} for n in range(30)]
    _, problems, _ = run(*lines, ids=[str(n) for n in range(30)], labels=["born_in"])
    assert problems.by_code == {"near_label": 30}
    assert problems.first[19].hint == "Did you mean born_in?"


def test_scores_that_are_not_finite_are_rejected_whatever_their_source():
    check = PredictionCheck(ids=["a"], labels=["r"])
    check.check([(1, ScoresPrediction("a", {"r": float("nan")}))])
    assert check.problems.by_code == {"bad_score": 1}


def test_spans_are_bounded_by_their_text_and_tags_become_spans():
    found, problems, _ = spans_run({"id": "1", "spans": [[0, 2, "P"]]}, {"id": "2", "spans": []})
    assert (found, problems.total) == ([("1", ((0, 2, "P"),), ()), ("2", (), ())], 0)
    found, problems, _ = spans_run({"id": "1", "tags": ["O", "B-P"]}, {"id": "2", "tags": ["O"]})
    assert (found, problems.total) == ([("1", ((1, 2, "P"),), ()), ("2", (), ())], 0)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"id": "1", "spans": [[0, 3, "P"]]}, "bad_span"),
        ({"id": "1", "spans": [[0, 1, "Zebra"]]}, "unknown_label"),
        ({"id": "1", "spans": [[0, 1, "P"]], "relations": [[0, "likes", 0]]}, "unknown_label"),
        ({"id": "1", "tags": ["O"]}, "token_mismatch"),
        ({"id": "1", "tags": ["O", "S-P"]}, "bad_tag"),
        ({"id": "1", "tags": ["O", "B-Zebra"]}, "unknown_label"),
    ],
)
def test_spans_and_tags_that_do_not_fit_are_reported(line, code):
    found, problems, _ = spans_run(line, missing="wrong")
    assert (found, [problem.code for problem in problems.first]) == ([], [code])


def test_repeated_spans_are_counted_at_once_and_few_fit_into_a_line():
    options = {"labels": ["P"], "forms": ["spans"], "lengths": {"a": 9}, "ids": ["a"], "negative": None}
    found, problems, _ = run({"id": "a", "spans": [[0, 1, "P"]] * 9_999}, **options)
    assert found == [("a", ((0, 1, "P"),), ())]
    assert problems.warnings == {"duplicate_span": 9_998}
    assert len(problems.first_warnings) == 1
    _, problems, _ = run({"id": "a", "spans": [[0, 1, "P"]] * 10_001}, **options)
    assert problems.by_code["too_many_in_line"] == 1


def test_at_most_twenty_spans_cover_the_same_character():
    options = {"labels": ["P"], "forms": ["spans"], "lengths": {"a": 99}, "ids": ["a"], "negative": None}
    beside = [[at, at + 1, "P"] for at in range(60, 99)]
    most = [[at, 60 - at, "P"] for at in range(20)] + beside
    found, problems, _ = run({"id": "a", "spans": most}, **options)
    assert (len(found[0][1]), problems.total) == (59, 0)
    _, problems, _ = run({"id": "a", "spans": [*most, [29, 30, "P"]]}, **options)
    assert [(p.code, p.value, p.expected) for p in problems.first] == [
        ("too_many_in_line", "21 over one character", "at most 20")
    ]


def test_relations_between_spans_are_claims_of_their_own_inventory():
    line = {"id": "1", "spans": [[0, 1, "P"], [1, 2, "P"]], "relations": [[0, "likes", 1]]}
    found, problems, _ = spans_run(line, relations=["likes"], missing="wrong")
    assert (found[0][2], problems.total) == (((0, "likes", 1),), 0)


def test_columns_must_repeat_the_tokens_of_the_text():
    problems = Problems()
    lines = read_conll_predictions(
        b"Ada\tB-P\r\nwalked\tO\r\n\r\nRome\tO\r\n", scheme="IOB2", problems=problems
    )
    check = PredictionCheck(ids=TOKENS, labels=["P"], tokens=TOKENS, scheme="IOB2", problems=problems)
    assert list(check.claims(lines)) == [("2", (), ())]
    assert (problems.first[0].code, problems.first[0].line) == ("token_mismatch", 2)
    assert problems.first[0].value == "walked"
    assert problems.first[0].expected == "ran, which is token 2 of document 1 in the inputs"


def columns_check(data: bytes, tokens: dict[str, list[str]], **options):
    problems = Problems()
    lines = read_conll_predictions(data, scheme="IOB2", problems=problems)
    check = PredictionCheck(
        ids=tokens, labels=["P"], tokens=tokens, scheme="IOB2", problems=problems, **options
    )
    return list(check.claims(lines)), problems


def test_an_unknown_label_of_columns_is_reported_on_its_own_line():
    _, problems = columns_check(b"a\tO\nb\tB-Zebra\nc\tI-Zebra\n", {"1": ["a", "b", "c"]})
    assert [(p.line, p.field, p.value) for p in problems.first] == [(2, "tag", "Zebra")]


def test_another_token_after_a_skipped_line_is_reported_on_its_own_line():
    _, problems = columns_check(b"a\tO\n-DOCSTART- O\nx\tO\n", {"1": ["a", "b"]})
    assert [(p.line, p.value) for p in problems.first] == [(3, "x")]


def test_repaired_and_dropped_tags_of_predictions_are_counted():
    data, tokens = b"a\tO\nb\tI-P\nc\tI-P\n", {"1": ["a", "b", "c"]}
    claims, problems = columns_check(data, tokens)
    assert (claims, problems.warnings) == ([("1", ((1, 3, "P"),), ())], {"repaired_tag": 1})
    claims, problems = columns_check(data, tokens, repair="strict-iob2")
    assert (claims, problems.warnings) == ([("1", (), ())], {"dropped_tag": 1})
    assert problems.first_warnings[0].line == 2


def test_tags_without_a_stated_scheme_stop_the_check():
    with pytest.raises(FileRejected, match="one of IOB1, IOB2, BIOES, BILOU"):
        spans_run({"id": "2", "tags": ["O"]}, scheme=None)


def test_another_spelling_of_the_negative_class_has_a_hint():
    _, problems, _ = run({"id": "a", "label": "no_relation"}, negative="N/A")
    assert [problem.hint for problem in problems.first if problem.code == "near_label"] == [
        "The negative class here is N/A."
    ]


def test_a_form_that_is_not_accepted_is_named():
    check = PredictionCheck(ids=["a"], labels=["r"], forms=["label", "labels"])
    problems = check.check([(1, ScoresPrediction("a", {"r": 0.5}))])
    assert problems.first[0].hint == "Predictions of the form scores are not accepted here."


TEXTS = {"labels": ["P"], "negative": None, "forms": ["spans", "entity_texts"], "lengths": {"a": 9, "b": 9}}


def test_answers_as_text_keep_foreign_labels_and_repeats():
    lines = {"id": "a", "entities": [["Ada", "P"], ["Ada", "P"], ["X", "Q"]]}, {"id": "b", "abstain": True}
    found, problems, check = run(*lines, **TEXTS)
    assert found == [("a", (("Ada", "P"), ("Ada", "P"), ("X", "Q"))), ("b", None)]
    assert (check.form, problems.total) == ("entity_texts", 0)


def test_a_file_may_begin_with_an_abstention_or_have_nothing_else():
    found, _, check = run({"id": "a", "abstain": True}, {"id": "b", "entities": []}, **TEXTS)
    assert (found, check.form) == ([("a", None), ("b", ())], "entity_texts")
    found, _, check = run({"id": "a", "abstain": True}, {"id": "b", "abstain": True}, **TEXTS)
    assert (found, check.form) == ([("a", None), ("b", None)], "entity_texts")


def test_answers_without_text_are_left_out_and_counted():
    lines = {"id": "a", "entities": [[" \t", "P"], ["Ada", "P"]]}, {"id": "b", "entities": []}
    found, problems, _ = run(*lines, **TEXTS)
    assert found[0] == ("a", (("Ada", "P"),))
    assert problems.warnings == {"empty_answer": 1}


@pytest.mark.parametrize(
    ("line", "options", "code"),
    [
        ({"id": "a", "entities": [["x" * 2_001, "P"]]}, {}, "long_answer"),
        ({"id": "a", "entities": [["x", "P"]] * 1_001}, {}, "too_many_in_line"),
        ({"id": "a", "entities": [["x", "P"]]}, {"lengths": {"b": 9}}, "textless_item"),
        ({"id": "a", "triples": [["x", "P", "y"]]}, {}, "mixed_forms"),
        ({"id": "a", "abstain": False}, {}, "wrong_type"),
        ({"id": "a", "abstain": True, "entities": []}, {}, "mixed_forms"),
        ({"id": "a", "abstain": True}, {"forms": ["spans"]}, "mixed_forms"),
        ({"id": "a", "entities": [["x", "y", "P"]]}, {}, "wrong_type"),
    ],
)
def test_invalid_answers_as_text_are_reported(line, options, code):
    _, problems, _ = run({"id": "b", "entities": []}, line, **{**TEXTS, **options})
    assert code in problems.by_code


def test_an_example_of_answers_as_text_is_a_correct_line():
    triples = {"forms": ["triple_texts"], "relations": ["met"], "labels": ["P"], "negative": None}
    for form, options in (
        ("entity_texts", TEXTS),
        ("triple_texts", {**triples, "lengths": TEXTS["lengths"]}),
    ):
        _, _, check = run({"id": "z", "entities": []}, **options)
        check.example.form = form
        line = json.loads(check.example("missing_id", id="a"))
        found, problems, _ = run(line, {"id": "b", "abstain": True}, **options)
        assert (len(found), problems.total) == (2, 0)
