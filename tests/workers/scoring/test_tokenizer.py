"""Words of texts are looked for once, and never mistaken for those of other texts."""

from __future__ import annotations

import pytest

from workers.scoring import tokenizer

TEXTS = ["Ada left New Turin.", "It rained."]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the tokenizer was asked, from an empty memory on."""
    seen: list[list[str]] = []
    real = tokenizer.tokenized
    monkeypatch.setattr(tokenizer, "_cache", {})
    monkeypatch.setattr(tokenizer, "tokenized", lambda texts: (seen.append(list(texts)), real(texts))[1])
    return seen


def test_the_words_of_the_same_texts_are_looked_for_once(asked: list[list[str]]) -> None:
    first, again = (tokenizer.words_of_texts(list(TEXTS), casefold=False) for _ in range(2))
    assert asked == [TEXTS]
    assert again is first
    assert first.document.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("other", [TEXTS[::-1], ["".join(TEXTS)], [*TEXTS, ""], ["It rained."]])
def test_other_texts_have_words_of_their_own(asked: list[list[str]], other: list[str]) -> None:
    tokenizer.words_of_texts(TEXTS, casefold=False)
    tokenizer.words_of_texts(other, casefold=False)
    assert asked == [TEXTS, other]


def test_letters_that_are_told_apart_and_not_are_two_things(asked: list[list[str]]) -> None:
    texts = ["Rain rain"]
    apart, alike = (tokenizer.words_of_texts(texts, casefold=fold).unigram.tolist() for fold in (False, True))
    assert len(set(apart)) == 2
    assert len(set(alike)) == 1


def test_only_the_last_few_are_kept_and_none_that_is_large(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(tokenizer.SETS_CACHED + 1):
        tokenizer.words_of_texts([f"number {n}"], casefold=False)
    assert len(tokenizer._cache) == tokenizer.SETS_CACHED
    tokenizer.words_of_texts(["number 1"], casefold=False)  # still there
    assert len(asked) == tokenizer.SETS_CACHED + 1
    monkeypatch.setattr(tokenizer, "MOST_TOKENS", 1)
    tokenizer.words_of_texts(["two words"], casefold=False)
    assert len(tokenizer._cache) == tokenizer.SETS_CACHED
