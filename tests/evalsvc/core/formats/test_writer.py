"""Canonical lines, and the way out and back in."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats.conll import read_conll_items
from evalsvc.core.formats.duplicates import find_repeats
from evalsvc.core.formats.jsonl_items import read_items
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.jsonl_votes import read_votes
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    BagPrediction,
    Entity,
    ItemLine,
    LabelPrediction,
    LabelsPrediction,
    ScoresPrediction,
    SpansPrediction,
    TagsPrediction,
    VoteLine,
    payload,
)
from evalsvc.core.formats.writer import (
    canonical_line,
    write_conll,
    write_items,
    write_opennre,
    write_predictions,
    write_votes,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6)
SPANS = st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9), WORDS), max_size=4, unique=True).map(tuple)
SCORE = st.floats(allow_nan=False, allow_infinity=False)
PREDICTIONS = st.one_of(
    st.builds(LabelPrediction, WORDS, WORDS),
    st.builds(LabelsPrediction, WORDS, st.lists(WORDS).map(tuple)),
    st.builds(ScoresPrediction, WORDS, st.dictionaries(WORDS, SCORE)),
    st.builds(BagPrediction, WORDS, WORDS, WORDS, SCORE),
    st.builds(SpansPrediction, WORDS, SPANS),
    st.builds(TagsPrediction, WORDS, st.lists(WORDS).map(tuple)),
)


def back(reader, lines, **options) -> list:
    problems = Problems()
    found = [record for _, record in reader(b"".join(lines), problems=problems, **options)]
    problems.raise_if_any()
    return found


def test_the_same_content_is_the_same_bytes():
    assert canonical_line({"b": [1, 2], "a": "é"}) == canonical_line({"a": "é", "b": (1, 2)})
    assert canonical_line({"b": 0.5, "a": "é\u2028"}) == '{"a":"é\u2028","b":0.5}\n'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_never_written_as_null(number):
    with pytest.raises(ValueError, match="not finite"):
        canonical_line({"scores": [{"r": number}]})
    assert canonical_line({"nothing": None}) == b'{"nothing":null}\n'


@given(st.lists(PREDICTIONS, min_size=1))
def test_predictions_come_back_as_they_went(predictions):
    assert back(read_predictions, write_predictions(predictions)) == predictions


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
def test_relation_items_come_back_as_they_went(item):
    assert back(read_items, write_items([item])) == [item]


def test_a_mention_inside_a_token_is_written_in_code_points_of_the_text():
    item = ItemLine(
        "a", "non-Roman art", ("non-Roman", "art"), Entity(None, "Roman", 4, 9), Entity(None, "art", 10, 13)
    )
    assert back(read_items, write_items([item])) == [msgspec.structs.replace(item, tokens=None)]


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
def test_documents_come_back_as_they_went(item):
    assert back(read_items, write_items([item]), require_text=False) == [item]


def test_opennre_lines_are_one_for_each_relation_and_merge_back():
    head, tail = Entity("Q1", "a", 0, 1), Entity("Q2", "b", 2, 3)
    items = [
        ItemLine("i", "a b", None, head, tail, None, ("r", "s")),
        ItemLine("j", "a b", ("a", "b"), tail, head),
    ]
    lines = list(write_opennre(items, negative="NA"))
    assert (len(lines), b'"relation":"NA"' in lines[2], b'"token":["a","b"]' in lines[2]) == (3, True, True)
    problems = Problems()
    read = list(read_items(b"".join(lines), problems=problems))
    merged = find_repeats(read, problems=problems).merged(read)
    assert [(found.item.pair, found.item.relations) for found in merged] == [
        (("Q1", "Q2"), ("r", "s")),
        (("Q2", "Q1"), ("NA",)),
    ]


@pytest.mark.parametrize(
    "vote",
    [
        VoteLine("i", "a", payload(), True),
        VoteLine("i", "a", payload(), False),
        VoteLine("i", "a", payload(relations=("r", "s")), False),
        VoteLine("i", "a", payload(spans=((0, 2, "P"),)), False),
        VoteLine("i", "a", payload(spans=((0, 2, "P"), (3, 4, "P")), relations=((0, "r", 1),)), False),
    ],
)
def test_votes_come_back_as_they_went(vote):
    assert back(read_votes, write_votes([vote])) == [vote]


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES", "BILOU"])
def test_columns_come_back_as_they_went(scheme):
    items = [
        ItemLine("1", "a b c", ("a", "b", "c"), spans=((0, 2, "P"), (2, 3, "P"))),
        ItemLine("2", "#", ("#",), spans=()),
    ]
    assert back(read_conll_items, write_conll(items, scheme=scheme), scheme=scheme) == items


def test_columns_need_tokens():
    with pytest.raises(ValueError, match="item 1 has no tokens"):
        list(write_conll([ItemLine("1", "a")], scheme="IOB2"))
