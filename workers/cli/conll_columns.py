"""CoNLL files scored by columns, without a Python object for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.conll import read_regular_columns
from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import REPAIR_CODES, Scheme, breaks_scheme, first_bad_tag
from evalsvc.core.formats.text_lines import Irregular, read_lines
from workers.cli.arguments import Options
from workers.metrics import suites
from workers.metrics.counts import Ints
from workers.metrics.encoding import Vocabulary, distinct, encode, expand
from workers.metrics.report import Report
from workers.metrics.spans import Spans
from workers.metrics.tags import spans_of_tag_codes
from workers.metrics.words import Tokens

Codes = NDArray[np.int32]


class TokenColumns(NamedTuple):
    """A file as codes: words, tag columns and sentence lengths."""

    words: Codes
    tags: list[Codes]
    lengths: Ints


def score(gold: Path, predictions: Path, options: Options, *, gold_column: int) -> Report | None:
    """Score two regular files, or return None for the line reader."""
    strict = options.repair == "strict-iob2" and options.scheme != "IOB2"
    if options.scheme is None or options.negative is not None or strict:
        return None
    try:
        return _score(gold, predictions, options, options.scheme, gold_column)
    except (Irregular, FileRejected):
        return None


def _score(
    gold: Path, predictions: Path, options: Options, scheme: Scheme, gold_column: int
) -> Report | None:
    words, tags, labels = Vocabulary(), Vocabulary(), Vocabulary()
    if gold.samefile(predictions):
        # one file's words agree with themselves: only WRF reads them
        columns = _read(gold, (gold_column, options.column), words if "wrf" in options.family else None, tags)
        codes = columns.tags
    else:
        columns = _read(gold, (gold_column,), words, tags)
        other = _read(predictions, (options.column,), words, tags)
        if not (
            np.array_equal(columns.words, other.words) and np.array_equal(columns.lengths, other.lengths)
        ):
            return None
        codes = [*columns.tags, *other.tags]
    names = [str(name) for name in tags]
    if first_bad_tag(names, scheme) is not None or any(name != name.strip() for name in names):
        return None
    counts, decoded = dict[str, float](), []
    for side, tags_of_side in zip(("gold", "predictions"), codes, strict=True):
        spans, broken = _decoded(tags_of_side, columns.lengths, names, labels, options, scheme)
        decoded.append(spans)
        if broken:
            counts[f"{side}_{REPAIR_CODES[options.repair]}"] = broken
    truth, predicted = decoded
    if counts.get("gold_dropped_tag", 0) > len(truth):
        return None
    inventory = _inventory(truth, labels, options)
    sides = [_recoded(side, labels, inventory) for side in (truth, predicted)]
    if any((side.label < 0).any() for side in sides):
        return None
    report = suites.entities_suite(
        *sides,
        labels=inventory,
        tokens=_tokens(columns, words, options),
        beta=options.beta,
        families=options.family,
    )
    return replace(report, counts=report.counts | counts)


def _decoded(
    codes: Codes, lengths: Ints, names: list[str], labels: Vocabulary, options: Options, scheme: Scheme
) -> tuple[Spans, int]:
    """Return the spans of a tag column, counting the broken ones."""
    spans = spans_of_tag_codes(codes, lengths, tags=names, labels=labels, scheme=scheme.lower())
    offsets = np.concatenate(([0], np.cumsum(lengths)))[spans.document]
    first, last = codes[offsets + spans.start].astype(np.int64), codes[offsets + spans.end - 1]
    ends = first * len(names) + last
    kinds = distinct(ends)
    pairs = [(names[kind // len(names)], names[kind % len(names)]) for kind in kinds.tolist()]
    is_broken = [breaks_scheme(*pair, scheme, options.repair) for pair in pairs]
    broken = np.array(is_broken, dtype=bool)[np.searchsorted(kinds, ends)]
    if options.repair != "conlleval":
        spans = spans.select(~broken)
    return spans, int(np.count_nonzero(broken))


def _read(path: Path, columns: Sequence[int], words: Vocabulary | None, tags: Vocabulary) -> TokenColumns:
    wanted = columns if words is None else (0, *columns)
    parts: list[list[Codes]] = [[np.zeros(0, dtype=np.int32)] for _ in wanted]
    lengths: list[int] = []
    for stretch in read_regular_columns(path, wanted, problems=Problems()):
        for at, column in enumerate(stretch.columns):
            parts[at].append(encode(column, words if words is not None and at == 0 else tags))
        lengths += stretch.lengths
    whole = [np.concatenate(part) for part in parts]
    if words is not None and not all(str(word).strip() for word in words):
        raise Irregular
    first = 0 if words is None else 1
    seen = whole[0] if first else np.zeros(0, dtype=np.int32)
    return TokenColumns(seen, whole[first:], np.array(lengths, dtype=np.int64))


def _inventory(truth: Spans, labels: Vocabulary, options: Options) -> list[str]:
    """Return the labels of the file, else those of the gold."""
    if options.labels is not None:
        names = read_labels(options.labels, problems=(problems := Problems()))
        problems.raise_if_any()
        return names
    return sorted(str(labels.names[code]) for code in np.flatnonzero(np.bincount(truth.label)))


def _recoded(spans: Spans, labels: Vocabulary, inventory: list[str]) -> Spans:
    """Turn label codes into inventory codes, −1 for a label outside."""
    place = {name: at for at, name in enumerate(inventory)}
    new = np.array([place.get(str(name), -1) for name in labels], dtype=np.int64)
    return replace(spans, label=new[spans.label])


def _tokens(columns: TokenColumns, words: Vocabulary, options: Options) -> Tokens:
    if "wrf" not in options.family:
        none = np.zeros(0, dtype=np.int64)
        return Tokens(none, none, none, none)
    owner, position = expand(np.zeros_like(columns.lengths), columns.lengths)
    unigram = columns.words.astype(np.int64)
    if options.casefold:
        unigram = encode([str(word).casefold() for word in words], Vocabulary()).astype(np.int64)[unigram]
    return Tokens(owner, position, position + 1, unigram)


def width(path: Path) -> int:
    """Return the number of columns of the first row."""
    try:
        rows = (text for _, text in read_lines(path) if text.strip() and not text.startswith("-DOCSTART-"))
        return len(next(rows, "").split())
    except FileRejected:
        return 0
