"""Item lines in JSONL: both spellings, offsets, ids."""

import json

import msgspec
import pytest

from evalsvc.core.formats import json_lines
from evalsvc.core.formats.jsonl_items import read_items
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, content_id

TEXT = "Ada was born in Turin."
HEAD = {"id": "Q1", "name": "Ada", "pos": [0, 3]}
TAIL = {"id": "Q2", "name": "Turin", "pos": [16, 21]}


def read(*objects, **options) -> tuple[list[ItemLine], Problems]:
    problems = Problems()
    source = "\n".join(o if isinstance(o, str) else json.dumps(o) for o in objects).encode()
    return [item for _, item in read_items(source, problems=problems, **options)], problems


def one(**parts) -> ItemLine:
    items, problems = read(parts)
    assert problems.by_code == {}
    return items[0]


def codes(*objects, **options) -> list[str]:
    return [problem.code for problem in read(*objects, **options)[1].first]


def test_a_relation_item_has_both_mentions_and_its_labels():
    item = one(id="s1", text=TEXT, h=HEAD, t=TAIL, relations=["born_in", "born_in"])
    head, tail = Entity("Q1", "Ada", 0, 3), Entity("Q2", "Turin", 16, 21)
    assert item == ItemLine("s1", TEXT, None, head, tail, None, ("born_in",))
    assert item.pair == ("Q1", "Q2")


def test_opennre_spelling_reads_the_same_and_is_named_after_its_content():
    item = one(text=TEXT, h=HEAD, t=TAIL, relation="born_in")
    assert item.relations == ("born_in",)
    assert item.id == content_id(TEXT, item.head, item.tail)
    assert item.id == one(text=TEXT, h=HEAD, t=TAIL, relation="died_in").id
    assert item.id != one(text=TEXT, h=TAIL, t=HEAD, relation="born_in").id


def test_types_of_head_and_tail_are_not_part_of_the_id():
    item = one(text=TEXT, h=HEAD | {"type": "person"}, t=TAIL | {"type": None}, relation="born_in")
    assert (item.head and item.head.type, item.tail and item.tail.type) == ("person", "")
    assert item.id == one(text=TEXT, h=HEAD, t=TAIL, relation="born_in").id


def test_several_human_labels_replace_the_single_one():
    item = one(text=TEXT, h=HEAD, t=TAIL, relation="NA", anno_relation_list=["a", "b"])
    assert item.relations == ("a", "b")


def test_offsets_count_code_points():
    item = one(text="🙂 Ada 𝒳 Turin", h={"pos": [2, 5]}, t={"pos": [8, 13]})
    assert (item.head and item.head.name, item.tail and item.tail.name) == ("Ada", "Turin")


def test_with_tokens_offsets_count_tokens():
    item = one(token=["Ada", "Lovelace", "wrote", "to", "Babbage"], h={"pos": [0, 2]}, t={"pos": [4, 5]})
    assert item.text == "Ada Lovelace wrote to Babbage"
    assert item.head == Entity(None, "Ada Lovelace", 0, 12)
    assert item.tail == Entity(None, "Babbage", 22, 29)


def test_with_tokens_a_name_may_show_that_code_points_are_meant():
    mention = {"name": "Babbage", "pos": [22, 29]}
    item = one(
        tokens=["Ada", "Lovelace", "wrote", "to", "Babbage"], h={"name": "Ada", "pos": [0, 1]}, t=mention
    )
    assert (item.head, item.tail) == (Entity(None, "Ada", 0, 3), Entity(None, "Babbage", 22, 29))


def test_a_mention_without_position_is_its_first_occurrence_as_tokens():
    items, problems = read(
        {"id": 1, "text": "Roman art of Rome , Rome", "h": {"name": "Rome"}, "t": {"name": "art"}}
    )
    assert items[0].head == Entity(None, "Rome", 13, 17)
    assert problems.warnings == {"ambiguous_entity": 1}
    assert codes({"id": 1, "text": "Roman", "h": {"name": "Rom"}, "t": {"name": "Roman"}}) == [
        "entity_not_in_text"
    ]


