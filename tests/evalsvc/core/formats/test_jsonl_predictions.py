"""Prediction lines in all their forms."""

import json

import pytest

from evalsvc.core.formats.jsonl_predictions import read_as_gold, read_predictions
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    BagPrediction,
    LabelPrediction,
    LabelsPrediction,
    ScoresPrediction,
    SpansPrediction,
    TagsPrediction,
)


def read(*objects) -> tuple[list, Problems]:
    problems = Problems()
    source = "\n".join(o if isinstance(o, str) else json.dumps(o) for o in objects).encode()
    return [prediction for _, prediction in read_predictions(source, problems=problems)], problems


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"id": "a", "label": "r"}, LabelPrediction("a", "r")),
        ({"id": "a", "label_true": "s", "label_pred": "r"}, LabelPrediction("a", "r")),
        ({"id": 12, "label": "r"}, LabelPrediction("12", "r")),
        ({"id": "a:b", "label": 'x":y'}, LabelPrediction("a:b", 'x":y')),
        ({"id": "a", "labels": ["r", "s"]}, LabelsPrediction("a", ("r", "s"))),
        ({"id": "a", "scores": {"r": 1, "per:s": 0.25}}, ScoresPrediction("a", {"r": 1.0, "per:s": 0.25})),
        ({"h": "x", "t": "y", "relation": "r", "score": 0.5}, BagPrediction("x", "y", "r", 0.5)),
        ({"entpair": ["x", "y"], "relation": "r", "score": 1}, BagPrediction("x", "y", "r", 1.0)),
        ({"entpair": [1, 2], "relation": "r", "score": 1}, BagPrediction("1", "2", "r", 1.0)),
        ({"id": "a", "spans": [[0, 2, "P"]]}, SpansPrediction("a", ((0, 2, "P"),))),
        (
            {"id": "a", "spans": [[0, 2, "P"], [3, 4, "Q"]], "relations": [[0, "r", 1]]},
            SpansPrediction("a", ((0, 2, "P"), (3, 4, "Q")), ((0, "r", 1),)),
        ),
        ({"id": "a", "tags": ["B-P", "O"]}, TagsPrediction("a", ("B-P", "O"))),
    ],
)
def test_each_form_reads_alike_as_first_and_as_later_line(line, expected):
    predictions, problems = read(line, line, line)
    assert predictions == [expected] * 3
    assert problems.total == 0


def test_the_gold_beside_predicted_labels_is_their_true_label():
    """Else a file of predictions named as gold would be right everywhere."""
    line = b'{"id": "a", "label_true": "s", "label_pred": "r"}'
    [(_, item)] = read_as_gold(line, problems=Problems())
    assert item.relations == ("s",)


def test_the_order_of_keys_does_not_matter():
    assert read('{"score": 1, "relation": "r", "t": "y", "h": "x"}')[0] == [BagPrediction("x", "y", "r", 1.0)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"id": "a"}, "missing_key"),
        ({"label": "r"}, "missing_key"),
        ({}, "missing_key"),
        ({"h": "a", "t": "b", "relation": "r"}, "missing_key"),
        ({"id": "a", "label": "r", "labels": ["r"]}, "mixed_forms"),
        ({"id": "a", "h": "b", "t": "c", "relation": "r", "score": 1}, "mixed_forms"),
        ({"id": "a", "label": None}, "wrong_type"),
        ({"id": "a", "scores": {"r": "0.5"}}, "wrong_type"),
        ({"id": "a", "spans": [[0, 2]]}, "wrong_type"),
        ('{"id": "a", "scores": {"r": "x"}, "scores": 0}', "wrong_type"),
        ('{"id": "a", "labels": [1], "labels": null}', "wrong_type"),
        ('{"id": "a", "spans": [[0, 2, 3]], "spans": {"a": true}}', "wrong_type"),
        ({"id": "", "label": "r"}, "wrong_type"),
        pytest.param(f'{{"id": {"9" * 5_000}, "label": "r"}}', "wrong_type", id="an endless id"),
        ('{"id": NaN, "label": "r"}', "wrong_type"),
        ({"id": "a", "spans": [[2, 2, "P"]]}, "bad_span"),
        ({"id": "a", "spans": [[0, 2, "P"]], "relations": [[0, "r", 1]]}, "bad_reference"),
        ({"id": "a", "lable": "r"}, "unknown_key"),
        ('{"id": "a", "scores": {"r": NaN}}', "bad_score"),
        ('{"entpair": ["a", "b"], "relation": "r", "score": -Infinity}', "bad_score"),
        ('{"id": "a", "scores": {"r": 1e999}}', "bad_score"),
        ('{"id": "a", "scores": {"r": 0.1, "r": 0.2}}', "duplicate_key"),
        ('{"id": "a", "id"\t: "b", "label": "r"}', "duplicate_key"),
        ('{"id": "\\udfff", "label": "r"}', "lone_surrogate"),
        ('{"id": "a\\u0000", "label": "r"}', "nul_character"),
        ('{"id": "a", "label": "r"} trailing', "not_json"),
        ("[", "not_json"),
    ],
)
@pytest.mark.parametrize(
    "before", ['{"id": "z", "label": "r"}', '{"id": "z", "scores": {}}', '{"id": "z", "tags": []}']
)
def test_a_broken_line_is_reported_after_lines_of_any_form(before, line, code):
    predictions, problems = read(before, line, before)
    assert [(problem.code, problem.line) for problem in problems.first] == [(code, 2)]
    assert len(predictions) == 2


@pytest.mark.parametrize(
    ("line", "place"),
    [('{"id": "ä" "label"}', "Character 12"), ('{"id": "a", "label"', "ends before"), ("[1]", "")],
)
def test_a_line_that_is_not_json_gets_the_place_of_the_fault_and_a_remedy(line, place):
    _, problems = read(line)
    hint = problems.first[0].hint
    assert hint.startswith(place) or place in hint
    assert hint.count(".") >= (2 if place else 1)


def test_an_array_over_several_lines_gets_a_hint():
    _, problems = read("[", '{"id": "a", "label": "r"},', "]")
    assert (problems.first[0].code, problems.first[0].line) == ("not_json", 1)
    assert problems.first[0].hint
