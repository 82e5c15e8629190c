"""Figures are written one way everywhere."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evalsvc.core.web import formatting
from evalsvc.core.web.templatetags.formatting import path_breaks


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(69.44, 1, "69.4"), (-3.52, 1, "−3.5"), (1204, 0, "1,204"), (-0.01, 1, "0.0"), (-1234.5, 1, "−1,234.5")],
)
def test_a_number_has_a_true_minus_and_grouped_thousands(value: float, digits: int, text: str) -> None:
    assert formatting.number(value, digits=digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (73.25, "73.3"),
        (73.35, "73.4"),
        (100 * 0.57885, "57.9"),
        (-1.25, "−1.3"),
        (73.24999, "73.2"),
        (1e300, None),
    ],
)
def test_a_number_is_rounded_half_up(value: float, text: str | None) -> None:
    assert formatting.number(value) == (text or f"{value:,.1f}")


def test_a_difference_shows_its_sign_unless_it_rounds_to_nothing() -> None:
    assert [formatting.signed(value) for value in (1.44, -3.2, 0.04)] == ["+1.4", "−3.2", "0.0"]


def test_a_share_of_nothing_is_a_dash() -> None:
    assert formatting.share(35, 100) == "35 %"
    assert formatting.share(0, 0) == "–"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1, "1 byte"),
        (999, "999 bytes"),
        (66_600, "66.6 kB"),
        (200_000_000, "200 MB"),
        (2_000_000_000, "2 GB"),
    ],
)
def test_a_size_is_shown_in_a_readable_unit(size: int, text: str) -> None:
    assert formatting.byte_size(size) == text


def test_words_are_listed_with_and_before_the_last() -> None:
    assert [formatting.listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_another_year_is_named() -> None:
    assert formatting.day(datetime(2019, 11, 4, tzinfo=UTC)) == "4 Nov 2019"


def test_a_line_may_end_behind_each_slash_of_a_name() -> None:
    assert path_breaks("/people/<b>") == "/<wbr>people/<wbr>&lt;b&gt;"
