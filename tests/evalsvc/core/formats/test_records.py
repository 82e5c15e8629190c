"""Canonical lines, and items written and read again."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats.jsonl_items import read_items
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, canonical_line, item_object

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6)


def written_and_read(item: ItemLine, **options) -> ItemLine:
    problems = Problems()
    lines = list(read_items(canonical_line(item_object(item)), problems=problems, **options))
    problems.raise_if_any()
    return lines[0][1]


def test_the_same_content_gives_the_same_bytes():
    assert canonical_line({"b": [1, 2], "a": "é"}) == canonical_line({"a": "é", "b": (1, 2)})
    assert canonical_line({"b": 0.5, "a": "é\u2028"}) == '{"a":"é\u2028","b":0.5}\n'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_never_written_as_null(number):
    with pytest.raises(ValueError, match="not finite"):
        canonical_line({"scores": [{"r": number}]})
    assert canonical_line({"nothing": None}) == b'{"nothing":null}\n'


@st.composite
def relation_items(draw) -> ItemLine:
    words = draw(st.lists(WORDS, min_size=2, max_size=6))
    text, tokens = " ".join(words), tuple(words) if draw(st.booleans()) else None
    mentions = []
    for at in (0, len(words) - 1):
        start = len(" ".join(words[:at])) + (at > 0)
        mentions.append(Entity(draw(st.none() | WORDS), words[at], start, start + len(words[at])))
    relations = draw(st.none() | st.lists(WORDS, unique=True).map(tuple))
    return ItemLine(draw(WORDS), text, tokens, *mentions, None, relations)


@given(relation_items())
def test_a_relation_item_is_unchanged_after_writing_and_reading(item):
    assert written_and_read(item) == item


def test_a_mention_inside_a_token_is_written_in_code_points_of_the_text():
    item = ItemLine(
        "a", "non-Roman art", ("non-Roman", "art"), Entity(None, "Roman", 4, 9), Entity(None, "art", 10, 13)
    )
    assert written_and_read(item) == msgspec.structs.replace(item, tokens=None)


@pytest.mark.parametrize(
    "item",
    [
        ItemLine("d", "ab cd", None, spans=((0, 2, "P"), (3, 5, "Q")), relations=((0, "r", 1),)),
        ItemLine("d", "ab cd", ("ab", "cd"), spans=((0, 2, "P"),)),
        ItemLine("d", "ab cd", spans=()),
        ItemLine("d", None, relations=("Other",)),
        ItemLine("d", "ab", relations=()),
    ],
)
def test_a_document_is_unchanged_after_writing_and_reading(item):
    assert written_and_read(item, require_text=False) == item
