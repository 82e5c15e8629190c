"""Repeated lines become one item; NYT10's lines."""

import json
import tracemalloc
from collections.abc import Callable, Iterable

import pytest

from evalsvc.core.formats.duplicates import FactCounter, MergedItem, NumberedItem, find_repeats
from evalsvc.core.formats.jsonl_items import read_items
from evalsvc.core.formats.nyt10 import read_nyt10
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine

ADA = "ada_lovelace was born in london and died in london ."


def row(relation: str, *, head: str = "ada_lovelace", tail: str = "london", text: str = ADA) -> str:
    return f"m.{head}\tm.{tail}\t{head}\t{tail}\t{relation}\t{text}\t###END###"


def merged(
    read: Callable[..., Iterable[NumberedItem]], data: bytes, **options
) -> tuple[list[MergedItem], Problems]:
    """The items of a file, read twice."""
    problems = Problems()
    repeats = find_repeats(read(data, problems=problems), problems=problems, **options)
    items = list(repeats.merged(read(data, problems=Problems())))
    assert repeats.items == len(items)
    return items, problems


def nyt10(*rows: str) -> tuple[list[MergedItem], Problems]:
    return merged(read_nyt10, "\n".join(rows).encode())


def merged_json(*objects: dict, **options) -> tuple[list[MergedItem], Problems]:
    return merged(read_items, "\n".join(map(json.dumps, objects)).encode(), **options)


def test_a_line_per_label_becomes_one_item_with_the_union():
    items, problems = nyt10(
        row("born"), row("died"), row("born"), row("NA", head="london", tail="ada_lovelace")
    )
    assert [found.item.relations for found in items] == [("born", "died"), ("NA",)]
    assert ([found.exact for found in items], problems.total) == ([1, 0], 0)
    assert [(repeat.line, repeat.relations) for repeat in items[0].repeats] == [
        (2, ("died",)),
        (3, ("born",)),
    ]


def test_pairs_are_ordered_and_facts_leave_out_the_negative_class():
    items, _ = nyt10(row("born"), row("died"), row("NA", head="london", tail="ada_lovelace"))
    counted = FactCounter(negative="NA")
    for found in [*items, *items]:
        counted.add(found.item)
    assert (counted.pairs, counted.facts) == (2, 2)


def test_a_name_is_taken_at_its_first_occurrence_as_tokens_and_counted_when_ambiguous():
    items, problems = nyt10(row("born", text="londoner ada_lovelace left london for london ."))
    tail = items[0].item.tail
    assert tail is not None
    assert (tail.start, tail.end) == (27, 33)
    assert problems.warnings == {"ambiguous_entity": 1}


def test_a_name_not_found_rejects_its_line_once():
    items, problems = nyt10(row("born"), row("born", text="nobody was here"))
    assert (len(items), problems.by_code) == (1, {"entity_not_in_text": 1})
    assert problems.first[0].line == 2


@pytest.mark.parametrize("line", ["a\tb", row("x")[:-9], row("x") + "\t", row("x").replace("m.london", "")])
def test_lines_without_the_columns_are_rejected(line):
    assert nyt10(line)[1].by_code == {"wrong_columns": 1}


def relation_line(relation: str, **parts) -> dict:
    return {"text": "a b", "h": {"pos": [0, 1]}, "t": {"pos": [2, 3]}, "relation": relation, **parts}


def test_opennre_lines_merge_as_well():
    items, problems = merged_json(relation_line("r"), relation_line("s"), relation_line("r"))
    assert [found.item.relations for found in items] == [("r", "s")]
    assert (items[0].exact, problems.total) == (1, 0)


def test_entities_with_other_ids_at_the_same_place_stay_apart():
    other = {"h": {"pos": [0, 1], "id": "Q9"}}
    assert len(merged_json(relation_line("r"), relation_line("r", **other))[0]) == 2


def test_items_with_ids_of_their_own_merge_by_content_or_stay_apart():
    lines = relation_line("r", id="1"), relation_line("s", id="2")
    assert [repeat.id for repeat in merged_json(*lines)[0][0].repeats] == ["2"]
    assert len(merged_json(*lines, by="id")[0]) == 2


def test_one_id_for_two_items_is_rejected():
    items, problems = merged_json(relation_line("r", id="1"), relation_line("s", id="1", text="a c"))
    assert (len(items), problems.by_code, problems.first[0].line) == (1, {"duplicate_id": 1}, 2)
    documents = {"id": "d", "text": "a", "spans": []}
    assert merged_json(documents, documents)[1].by_code == {"duplicate_id": 1}


def test_without_any_labels_the_union_is_unknown_and_not_empty():
    bare = {"text": "a b", "h": {"pos": [0, 1]}, "t": {"pos": [2, 3]}}
    assert merged_json(bare, bare)[0][0].item.relations is None


def test_lines_without_repeats_take_little_memory():
    """Not its text: a file of a million long lines is found through in what a worker has."""
    count, long = 5_000, "x" * 2_000
    lines = ((at, item) for at in range(1, count + 1) for item in [sentence(str(at), f"{long} {at}")])
    tracemalloc.start()
    try:
        repeats = find_repeats(lines, problems=Problems())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert repeats.items == count
    assert peak / count < 1_000


def sentence(name: str, text: str) -> ItemLine:
    return ItemLine(name, text, None, Entity("Q1", "x", 0, 1), Entity("Q2", "x", 1, 2), None, ("r",))
