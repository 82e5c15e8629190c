"""Tokens of texts that came without: spaCy's blank tokenizer, offsets in code points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]

LANGUAGE = "xx"


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """The tokenizer of spaCy's blank multi-language pipeline, loaded when first needed."""
    import spacy

    return spacy.blank(LANGUAGE).tokenizer


def tokenized(texts: Sequence[str]) -> list[list[tuple[str, int, int]]]:
    """Each text as (token, start, end); white space is no token."""
    return [
        [(token.text, token.idx, token.idx + len(token)) for token in doc if not token.is_space]
        for doc in tokenizer().pipe(texts)
    ]
