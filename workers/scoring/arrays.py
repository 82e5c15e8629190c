"""What the service and the command line lay out alike for the measures: single labels, spans, words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from workers.metrics import suites
from workers.metrics.counts import Ints
from workers.metrics.encoding import Vocabulary, encode
from workers.metrics.report import Report
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.wrf import Tokens

TOKENIZER = "Words of WRF are those of spaCy's blank tokenizer."
SETS_KEPT, MOST_KEPT = 4, 500_000  # tokens of a set; all of it at most about 120 MB
_kept: dict[tuple[bytes, bool], Tokens] = {}


def single_labels(truth: Ints, given: Ints, **told: Any) -> Report:
    """Every figure of one label an item; a scorer of directed relations is silent where none is directed."""
    found = suites.classification_suite(truth, given, **told)
    if "semeval2010" in found.classes:
        return found
    kept = {key: value for key, value in found.values.items() if not key.startswith("semeval2010")}
    return replace(found, values=kept)


def spans_of_rows(rows: Sequence[Sequence[tuple[int, int, str]]], code: Mapping[str, int]) -> Spans:
    """The spans of each document, their labels as codes."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    whole = [span for spans in rows for span in spans]
    start, end = (np.array([span[at] for span in whole], dtype=np.int64) for at in (0, 1))
    label = np.array([code[span[2]] for span in whole], dtype=np.int64)
    document = np.repeat(np.arange(len(rows)), lengths)
    return spans_of_columns(document, start, end, label, n_documents=len(rows))


def words_of_texts(texts: Sequence[str], *, casefold: bool) -> Tokens:
    """The words of texts that came without tokens; those of the last few sets are kept by their digest."""
    key = (hashlib.sha256(msgspec.json.encode(texts)).digest(), casefold)
    found = _kept.pop(key, None) or _words(texts, casefold=casefold)
    if len(found.document) <= MOST_KEPT:
        _kept[key] = found  # as the last used
    for oldest in list(_kept)[:-SETS_KEPT]:
        del _kept[oldest]
    return found


def _words(texts: Sequence[str], *, casefold: bool) -> Tokens:
    from workers.scoring.tokenizer import tokenized  # what has tokens needs no spaCy

    rows = [(row, *token) for row, tokens in enumerate(tokenized(texts)) for token in tokens]
    words = [word.casefold() if casefold else word for _, word, _, _ in rows]
    document, start, end = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 2, 3))
    return Tokens(document, start, end, encode(words, Vocabulary()).astype(np.int64))
