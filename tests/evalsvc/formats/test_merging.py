"""Repeated lines become one item; NYT10's lines."""

import json

import pytest

from evalsvc.formats.lines import read_items
from evalsvc.formats.merging import Merged, merge_repeats, pairs_and_facts
from evalsvc.formats.nyt10 import read_nyt10
from evalsvc.formats.problems import Problems

ADA = "ada_lovelace was born in london and died in london ."


def row(relation: str, *, head: str = "ada_lovelace", tail: str = "london", text: str = ADA) -> str:
    return f"m.{head}\tm.{tail}\t{head}\t{tail}\t{relation}\t{text}\t###END###"


def nyt10(*rows: str) -> tuple[Merged, Problems]:
    problems = Problems()
    return merge_repeats(read_nyt10("\n".join(rows).encode(), problems=problems), problems=problems), problems


def merged_json(*objects: dict, **options) -> tuple[Merged, Problems]:
    problems = Problems()
    lines = read_items("\n".join(map(json.dumps, objects)).encode(), problems=problems)
    return merge_repeats(lines, problems=problems, **options), problems


def test_a_line_per_label_becomes_one_item_with_the_union():
    merged, problems = nyt10(
        row("born"), row("died"), row("born"), row("NA", head="london", tail="ada_lovelace")
    )
    assert [found.item.relations for found in merged.items] == [("born", "died"), ("NA",)]
    assert (merged.lines, merged.exact_repeats, merged.several_labels, problems.total) == (4, 1, 1, 0)
    assert [(repeat.line, repeat.relations) for repeat in merged.items[0].repeats] == [
        (2, ("died",)),
        (3, ("born",)),
    ]


def test_pairs_are_ordered_and_facts_leave_out_the_negative_class():
    merged, _ = nyt10(row("born"), row("died"), row("NA", head="london", tail="ada_lovelace"))
    assert pairs_and_facts((found.item for found in merged.items), negative="NA") == (2, 2)


def test_a_name_is_taken_at_its_first_occurrence_as_tokens_and_counted_when_ambiguous():
    merged, problems = nyt10(row("born", text="londoner ada_lovelace left london for london ."))
    tail = merged.items[0].item.tail
    assert tail is not None
    assert (tail.start, tail.end) == (27, 33)
    assert problems.warnings == {"ambiguous_entity": 1}


def test_a_name_not_found_refuses_its_line_once():
    merged, problems = nyt10(row("born"), row("born", text="nobody was here"))
    assert (len(merged.items), problems.by_code) == (1, {"entity_not_in_text": 1})
    assert problems.first[0].line == 2


@pytest.mark.parametrize("line", ["a\tb", row("x")[:-9], row("x") + "\t", row("x").replace("m.london", "")])
def test_lines_without_the_columns_are_refused(line):
    assert nyt10(line)[1].by_code == {"wrong_columns": 1}


def relation_line(relation: str, **parts) -> dict:
    return {"text": "a b", "h": {"pos": [0, 1]}, "t": {"pos": [2, 3]}, "relation": relation, **parts}


def test_opennre_lines_merge_as_well():
    merged, problems = merged_json(relation_line("r"), relation_line("s"), relation_line("r"))
    assert [found.item.relations for found in merged.items] == [("r", "s")]
    assert (merged.exact_repeats, problems.total) == (1, 0)


def test_entities_with_other_ids_at_the_same_place_stay_apart():
    other = {"h": {"pos": [0, 1], "id": "Q9"}}
    assert len(merged_json(relation_line("r"), relation_line("r", **other))[0].items) == 2


def test_items_with_ids_of_their_own_merge_by_content_or_stay_apart():
    lines = relation_line("r", id="1"), relation_line("s", id="2")
    assert [repeat.id for repeat in merged_json(*lines)[0].items[0].repeats] == ["2"]
    assert len(merged_json(*lines, by="id")[0].items) == 2


def test_one_id_for_two_items_is_refused():
    merged, problems = merged_json(relation_line("r", id="1"), relation_line("s", id="1", text="a c"))
    assert (len(merged.items), problems.by_code, problems.first[0].line) == (1, {"duplicate_id": 1}, 2)
    documents = {"id": "d", "text": "a", "spans": []}
    assert merged_json(documents, documents)[1].by_code == {"duplicate_id": 1}


def test_without_any_labels_the_union_is_unknown_and_not_empty():
    bare = {"text": "a b", "h": {"pos": [0, 1]}, "t": {"pos": [2, 3]}}
    assert merged_json(bare, bare)[0].items[0].item.relations is None
