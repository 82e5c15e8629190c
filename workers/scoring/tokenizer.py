"""Words of gold texts: own tokens, else spaCy's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from workers.metrics.encoding import Vocabulary, encode
from workers.metrics.words import Tokens, tokens_of_lists
from workers.scoring.gold import Gold
from workers.scoring.long_words import Splitter, Token, has_long_word

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]

LANGUAGE = "xx"
TOKENIZED = "Words of WRF are those of spaCy's blank tokenizer."
MIXED = "Some documents of the gold have tokens, others text alone: no WRF of spans."
SETS_CACHED, MOST_TOKENS = 4, 500_000  # tokens of a set; all of it at most about 120 MB
_cache: dict[tuple[bytes, bool], Tokens] = {}


def words_of_gold(gold: Gold, *, casefold: bool) -> tuple[Tokens | None, str]:
    """Return the words of documents that all have some, and a note."""
    tokens = [given for given in gold.tokens if given is not None]
    if len(tokens) == len(gold):
        return tokens_of_lists(tokens, casefold=casefold), ""
    texts = [text for text in gold.texts if text is not None]
    if len(texts) < len(gold):
        return None, MIXED if tokens and texts else ""
    return words_of_texts(texts, casefold=casefold), TOKENIZED


def words_of_texts(texts: Sequence[str], *, casefold: bool) -> Tokens:
    """Tokenize texts, with a cache of the last few sets."""
    key = (hashlib.sha256(msgspec.json.encode(texts)).digest(), casefold)
    words = _cache.pop(key, None) or _words(texts, casefold=casefold)
    if len(words.document) <= MOST_TOKENS:
        _cache[key] = words  # as the last used
    for oldest in list(_cache)[:-SETS_CACHED]:
        del _cache[oldest]
    return words


def _words(texts: Sequence[str], *, casefold: bool) -> Tokens:
    rows = [(row, *token) for row, tokens in enumerate(tokenized(texts)) for token in tokens]
    words = [word.casefold() if casefold else word for _, word, _, _ in rows]
    document, start, end = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 2, 3))
    return Tokens(document, start, end, encode(words, Vocabulary()).astype(np.int64))


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """Load the tokenizer of spaCy's blank multi-language pipeline when first needed."""
    import spacy

    return spacy.blank(LANGUAGE).tokenizer


@lru_cache(maxsize=1)
def splitter() -> Splitter:
    return Splitter(tokenizer())


def tokenized(texts: Sequence[str]) -> list[list[Token]]:
    """Split each text into (token, start, end), without white space."""
    return [splitter().split(text) if has_long_word(text) else _by_spacy(text) for text in texts]


def _by_spacy(text: str) -> list[Token]:
    return [
        (token.text, token.idx, token.idx + len(token)) for token in tokenizer()(text) if not token.is_space
    ]
