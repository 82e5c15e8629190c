"""Raw labels replayed through the steps of an ontology."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalsvc.core.formats.label_mapping import LabelMapping


@dataclass
class Step:
    operation: str
    sources: list[str] = field(default_factory=list)
    target: str = ""
    targets: list[str] = field(default_factory=list)


def mapping(*steps: Step) -> LabelMapping:
    return LabelMapping.from_steps(steps)


def test_merged_labels_count_as_one_vote() -> None:
    merged = mapping(Step("merge", ["A", "B"], "AB"))
    assert merged.payload({"spans": [], "relations": ["A", "B", "C"]}).payload["relations"] == ["AB", "C"]


def test_an_answer_emptied_by_a_deletion_is_na_and_marked() -> None:
    gone = mapping(Step("delete", ["A"]))
    emptied = gone.payload({"spans": [], "relations": ["A"]})
    assert (emptied.payload, emptied.emptied) == ({"spans": [], "relations": []}, True)
    assert not gone.payload({"spans": [], "relations": []}).emptied
    assert not gone.payload({"spans": [], "relations": ["A", "B"]}).emptied


def test_each_step_applies_to_the_result_of_earlier_steps() -> None:
    chain = mapping(Step("merge", ["A", "B"], "AB"), Step("rename", ["AB"], "X"), Step("delete", ["X"]))
    assert [chain.label(name) for name in ("A", "AB", "C")] == [None, None, "C"]


def test_removing_the_last_step_restores_the_mapping() -> None:
    first, second = Step("rename", ["A"], "B1"), Step("merge", ["B1", "C"], "D")
    assert mapping(first).label("A") == "B1"
    assert mapping(first, second).labels(["A", "C"]) == ["D"]


def test_deleting_a_type_deletes_its_spans_and_their_relations() -> None:
    answer = {"spans": [[0, 1, "P"], [2, 3, "O"], [4, 5, "P"]], "relations": [[0, "r", 1], [0, "r", 2]]}
    mapped = mapping(Step("delete", ["O"])).payload(answer)
    assert mapped.payload == {"spans": [[0, 1, "P"], [4, 5, "P"]], "relations": [[0, "r", 1]]}


def test_equal_spans_with_merged_labels_become_one() -> None:
    answer = {"spans": [[0, 1, "P"], [0, 1, "O"]], "relations": []}
    assert mapping(Step("merge", ["P", "O"], "N")).payload(answer).payload["spans"] == [[0, 1, "N"]]
