"""Competing spans under their words: nothing of the text is lost, each span lies under its own words."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Item
from evalsvc.core.web.span_lanes import MAX_COLUMNS, MAX_LENGTH, Lane, text_with_lanes

COLOURS = {"PER": "person"}
WORD = r'<span class="w k(\d+)">(.*?)</span>'
LANE = re.compile(
    r'<span class="lane sp--(\w+)([^"]*)"><span><span class="sr"> \((.*?): </span>(.*?)</span></span></span>',
    re.DOTALL,
)


def lane(start: int, end: int, label: str = "PER", *, standing: bool = False) -> Lane:
    return Lane((start, end, label), label, "1 of 2", standing)


def drawn(item: Item, *lanes: Lane) -> str:
    return str(text_with_lanes(item, lanes, colours=COLOURS))


def words_of(html: str) -> str:
    """Return the text without lanes."""
    without = LANE.sub("", html)
    return unescape(re.sub(r"<[^>]+>", "", without))


def spans_in(length: int) -> st.SearchStrategy[list[Lane]]:
    places = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(lambda at: at[0] < at[1])
    lanes = st.builds(lambda at, label: lane(*at, label), places, st.sampled_from(["PER", "LOC"]))
    return st.lists(lanes, max_size=6, unique_by=lambda each: each.span)


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=120),
    data=st.data(),
)
def test_no_character_of_a_text_is_lost(text: str, data: Any) -> None:
    html = drawn(Item(text=text), *data.draw(spans_in(len(text))))
    assert words_of(html) == text


@given(tokens=st.lists(st.text("abé.,&<", min_size=1, max_size=5), min_size=1, max_size=12), data=st.data())
def test_no_token_is_lost(tokens: list[str], data: Any) -> None:
    html = drawn(Item(text="", tokens=tokens), *data.draw(spans_in(len(tokens))))
    assert words_of(html).split() == tokens


def test_a_lane_covers_the_columns_of_its_words() -> None:
    html = drawn(Item(text="Lucía Ferrán Torres left"), lane(0, 12), lane(6, 19, "LOC", standing=True))
    assert re.findall(WORD, html) == [("1", "Lucía "), ("2", "Ferrán"), ("3", " Torres")]
    first, second = LANE.findall(html)
    assert first[:3] == ("person", " k1 n2 lane--open", "Lucía Ferrán")
    assert second[1:3] == (" k2 n2", "Ferrán Torres")
    assert second[3].endswith('<i>1 of 2 ✓</i><span class="sr">)')


@pytest.mark.parametrize(
    "spans",
    [[(0, MAX_LENGTH + 1), (2, 3)], [(at, at + 2) for at in range(MAX_COLUMNS)]],
    ids=["long", "many cuts"],
)
def test_clusters_too_wide_for_a_grid_quote_the_words_of_each_span(spans: list[tuple[int, int]]) -> None:
    text = "abcdefghij" * 9
    html = drawn(Item(text=text), *(lane(*at) for at in spans))
    assert "lay--plain" in html
    assert "“c" in html
    assert words_of(html) == text
