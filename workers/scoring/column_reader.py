"""Prediction lines column by column, held against what is known; the unusual is for the careful reader."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.json_blocks import Irregular
from evalsvc.core.formats.jsonl_predictions import read_parts
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import BagPrediction, LabelPrediction, ScoresPrediction, SpansPrediction
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source

Ints = NDArray[np.int64]
Tick = Callable[[int], None]
FORM_OF: dict[type, str] = {
    LabelPrediction: "label",
    ScoresPrediction: "scores",
    BagPrediction: "bag",
    SpansPrediction: "spans",
}


@dataclass(frozen=True, slots=True)
class Known:
    """What a file may speak of: items by id, bags by pair, labels by name; how long items with spans are."""

    items: Mapping[str, int]
    bags: Mapping[tuple[str, str], int]
    labels: Mapping[str, int]
    lengths: Ints | None = None


class Columns(NamedTuple):
    """The item (or bag) of each line; then of each claim its item, its label, and a score or a span."""

    line: Ints
    row: Ints
    label: Ints
    score: NDArray[np.float64]
    start: Ints
    end: Ints


NONE, NO_SCORE = np.zeros(0, dtype=np.int64), np.zeros(0)


def read(
    source: Source, known: Known, *, limits: Limits = LIMITS, tick: Tick = lambda done: None
) -> tuple[str, Columns]:
    """The form of the file and its claims; raises `Irregular` where anything of it is not as it should be."""
    form, parts, lines, rows = "", [], 0, _Rows(known.items)
    for part in read_parts(source, problems=Problems(), limits=limits):
        form = FORM_OF[type(part[0])]
        parts.append(READERS[form](part, known, rows))
        tick(lines := lines + len(part))
    if not parts:
        raise Irregular
    whole = Columns(*map(np.concatenate, zip(*parts, strict=True)))
    _refuse_repeats(whole.line if form != "bag" else whole.row * len(known.labels) + whole.label)
    return form, whole


@contextmanager
def uncollected() -> Iterator[None]:
    """What is read here stays until the score: looking for rubbish among it takes half the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Rows:
    """Rows of ids. A file mostly comes in the order of the gold: then nothing has to be looked up."""

    def __init__(self, items: Mapping[str, int]) -> None:
        self.items, self.at = items, 0
        rows = np.fromiter(items.values(), np.int64, len(items))
        self.order = list(items) if np.array_equal(rows, np.arange(len(items))) else []

    def __call__(self, ids: list[str]) -> Ints:
        after = self.at + len(ids)
        if self.order[self.at : after] != ids:
            return _found(self.items, ids)
        first, self.at = self.at, after
        return np.arange(first, after, dtype=np.int64)


def _labels(part: Sequence[Any], known: Known, rows_of: _Rows) -> Columns:
    rows = rows_of([line.id for line in part])
    return Columns(rows, rows, _found(known.labels, [line.label for line in part]), NO_SCORE, NONE, NONE)


def _scores(part: Sequence[Any], known: Known, rows_of: _Rows) -> Columns:
    rows = rows_of([line.id for line in part])
    scores = [line.scores for line in part]
    lengths = np.fromiter(map(len, scores), np.int64, len(scores))
    values = np.fromiter(chain.from_iterable(map(dict.values, scores)), np.float64, int(lengths.sum()))
    names = _found(known.labels, list(chain.from_iterable(scores)))
    return Columns(rows, np.repeat(rows, lengths), names, _finite(values), NONE, NONE)


def _triples(part: Sequence[Any], known: Known, rows_of: _Rows) -> Columns:
    rows = _found(known.bags, [(one.head, one.tail) for one in part])
    values = np.array([one.score for one in part], dtype=np.float64)
    names = _found(known.labels, [one.relation for one in part])
    return Columns(rows, rows, names, _finite(values), NONE, NONE)


def _spans(part: Sequence[Any], known: Known, rows_of: _Rows) -> Columns:
    items = rows_of([line.id for line in part])
    lengths = np.fromiter((len(line.spans) for line in part), np.int64, len(part))
    spans = list(chain.from_iterable(line.spans for line in part))
    start, end = (np.array([span[at] for span in spans], dtype=np.int64) for at in (0, 1))
    rows = np.repeat(items, lengths)
    if known.lengths is None or (end > known.lengths[rows]).any():
        raise Irregular
    return Columns(items, rows, _found(known.labels, [span[2] for span in spans]), NO_SCORE, start, end)


READERS: dict[str, Callable[[Sequence[Any], Known, _Rows], Columns]] = {
    "label": _labels,
    "scores": _scores,
    "bag": _triples,
    "spans": _spans,
}


def _found(codes: Mapping[Any, int], names: list[Any]) -> Ints:
    try:
        return np.fromiter(map(codes.get, names), np.int64, len(names))
    except TypeError as error:  # None: a name that is not known
        raise Irregular from error


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(scores).all():
        raise Irregular
    return scores


def _refuse_repeats(keys: Ints) -> None:
    ranked = np.sort(keys)
    if (ranked[1:] == ranked[:-1]).any():
        raise Irregular
