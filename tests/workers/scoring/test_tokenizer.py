"""The cache of tokenized texts."""

from __future__ import annotations

import pytest

from workers.scoring import tokenizer

TEXTS = ["Ada left New Turin.", "It rained."]


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts that were tokenized, from an empty cache on."""
    calls: list[list[str]] = []
    real = tokenizer.tokenized
    monkeypatch.setattr(tokenizer, "_cache", {})
    monkeypatch.setattr(tokenizer, "tokenized", lambda texts: (calls.append(list(texts)), real(texts))[1])
    return calls


def test_equal_texts_are_tokenized_once(tokenized: list[list[str]]) -> None:
    first, again = (tokenizer.words_of_texts(list(TEXTS), casefold=False) for _ in range(2))
    assert tokenized == [TEXTS]
    assert again is first
    assert first.document.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("other", [TEXTS[::-1], ["".join(TEXTS)], [*TEXTS, ""], ["It rained."]])
def test_other_texts_have_words_of_their_own(tokenized: list[list[str]], other: list[str]) -> None:
    tokenizer.words_of_texts(TEXTS, casefold=False)
    tokenizer.words_of_texts(other, casefold=False)
    assert tokenized == [TEXTS, other]


def test_casefolded_words_are_cached_apart(tokenized: list[list[str]]) -> None:
    texts = ["Rain rain"]
    apart, alike = (tokenizer.words_of_texts(texts, casefold=fold).unigram.tolist() for fold in (False, True))
    assert len(set(apart)) == 2
    assert len(set(alike)) == 1


def test_only_the_last_few_small_sets_are_cached(
    tokenized: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(tokenizer.SETS_CACHED + 1):
        tokenizer.words_of_texts([f"number {n}"], casefold=False)
    assert len(tokenizer._cache) == tokenizer.SETS_CACHED
    tokenizer.words_of_texts(["number 1"], casefold=False)  # still there
    assert len(tokenized) == tokenizer.SETS_CACHED + 1
    monkeypatch.setattr(tokenizer, "MOST_TOKENS", 1)
    tokenizer.words_of_texts(["two words"], casefold=False)
    assert len(tokenizer._cache) == tokenizer.SETS_CACHED
