"""Lines by the block: the same objects, numbers and problems as line by line."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.gold_columns import read_gold_columns
from evalsvc.core.formats.jsonl_items import read_items
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.prediction_blocks import read_uniform_predictions
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.text_lines import Irregular, Limits, read_lines

GOOD = [
    '{"id":"s1","scores":{"r":0.5}}',
    '{"id":"s2","scores":{}}',
    '{"id":"s:3","scores":{"a:b":1}}',
    '{"id" : "s4","scores":{"r":0.25}}',
]
BAD = [
    '{"id":"s5","scores":{"r":0.5,"r":0.1}}',
    '{"id":"s5","id":"s6","scores":{}}',
    '{"id":" s7","scores":{}}',
    '{"id":"s8","scores":{"r":NaN}}',
    '{"id":"s9"}',
    '{"id":"\\u0000","scores":{}}',
    '{"id":"s1","label":"r"} {"id":"s2","label":"r"}',
    "",
    "{",
]


def read(pieces: list[bytes], **limits) -> tuple[list, list, str]:
    problems = Problems()
    found = []
    try:
        found += read_predictions(iter(pieces), problems=problems, limits=Limits(**limits))
    except FileRejected:
        found.append("refused")
    places = [(problem.code, problem.line) for problem in problems.first]
    return found, places, problems.summary()


def pieces_of(lines: list[str], sizes: list[int], end: str = "\n") -> list[bytes]:
    """The lines in pieces of a few lines each, so that each piece is a block."""
    found, at = [], 0
    for size in [*sizes, len(lines)]:
        found.append("".join(line + end for line in lines[at : at + size]).encode())
        at += size
    return [piece for piece in found if piece]


GOOD_SPANS = [
    '{"id":"d1","spans":[[0,1,"PER"],[2,4,"LOC"]]}',
    '{"id":"d2","spans":[]}',
    '{"id":"d:3","spans":[[0,1,"a:b"],[0,1,"c"]]}',
]
BAD_SPANS = [
    '{"id":"d4","spans":[[0,1,"PER"],[0,1,"PER"]]}',
    '{"id":"d5","spans":[[1,1,"PER"]]}',
    '{"id":"d6","spans":[[-1,1,"PER"]]}',
    '{"id":"d7","spans":[[0,99999999999999999999,"PER"]]}',
    '{"id":"d8","spans":[[0,1,""]]}',
    '{"id":"d9","spans":[[0,1,"PER"],[2,3,"LOC"]],"relations":[[0,"r",1]]}',
    '{"id":"d10","spans":[],"spans":[]}',
]


@given(
    lines=st.lists(st.sampled_from(GOOD + BAD), min_size=1, max_size=12),
    sizes=st.lists(st.integers(1, 4), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_blocks_read_as_lines_do(lines, sizes, end):
    one_by_one = [f"{line}{end}".encode() for line in lines]
    whole = read([b"".join(one_by_one)])
    assert read(pieces_of(lines, sizes, end)) == whole


@pytest.mark.parametrize("line", GOOD_SPANS + BAD_SPANS)
def test_spans_read_by_the_block_are_those_of_the_lines(line):
    lines = [*GOOD_SPANS, line.replace('"id":"d', '"id":"e')]
    assert read(pieces_of(lines, [2, 2])) == read(["".join(f"{each}\n" for each in lines).encode()])


@pytest.mark.parametrize("line", [line for line in BAD if line])
def test_a_wrong_line_in_a_later_block_is_named_by_its_number(line):
    pieces = pieces_of([*GOOD[:2], GOOD[2], line], [2])
    assert [where for _, where in read(pieces)[1]] == [4]


LABELLED = '{"id":"s%d","label":"r"}'


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([LABELLED % 1 + LABELLED % 2, ""], [("not_json", 2)]),
        (
            [LABELLED % 1 + " " + LABELLED % 2, '{"id":"s3",', '"label":"r"}'],
            [("not_json", n) for n in (2, 3, 4)],
        ),
        (['{"id":"s1",', '"label":"r"}' + LABELLED % 2], [("not_json", 2), ("not_json", 3)]),
        (
            [LABELLED % 1 + "\r" + LABELLED % 2, '{"id":"s3"', ',"label":"r"}'],
            [("not_json", 4), ("not_json", 5)],
        ),
        ([LABELLED % 1 + "\0"], [("nul_character", 2)]),
    ],
)
def test_several_objects_in_one_line_are_reported(lines, wrong):
    pieces = pieces_of([LABELLED % 0, *lines], [1])
    assert read(pieces)[1] == wrong
    assert read([b"".join(pieces)])[1] == wrong


@pytest.mark.parametrize("name", ["", " s1", "s1\t", "\u2003s1", "s" * 201])
def test_an_invalid_id_in_a_later_block_is_reported(name):
    lines = [LABELLED % 0, LABELLED % 2, json.dumps({"id": name, "label": "r"})]
    assert read(pieces_of(lines, [1, 1]))[1] == [("wrong_type", 3)]


def test_the_last_line_needs_no_line_end():
    found, places, _ = read([b'{"id":"s1","label":"a"}\n', b'{"id":"s2","label":"b"}'])
    assert [(line, one.id) for line, one in found] == [(1, "s1"), (2, "s2")]
    assert places == []


def test_limits_apply_to_blocks():
    lines = [GOOD[0]] * 4
    assert read(pieces_of(lines, [1, 1]), max_lines=3)[1] == [("too_many_lines", 4)]
    assert read(pieces_of(lines, [1, 1]), max_line_bytes=10)[1] == [("line_too_long", 1)]
    assert read(pieces_of(lines, [1, 1]), max_bytes=70)[1] == [("too_large", None)]


@pytest.mark.parametrize("length", [40, 41, 42, 43, 44, 90])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_is_too_long_however_it_is_split(length, end):
    lines = [LABELLED % 1, '{"id":"s2","label":"' + "r" * (length - 22) + '"}', LABELLED % 3]
    data = "".join(line + end for line in lines).encode()
    whole = read([data], max_line_bytes=40)
    assert whole[1] == ([("line_too_long", 2)] if length > 42 else [])
    assert read([data[at : at + 1] for at in range(len(data))], max_line_bytes=40) == whole


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\r\n"])
def test_an_empty_file_is_rejected(data):
    assert read([data])[1] == [("empty_file", None)]


def test_lines_that_end_in_carriage_returns_are_numbered():
    lines = [b'{"id":"s%d","label":"a"}\r' % number for number in range(50)]
    found, places, _ = read([b"".join(lines)], max_line_bytes=100)
    assert ([line for line, _ in found], places) == (list(range(1, 51)), [])
    assert [number for number, _ in read_lines(b"".join(lines))] == list(range(1, 51))


def test_uniform_predictions_have_one_form():
    lines = ['{"entpair":["a","b"],"relation":"r","score":0.5}'] * 3
    parts = list(read_uniform_predictions(iter(pieces_of(lines, [1, 1])), problems=Problems()))
    assert [one.tail for part in parts for one in part] == ["b", "b", "b"]
    with pytest.raises(Irregular):
        list(read_uniform_predictions(iter(pieces_of([*lines, GOOD[0]], [3])), problems=Problems()))


def test_spans_are_read_in_blocks_unless_one_is_irregular():
    (part,) = read_uniform_predictions(
        "".join(f"{line}\n" for line in GOOD_SPANS).encode(), problems=Problems()
    )
    assert part[0].spans == ((0, 1, "PER"), (2, 4, "LOC"))
    for line in BAD_SPANS:
        with pytest.raises(Irregular):
            list(read_uniform_predictions(f"{GOOD_SPANS[0]}\n{line}".encode(), problems=Problems()))


def gold_line(**more) -> dict:
    mention = {"id": "Q1", "name": "Ada", "pos": [0, 3]}
    return {
        "id": "s1",
        "text": "Ada: a name",
        "h": mention,
        "t": {**mention, "id": "Q2"},
        "relations": [],
        **more,
    }


def test_gold_columns_are_the_labels_and_pairs_of_the_items():
    lines = [gold_line(), gold_line(id="s2", relations=["r", "q"])]
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    items = [item for _, item in read_items(data, problems=Problems())]
    (part,) = read_gold_columns(data, pairs=True, problems=Problems())
    assert part.ids == [item.id for item in items]
    assert [tuple(labels) for labels in part.labels] == [item.relations for item in items]
    assert part.pairs == [item.pair for item in items]


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(gold_line())[:-1] + ',"id":"again"}',
        json.dumps(gold_line(relations=[""])),
        json.dumps(gold_line(id="")),
        json.dumps(gold_line(note=1)),
        json.dumps(gold_line(relations=[[0, "r", 1]])),
        json.dumps(gold_line()).replace("a name", "a \0"),
        json.dumps(gold_line(text="a \0")),
        json.dumps(gold_line()) + json.dumps(gold_line(id="s2")) + "\n",
        json.dumps(gold_line()).replace('"relations"', '\n"relations"'),
    ],
)
def test_irregular_gold_raises_irregular(line):
    with pytest.raises(Irregular):
        list(read_gold_columns(line.encode(), pairs=True, problems=Problems()))


def test_gold_ignores_the_offsets_of_mentions():
    far = gold_line(t={"id": "Q2", "name": "b", "pos": [90, 91]})
    problems = Problems()
    items = [item for _, item in jsonl_items.read_gold(json.dumps(far).encode(), problems=problems)]
    assert (items[0].pair, problems.total) == (("Q1", "Q2"), 0)


def test_gold_without_ids_gets_content_ids():
    line = gold_line(relations=["r"])
    del line["id"]
    data = json.dumps(line).encode()
    (_, item), (_, careful) = (
        next(iter(reader(data, problems=Problems()))) for reader in (jsonl_items.read_gold, read_items)
    )
    assert item.id == careful.id


def test_a_key_given_twice_in_gold_is_reported():
    problems = Problems()
    list(jsonl_items.read_gold((json.dumps(gold_line())[:-1] + ',"id":"again"}').encode(), problems=problems))
    assert [problem.code for problem in problems.first] == ["duplicate_key"]
