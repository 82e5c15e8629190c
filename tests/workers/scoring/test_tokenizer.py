"""Words of texts as those of spaCy, and their cache."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import spacy

from workers.scoring import long_words, tokenizer

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


PARTS = [
    *"aZ9.,;:!?'\"()[]{}<>-–—+*/\\@#$€%&=~^_|`°§…€ \n\t\u00a0\u3000。《中ä🙂",
    *(
        "...",
        "  ",
        "http://",
        "www.",
        "a.com",
        "x.org/",
        "km",
        "°C.",
        "'s",
        "US$",
        "10",
        "a@b.de",
        ":80",
        "AB.",
    ),
    *("127.0.0.1", "//", "C++", ":'(", ":))", "(*_*)", "8-)", ")-:", "mailto:"),
]


def test_texts_with_long_words_have_the_words_of_spacy() -> None:
    by_spacy, draw = spacy.blank(tokenizer.LANGUAGE).tokenizer, Random(7)
    splitter = long_words.Splitter(by_spacy)
    for _ in range(120):
        few = draw.sample(PARTS, draw.choice([2, 4, 12, len(PARTS)]))
        text = "".join(draw.choice(few) for _ in range(draw.choice([5, 40, 160])))
        words = [(token.text, token.idx, token.idx + len(token)) for token in by_spacy(text)]
        assert splitter.split(text) == [word for word in words if not word[0].isspace()], text


@pytest.mark.parametrize("mark", ["*", "[", "$", ":)", "'s", "a:", "a@", ".", "http://"])
def test_the_work_on_a_word_grows_with_its_length_alone(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0

    def counting(search: Any) -> Any:
        def counted(text: str) -> Any:
            nonlocal seen
            seen += len(text)
            return search(text)

        return counted

    counted = spacy.blank(tokenizer.LANGUAGE).tokenizer
    for name in ("prefix_search", "suffix_search", "url_match", "infix_finditer"):
        setattr(counted, name, counting(getattr(counted, name)))
    monkeypatch.setattr(tokenizer, "tokenizer", lambda: counted)
    monkeypatch.setattr(tokenizer, "splitter", lambda: long_words.Splitter(counted))
    word = (mark * 3_000)[:3_000]
    tokens = tokenizer.tokenized([word])[0]
    assert "".join(text for text, _, _ in tokens) == word
    assert seen < 100 * len(word)