def test_offsets_that_cover_other_words_give_a_warning():
    text, tail = "Ada was born in Turin.", {"name": "Turin", "pos": [16, 21]}
    items, problems = read({"id": 1, "text": text, "h": {"name": "Ada", "pos": [4, 7]}, "t": tail})
    assert problems.warnings == {"other_words": 1}
    assert (problems.first_warnings[0].value, problems.first_warnings[0].expected) == ("was", "Ada")
    assert len(items) == 1
    for name in ("ada", "Countess of Lovelace"):
        _, problems = read({"id": 1, "text": text, "h": {"name": name, "pos": [0, 3]}, "t": tail})
        assert not problems.warnings


def test_spans_count_tokens_where_there_are_tokens_and_code_points_otherwise():
    tokens = one(id="d", tokens=["New", "York", "!"], spans=[[0, 2, "LOC"]])
    assert (tokens.spans, tokens.length) == (((0, 2, "LOC"),), 3)
    text = one(id="d", text="New York!", spans=[[0, 8, "LOC"]])
    assert (text.spans, text.length) == (((0, 8, "LOC"),), 9)


def test_duplicate_spans_are_merged_with_their_relations():
    items, problems = read(
        {
            "id": "d",
            "text": "ab cd",
            "spans": [[0, 2, "P"], [0, 2, "P"], [3, 5, "P"]],
            "relations": [[1, "r", 2], [0, "r", 2]],
        }
    )
    assert items[0].spans == ((0, 2, "P"), (3, 5, "P"))
    assert items[0].relations == ((0, "r", 1),)
    assert problems.warnings == {"duplicate_span": 1, "duplicate_relation": 1}


def test_published_gold_may_have_no_text_but_then_has_ids():
    items, problems = read({"id": 7, "relations": ["Other"]}, require_text=False)
    assert (items[0].id, items[0].text, problems.total) == ("7", None, 0)
    assert codes({"id": 7, "relations": ["Other"]}) == ["missing_key"]
    items, problems = read({"relations": ["Other"]}, require_text=False)
    assert (items, [(each.code, each.field) for each in problems.first]) == ([], [("missing_key", "id")])


