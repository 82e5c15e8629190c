"""Marks in a text: offsets are code points or tokens, and nothing is lost or moved by drawing them."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Item
from annotation.ontology.inventory import Choice
from annotation.pages.labelling import columns
from evalsvc.core.web import text_highlighting


def text_of(html: str) -> str:
    """Return the text without its marks."""
    html = re.sub(r'<span class="(role|sr)">.*?</span>', "", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", "", html))


def pair(text: str, head: tuple[int, int], tail: tuple[int, int]) -> str:
    ends = [{"name": "", "start": start, "end": end} for start, end in (head, tail)]
    return str(text_highlighting.mark_pair(Item(text=text, head=ends[0], tail=ends[1])))


def marked(html: str, role: str) -> str:
    found = re.findall(rf'<mark class="ent ent--{role}">(.*?)</mark>', html, flags=re.DOTALL)
    return text_of("".join(found))


@pytest.mark.parametrize(
    ("text", "head", "tail", "names"),
    [
        ("Ada lived in Turin.", (0, 3), (13, 18), ("Ada", "Turin")),
        ("👩‍🚀 Ada saw 🗼 Turin", (4, 7), (14, 19), ("Ada", "Turin")),
        ("e\u0301va e\u0301 Bo\u0301", (0, 4), (8, 11), ("e\u0301va", "Bo\u0301")),
        ("עדה גרה בטורינו", (0, 3), (9, 15), ("עדה", "טורינו")),
        ("艾达住在都灵。", (0, 2), (4, 6), ("艾达", "都灵")),
        ("<b>Ada</b> & Turin", (3, 6), (13, 18), ("Ada", "Turin")),
    ],
)
def test_marks_are_placed_by_code_points(
    text: str, head: tuple[int, int], tail: tuple[int, int], names: tuple[str, str]
) -> None:
    html = pair(text, head, tail)
    assert (marked(html, "head"), marked(html, "tail")) == names
    assert text_of(html) == text


def test_a_nested_entity_is_marked_as_both() -> None:
    html = pair("Turin University", (0, 16), (0, 5))
    assert text_of(html) == "Turin University"
    assert html.count("ent--tail") == 1
    assert html.count('<span class="role">head</span>') == 1


@given(st.text(min_size=1, max_size=60), st.data())
def test_no_character_is_lost_or_added(text: str, data: st.DataObject) -> None:
    places = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda x: x[0] < x[1])
    html = pair(text, data.draw(places), data.draw(places))
    without_marks = re.sub(
        r'<span class="sr">, </span><span class="role">(head|tail)</span>|</?mark[^>]*>', "", html
    )
    shown, stored = unescape(without_marks), unescape(str(text_highlighting.format_html("{}", text)))
    assert shown.replace("\r", "").replace("_", " ") == stored.replace("\r", "").replace("_", " ")


@pytest.mark.parametrize("sizes", [[24], [5, 4, 5, 3, 7], [1, 1, 3, 3, 1], [1], [53], [20, 1]])
def test_relations_are_arranged_in_three_columns_in_order(sizes: list[int]) -> None:
    choices = [
        Choice(f"r{group}.{at}", "x", group=f"group {group}")
        for group, n in enumerate(sizes)
        for at in range(n)
    ]
    found = columns(choices)
    assert [choice for column in found for group in column for choice in group.choices] == choices
    heights = [sum(len(group.choices) for group in column) for column in found]
    assert len(found) <= 3
    assert max(heights) <= max(4, -(-sum(sizes) // 3) + 4)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("-lrb- a_b -RRB- x-lrb", "( a_b ) x-lrb"),
        ("-lsb- -lcb- -rcb- -rsb-", "[ { } ]"),
        ("_a __b_", "_a __b_"),
    ],
)
def test_brackets_of_corpora_are_shown_as_signs(raw: str, shown: str) -> None:
    assert text_highlighting.readable(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("New_York", "New York"), ("J._S._Bach", "J. S. Bach"), ("_x_", "_x_"), ("a__b", "a  b")],
)
def test_underscores_in_names_are_shown_as_spaces(raw: str, shown: str) -> None:
    assert text_highlighting.readable(raw, name=True) == shown
