"""Raw labels replayed through the steps of an ontology."""

from __future__ import annotations

from dataclasses import dataclass, field

from annotation.consensus.label_mapping import LabelMapping


@dataclass
class Step:
    operation: str
    sources: list[str] = field(default_factory=list)
    target: str = ""


def mapping(*steps: Step) -> LabelMapping:
    return LabelMapping.from_steps(steps)


def test_merged_labels_are_one_vote() -> None:
    merged = mapping(Step("merge", ["A", "B"], "AB"))
    assert merged.payload({"spans": [], "relations": ["A", "B", "C"]}).payload["relations"] == ["AB", "C"]


def test_an_answer_emptied_by_a_deletion_is_na_and_says_so() -> None:
    gone = mapping(Step("delete", ["A"]))
    emptied = gone.payload({"spans": [], "relations": ["A"]})
    assert (emptied.payload, emptied.emptied) == ({"spans": [], "relations": []}, True)
    assert not gone.payload({"spans": [], "relations": []}).emptied
    assert not gone.payload({"spans": [], "relations": ["A", "B"]}).emptied


def test_each_step_acts_on_what_the_ones_before_it_left() -> None:
    chain = mapping(Step("merge", ["A", "B"], "AB"), Step("rename", ["AB"], "X"), Step("delete", ["X"]))
    assert [chain.label(name) for name in ("A", "AB", "C")] == [None, None, "C"]


def test_without_its_last_step_a_mapping_is_what_it_was_before() -> None:
    first, second = Step("rename", ["A"], "B1"), Step("merge", ["B1", "C"], "D")
    assert mapping(first).label("A") == "B1"
    assert mapping(first, second).labels(["A", "C"]) == ["D"]


def test_a_deleted_type_takes_its_spans_and_their_relations_with_it() -> None:
    answer = {"spans": [[0, 1, "P"], [2, 3, "O"], [4, 5, "P"]], "relations": [[0, "r", 1], [0, "r", 2]]}
    mapped = mapping(Step("delete", ["O"])).payload(answer)
    assert mapped.payload == {"spans": [[0, 1, "P"], [4, 5, "P"]], "relations": [[0, "r", 1]]}


def test_spans_whose_labels_are_merged_become_one() -> None:
    answer = {"spans": [[0, 1, "P"], [0, 1, "O"]], "relations": []}
    assert mapping(Step("merge", ["P", "O"], "N")).payload(answer).payload["spans"] == [[0, 1, "N"]]
