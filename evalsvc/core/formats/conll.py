"""CoNLL columns: a token and its tag a line, a blank line after each sentence.

Columns are separated by tabs, or by spaces where the line has no tab. The first column is the token, the last
the tag unless another is named (`column=-2` reads the gold of token, gold, predicted). Sentences are numbered
from 1, and the number is the id; lines that begin with -DOCSTART- are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, TagsPrediction
from evalsvc.core.formats.tag_schemes import Repair, Scheme, expected_tags, first_bad_tag, tags_to_spans
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines


class Sentence(msgspec.Struct, frozen=True):
    """Tokens with their tags; `line` is the first one's."""

    id: str
    line: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...]


def read_sentences(
    source: Source, *, scheme: Scheme, problems: Problems, column: int = -1, limits: Limits = LIMITS
) -> Iterator[Sentence]:
    """Yield sentences whose tags all belong to the scheme; report the others."""
    rows: list[tuple[str, str]] = []
    first = number = 0
    for row in _rows(source, column, problems, limits):
        if row is not None:
            line, token, tag = row
            first = first if rows else line
            rows.append((token, tag))
        elif rows:
            number += 1
            sentence = _sentence(rows, number, first, scheme, problems)
            rows = []
            if sentence is not None:
                yield sentence


def _rows(
    source: Source, column: int, problems: Problems, limits: Limits
) -> Iterator[tuple[int, str, str] | None]:
    """Rows of token and tag, None where a sentence ends; a broken row is reported and leaves a hole."""
    width = 0
    for line, text in read_lines(source, problems=problems, limits=limits):
        if not text.strip(" \t"):
            yield None
        elif not text.startswith("-DOCSTART-"):
            fields = text.split("\t") if "\t" in text else text.split(" ")
            fields = fields if "\t" in text else [field for field in fields if field]
            width = width or max(len(fields), 2, -column, column + 1)
            if len(fields) != width or not fields[0].strip():
                expected = f"{width} columns, the token first, the tag last"
                problems.add("wrong_columns", line=line, found=text, expected=expected)
                continue
            yield line, fields[0], fields[column].strip()
    yield None


def _sentence(
    rows: list[tuple[str, str]], number: int, first: int, scheme: Scheme, problems: Problems
) -> Sentence | None:
    tokens, tags = zip(*rows, strict=True)
    at = first_bad_tag(tags, scheme)
    if at is not None:
        expected = f"{expected_tags(scheme)} ({scheme})"
        problems.add("bad_tag", line=first + at, field="tag", found=tags[at], expected=expected)
        return None
    return Sentence(str(number), first, tokens, tags)


def read_conll_items(
    source: Source,
    *,
    scheme: Scheme,
    problems: Problems,
    repair: Repair = "conlleval",
    column: int = -1,
    limits: Limits = LIMITS,
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with spans in tokens; the text is the tokens joined by single spaces."""
    for found in read_sentences(source, scheme=scheme, problems=problems, column=column, limits=limits):
        spans = tuple(tags_to_spans(found.tags, scheme, repair=repair))
        yield found.line, ItemLine(found.id, " ".join(found.tokens), found.tokens, spans=spans)


def read_conll_predictions(
    source: Source, *, scheme: Scheme, problems: Problems, column: int = -1, limits: Limits = LIMITS
) -> Iterator[tuple[int, TagsPrediction]]:
    """Yield (line, tags) with the tokens, so that they can be held against the text's."""
    for found in read_sentences(source, scheme=scheme, problems=problems, column=column, limits=limits):
        yield found.line, TagsPrediction(found.id, found.tags, found.tokens)
