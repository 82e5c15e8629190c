"""Words of texts are looked for once, and never mistaken for those of other texts."""

from __future__ import annotations

import pytest

from workers.scoring import arrays, tokenizer

TEXTS = ["Ada left New Turin.", "It rained."]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the tokenizer was asked, from an empty memory on."""
    seen: list[list[str]] = []
    real = tokenizer.tokenized
    monkeypatch.setattr(arrays, "_kept", {})
    monkeypatch.setattr(tokenizer, "tokenized", lambda texts: (seen.append(list(texts)), real(texts))[1])
    return seen


def test_the_words_of_the_same_texts_are_looked_for_once(asked: list[list[str]]) -> None:
    first, again = (arrays.words_of_texts(list(TEXTS), casefold=False) for _ in range(2))
    assert asked == [TEXTS]
    assert again is first
    assert first.document.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("other", [TEXTS[::-1], ["".join(TEXTS)], [*TEXTS, ""], ["It rained."]])
def test_other_texts_have_words_of_their_own(asked: list[list[str]], other: list[str]) -> None:
    arrays.words_of_texts(TEXTS, casefold=False)
    arrays.words_of_texts(other, casefold=False)
    assert asked == [TEXTS, other]


def test_letters_that_are_told_apart_and_not_are_two_things(asked: list[list[str]]) -> None:
    texts = ["Rain rain"]
    apart, alike = (arrays.words_of_texts(texts, casefold=fold).unigram.tolist() for fold in (False, True))
    assert len(set(apart)) == 2
    assert len(set(alike)) == 1


def test_only_the_last_few_are_kept_and_none_that_is_large(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(arrays.SETS_KEPT + 1):
        arrays.words_of_texts([f"number {n}"], casefold=False)
    assert len(arrays._kept) == arrays.SETS_KEPT
    arrays.words_of_texts(["number 1"], casefold=False)  # still there
    assert len(asked) == arrays.SETS_KEPT + 1
    monkeypatch.setattr(arrays, "MOST_KEPT", 1)
    arrays.words_of_texts(["two words"], casefold=False)
    assert len(arrays._kept) == arrays.SETS_KEPT
