"""Tokens of a text, and the spans that cover them."""

from __future__ import annotations

import pytest

from workers.scoring.answer_columns import TokenBounds


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Ada saw Turin.", ["Ada", "saw", "Turin", "."]),
        ("C3PO don't", ["C3PO", "don", "'", "t"]),
        ("私はTokyo", ["私", "は", "Tokyo"]),
        ("  ", []),
    ],
)
def test_a_text_without_tokens_is_split_into_words_and_punctuation(text: str, tokens: list[str]) -> None:
    bounds = TokenBounds.of(text, None)
    assert [text[start:end] for start, end in zip(bounds.starts, bounds.ends, strict=True)] == tokens


@pytest.mark.parametrize(
    ("span", "covered"), [((0, 3), [0]), ((2, 5), [0, 1]), ((3, 4), []), ((4, 14), [1, 2, 3])]
)
def test_a_span_covers_the_tokens_that_it_overlaps(span: tuple[int, int], covered: list[int]) -> None:
    assert list(TokenBounds.of("Ada saw Turin.", None).covered(*span)) == covered


def test_tokens_that_came_with_a_text_are_counted() -> None:
    assert list(TokenBounds.of("", ["Ada", "saw"]).covered(0, 2)) == [0, 1]
