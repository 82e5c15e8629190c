"""Old names of labels in predictions: mapped, united and counted, or rejected by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.core.formats.conll import read_conll_predictions
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.old_labels import mapped_in_words
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ScoresPrediction

OLD = LabelMapping({"us_state": "region", "province": "region", "gone": None}, {"place": ("region", "city")})


def run(*objects: Any, **options: Any) -> tuple[list[Claim], Problems, PredictionCheck]:
    problems = Problems()
    expected = {"ids": ["a"], "labels": ["region", "city"], "negative": "NA", "old": OLD}
    check = PredictionCheck(**{**expected, "problems": problems, **options})
    source = "\n".join(map(json.dumps, objects)).encode()
    return list(check.claims(read_predictions(source, problems=problems))), problems, check


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ({"label": "us_state"}, "region"),
        ({"label": "city"}, "city"),
        ({"label": "gone"}, "NA"),
        ({"labels": ["us_state", "city", "region", "province"]}, ("region", "city")),
        ({"labels": ["gone"]}, ()),
        ({"labels": ["gone", "NA"]}, ()),
        ({"scores": {"us_state": 0.2, "region": 0.1, "province": 0.3, "gone": 9}}, {"region": 0.3}),
        ({"entities": [["Ohio", "us_state"], ["Ohio", "province"], ["x", "gone"]]}, (("Ohio", "region"),)),
        ({"entities": [["Ohio", "us_state"]] * 2}, (("Ohio", "region"),) * 2),
        ({"triples": [["Ohio", "us_state", "Erie"]]}, (("Ohio", "region", "Erie"),)),
    ],
)
def test_old_names_become_present_ones_and_equal_labels_one(line: dict[str, Any], claim: object) -> None:
    claims, problems, _ = run({"id": "a"} | line)
    assert (claims, problems.total) == ([("a", claim)], 0)


def test_spans_that_become_equal_are_one_and_their_relations_stay() -> None:
    spans = [[0, 1, "us_state"], [0, 1, "region"], [2, 3, "city"], [2, 3, "gone"]]
    lines = {"id": "a", "spans": spans, "relations": [[0, "in", 2], [1, "in", 2], [3, "in", 0], [0, "of", 2]]}
    old = LabelMapping(OLD.clear | {"of": "in"})
    claims, problems, check = run(lines, lengths={"a": 4}, negative=None, relations=["in"], old=old)
    assert (claims, problems.total) == ([("a", ((0, 1, "region"), (2, 3, "city")), ((0, "in", 1),))], 0)
    assert check.old.counts == {"us_state": 1, "gone": 1, "of": 1}


def test_tags_of_old_names_are_decoded_before_they_are_mapped() -> None:
    problems = Problems()
    check = PredictionCheck(
        ids=["1"], labels=["region"], tokens={"1": ("A", "B", "C")}, scheme="IOB2", old=OLD, problems=problems
    )
    lines = read_conll_predictions(
        b"A B-us_state\nB B-province\nC B-gone\n", problems=problems, scheme="IOB2"
    )
    assert list(check.claims(lines)) == [("1", ((0, 1, "region"), (1, 2, "region")), ())]


def test_a_repeated_claim_of_a_merged_relation_counts_once_and_repeats_under_one_name_are_rejected() -> None:
    lines = [
        {"h": "p", "t": "q", "relation": name, "score": n}
        for n, name in enumerate(["region", "us_state", "gone"])
    ]
    problems = Problems()
    check = PredictionCheck(pairs=[("p", "q")], labels=["region"], negative="NA", old=OLD, problems=problems)
    source = "\n".join(map(json.dumps, [*lines, lines[1]])).encode()
    repeats = [check.repeats for _ in check.claims(read_predictions(source, problems=problems))]
    assert repeats == [False, True]
    assert problems.by_code == {"duplicate_claim": 1}
    assert run({"id": "a", "labels": ["us_state"] * 2})[1].by_code == {"duplicate_label": 1}


@pytest.mark.parametrize(
    "line",
    [
        {"label": "place"},
        {"labels": ["city", "place"]},
        {"scores": {"place": 1}},
        {"entities": [["x", "place"]]},
    ],
)
def test_a_label_that_was_split_is_rejected_by_line_with_what_it_became(line: dict[str, Any]) -> None:
    _, problems, _ = run({"id": "a"} | line)
    assert problems.by_code == {"old_label": 1}
    assert (problems.first[0].line, problems.first[0].value) == (1, "place")
    assert "region or city" in problems.first[0].sentence()


def test_other_names_are_rejected_as_before_and_so_is_a_score_that_is_not_finite() -> None:
    assert run({"id": "a", "label": "moon"})[1].by_code == {"unknown_label": 1}
    for scores in ({"us_state": float("nan"), "region": 1.0}, {"region": 1.0, "us_state": float("inf")}):
        problems = Problems()
        check = PredictionCheck(ids=["a"], labels=["region"], old=OLD, problems=problems)
        assert list(check.claims([(1, ScoresPrediction("a", scores))])) == []
        assert problems.by_code == {"bad_score": 1}
    _, problems, _ = run({"id": "a", "label": "gone"}, negative=None)
    assert problems.by_code == {"old_label": 1}


def test_a_mapping_is_limited_to_an_inventory_and_leaves_its_labels_alone() -> None:
    steps = [
        {"number": 1, "operation": "merge", "sources": ["b", "a"], "target": "a"},
        {"number": 2, "operation": "split", "sources": ["c"], "target": "", "targets": ["d", "e"]},
        {"number": 3, "operation": "delete", "sources": ["e"], "target": ""},
        {"number": 4, "operation": "rename", "sources": ["f"], "target": "elsewhere"},
        {"number": 5, "operation": "rename", "sources": ["g"], "target": "NA"},
    ]
    mapping = LabelMapping.from_manifest({"ontology": steps}).limited(
        ["a", "d"], current=["a", "d"], negative="NA"
    )
    assert mapping.parts() == {"b": ("a",), "c": ("d", None), "e": (None,), "g": (None,)}
    imported = LabelMapping.from_manifest({"mapped": {"names": {"Other": None, "x": "a"}}})
    assert imported.parts() == {"Other": (None,), "x": ("a",)}


def test_mappings_of_mapped_sets_follow_each_other_and_the_later_label_of_a_name_counts() -> None:
    def mapped(of: list[Any], names: dict[str, str | None], **more: Any) -> dict[str, Any]:
        return {"of": of, "names": names} | more

    left = mapped(["raw"], {"a": "b", "c": "a", "x": "y", "gone": None}, set="left")
    right = mapped(["raw"], {"x": "z", "e": "a"}, set="right")
    names = {"a": "d", "b": "f"}
    of = [{"slug": "left", "sha256": "1"}, {"slug": "right", "sha256": "2"}]
    found = LabelMapping.from_manifest({"mapped": mapped(of, names, earlier=[left, right])}).parts()
    both = {"a": ("d",), "b": ("f",), "c": ("d",), "e": ("d",)}
    assert found == both | {"gone": (None,), "x": ("y", "z")}
    alone = LabelMapping.from_manifest({"mapped": mapped(["left"], names, earlier=[left])}).parts()
    assert alone == {"a": ("d",), "b": ("f",), "c": ("d",), "gone": (None,), "x": ("y",)}


def test_the_summary_names_the_most_frequent_old_names() -> None:
    stated = {
        name: {"to": to, "labels": n}
        for name, to, n in [("a", "r", 1), ("b", "r", 9), ("c", None, 3), ("d", "s", 2)]
    }
    assert mapped_in_words(stated) == "15 labels of 4 old names were mapped: b → r, c → no label, d → s, …"
    assert (
        mapped_in_words({"a": {"to": None, "labels": 1}}, negative="N/A")
        == "1 label of 1 old name was mapped: a → N/A"
    )
    assert mapped_in_words({}) == ""
