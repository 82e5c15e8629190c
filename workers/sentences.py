"""Plain text, split into sentences by spaCy's rules; no language is assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import compile_infix_regex

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

LONGEST = 100_000  # characters of a paragraph
LONGEST_WORD = 1_000  # longer ones are split at marks inside them alone


def read(
    source: Source, *, problems: Problems, name: str = "document", limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line where its paragraph begins, item); items are numbered within the file."""
    nlp = _splitter()
    number = 0
    for line, paragraph in _paragraphs(source, problems, limits):
        if len(paragraph) > LONGEST:
            value, expected = (
                f"{len(paragraph):,} characters",
                f"paragraphs of at most {LONGEST:,} characters",
            )
            problems.add("line_too_long", line=line, value=value, expected=expected)
            continue
        for sentence in nlp(paragraph).sents:
            text = sentence.text.strip()
            if text:
                number += 1
                yield line, ItemLine(f"{name}-{number}", text)


def _splitter() -> Language:
    """Return spaCy's sentencizer, with marks that no blank follows as tokens of their own."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    infixes = compile_infix_regex([*(nlp.Defaults.infixes or ()), r"[。｡！？]"])
    tokenizer: Any = nlp.tokenizer
    tokenizer.infix_finditer = infixes.finditer
    for name in ("prefix_search", "suffix_search", "url_match"):  # each takes quadratic time
        setattr(tokenizer, name, _unless_long(getattr(tokenizer, name)))
    return nlp


def _unless_long(search: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda word: None if len(word) > LONGEST_WORD else search(word)


def _paragraphs(source: Source, problems: Problems, limits: Limits) -> Iterator[tuple[int, str]]:
    """Yield (first line, text) of what stands between blank lines; its line ends become spaces."""
    lines: list[str] = []
    first = 1
    for line, text in read_lines(source, problems=problems, limits=limits):
        if text.strip():
            first = first if lines else line
            lines.append(text.strip())
        elif lines:
            yield first, " ".join(lines)
            lines = []
    if lines:
        yield first, " ".join(lines)
