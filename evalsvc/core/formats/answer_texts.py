"""Answers without offsets as they are compared: of a span its text, normalised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ARTICLE = re.compile(r"(?:the|a|an) ", re.IGNORECASE)


@dataclass(frozen=True)
class Normalisation:
    """Treatment of answers and texts before they are compared.

    Runs of white space always become one blank, and the ends are stripped.
    """

    casefold: bool = False
    strip_articles: bool = False

    def __call__(self, text: str) -> str:
        """Return the text as it is compared: of " The  Bank " bank, with both options."""
        text = " ".join(text.split())
        if self.strip_articles and (match := ARTICLE.match(text)):
            text = text[match.end() :]
        return text.casefold() if self.casefold else text


def text_of(start: int, end: int, *, text: str | None, tokens: Sequence[str] | None) -> str:
    """Return what a span of tokens, or of a text without any, covers."""
    return (text or "")[start:end] if tokens is None else " ".join(tokens[start:end])