def test_a_document_without_an_id_is_named_after_its_line():
    items, _ = read("", {"text": "a", "spans": []})
    assert items[0].id == "line-2"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"id": "a", "text": TEXT, "h": HEAD}, "missing_key"),
        ({"id": "a", "text": TEXT, "h": {"id": "Q"}, "t": TAIL}, "missing_key"),
        ({"id": "a", "text": TEXT, "tokens": ["a"]}, "mixed_forms"),
        ({"id": "a", "text": TEXT, "h": HEAD, "t": TAIL, "spans": []}, "mixed_forms"),
        ({"id": "a", "text": TEXT, "relation": "r", "relations": ["r"]}, "mixed_forms"),
        ({"id": "a", "text": TEXT, "h": HEAD, "t": TAIL, "relations": [[0, "r", 1]]}, "mixed_forms"),
        ({"id": "a", "text": TEXT, "spans": [], "relations": ["r"]}, "mixed_forms"),
        ({"id": "a", "text": TEXT, "h": HEAD, "t": {"pos": [16, 99]}}, "bad_span"),
        ({"id": "a", "text": TEXT, "h": HEAD, "t": {"pos": [-3, 2]}}, "bad_span"),
        ({"id": "a", "text": TEXT, "spans": [[3, 3, "P"]]}, "bad_span"),
        ({"id": "a", "tokens": ["a", "b"], "spans": [[0, 3, "P"]]}, "bad_span"),
        ({"id": "a", "text": TEXT, "spans": [[0, 3, "P"]], "relations": [[0, "r", 1]]}, "bad_reference"),
        ({"id": "a", "text": TEXT, "spans": [[0, 3, ""]]}, "wrong_type"),
        ({"id": "a", "text": TEXT, "spans": [[0, 3]]}, "wrong_type"),
        ({"id": "", "text": TEXT}, "wrong_type"),
        ({"id": " a", "text": TEXT}, "wrong_type"),
        ({"id": True, "text": TEXT}, "wrong_type"),
        ({"id": 10**30, "text": TEXT}, "wrong_type"),
        ({"id": "a", "text": "  "}, "wrong_type"),
        ({"id": "a", "tokens": ["a", ""]}, "wrong_type"),
        ({"id": "a", "text": None}, "wrong_type"),
        ({"id": "a", "text": TEXT, "lable": "x"}, "unknown_key"),
        ('{"id": "a", "text": "x", "text": "y"}', "duplicate_key"),
        ('{"id": "a", "text": "x", "h": {"name": "x", "name": "y"}, "t": {"name": "x"}}', "duplicate_key"),
        ('{"id": "a", "text": "half \\ud83d of one"}', "lone_surrogate"),
        ('{"id": "a", "text": "nul \\u0000"}', "nul_character"),
        ('{"id": "a"', "not_json"),
        ("[1, 2]", "not_json"),
        ("{'id': 'a'}", "not_json"),
    ],
)
def test_a_broken_line_is_reported_with_its_code_and_the_next_is_read(line, code):
    items, problems = read(line, {"id": "next", "text": "x"})
    assert [problem.code for problem in problems.first] == [code]
    assert problems.first[0].line == 1
    assert [item.id for item in items] == ["next"]


def test_a_colon_or_an_escaped_key_in_the_text_is_no_repeated_key():
    assert one(id="a", text='he wrote "id": "b" and \\" : c').text == 'he wrote "id": "b" and \\" : c'
    assert one(id="a", text="\\u0000 in letters").text == "\\u0000 in letters"


def test_a_misspelt_key_gets_a_hint():
    _, problems = read({"id": "a", "txt": TEXT})
    assert problems.first[0].hint == "Did you mean text?"


def test_a_field_deep_in_the_line_is_named():
    _, problems = read({"id": "a", "text": TEXT, "h": {"name": 3}, "t": TAIL})
    assert (problems.first[0].field, problems.first[0].value) == ("h.name", "3")


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (
            {"id": "a", "lable": "x"},
            "id, text, tokens, token, h, t, relation, relations, anno_relation_list, spans, tags",
        ),
        ({"id": "a", "h": {"name": "Ada", "poss": [0, 3]}}, "name, id, pos, type"),
    ],
)
def test_an_unknown_key_is_answered_with_the_keys_of_its_object_each_once(line, keys):
    _, problems = read(line)
    assert problems.first[0].expected == f"one of: {keys}"


@pytest.mark.parametrize("line", [{"text": ""}, {"text": " \n"}, {"tokens": []}])
def test_an_empty_document_is_one_if_the_line_has_spans(line):
    item = one(id="1", **line, spans=[])
    assert (item.id, item.spans, item.length) == ("1", (), len(next(iter(line.values()))))
    assert codes({"id": "1", **line}) == ["wrong_type"]


def test_fields_of_a_shape_are_looked_up_once_for_all_wrong_lines(monkeypatch):
    """That takes longer than reading a line: a file of wrong ones took four times as long."""
    looked_up = []
    fields = msgspec.structs.fields

    def counted(shape):
        looked_up.append(shape)
        return fields(shape)

    json_lines._fields.cache_clear()
    monkeypatch.setattr(msgspec.structs, "fields", counted)
    _, problems = read(*[{"id": "a", "x": 1}] * 50)
    assert sum(problems.by_code.values()) >= 50
    assert len(looked_up) == len(set(looked_up)) > 0
