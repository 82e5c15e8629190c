"""Regular prediction lines read by columns."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.jsonl_predictions import read_uniform_predictions
from evalsvc.core.formats.prediction_check import FORM_OF, PredictionCheck
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.text_lines import LIMITS, Irregular, Limits, Source
from workers.metrics.counts import Ints

Tick = Callable[[int], None]
Floats = NDArray[np.float64]
NONE, NO_SCORE = np.zeros(0, dtype=np.int64), np.zeros(0)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause garbage collection, which takes half the time of reading."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Columns(NamedTuple):
    """Item of each line (none for pairs), and columns of the claims."""

    lines: Ints
    owner: Ints
    label: Ints
    score: Floats
    start: Ints
    end: Ints


def read_columns(
    source: Source, check: PredictionCheck, *, limits: Limits = LIMITS, tick: Tick = lambda done: None
) -> Columns | None:
    """Read regular lines that pass the check, or return None for the line reader.

    The owners of claims are positions in the ids of the check, or in its pairs.
    """
    codes = _Codes(check)
    parts, done = [], 0
    try:
        for part in read_uniform_predictions(source, problems=Problems(), limits=limits):
            check.form = FORM_OF[type(part[0])]
            parts.append(READERS[check.form](part, codes))
            tick(done := done + len(part))
        if check.form not in check.forms:
            return None
        columns = Columns(*map(np.concatenate, zip(*parts, strict=True)))
        is_bag = check.form == "bag"
        _reject_repeats(columns.owner * len(codes.labels) + columns.label if is_bag else columns.lines)
    except (Irregular, FileRejected):
        return None
    if not (check.may_lack_lines or len(columns.lines) == len(check.ids)):
        return None
    if check.form in ("scores", "bag") and check.negative is not None:
        kept = columns.label != codes.labels[check.negative]
        columns = columns._replace(
            owner=columns.owner[kept], label=columns.label[kept], score=columns.score[kept]
        )
    return columns


class _Codes:
    """Rows of ids and pairs, and codes of labels.

    A file mostly comes in the order of the gold: then no id has to be looked up.
    """

    def __init__(self, check: PredictionCheck) -> None:
        self.check, self.labels, self.at = check, check.codes, 0
        self.order = list(check.ids)

    @cached_property
    def items(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.order)}

    @cached_property
    def pairs(self) -> dict[tuple[str, str], int]:
        return {pair: row for row, pair in enumerate(self.check.pairs or ())}

    def rows(self, ids: list[str]) -> Ints:
        after = self.at + len(ids)
        if self.order[self.at : after] != ids:
            return _lookup(self.items, ids)
        first, self.at = self.at, after
        return np.arange(first, after, dtype=np.int64)

    def fits(self, rows: Ints, end: Ints) -> bool:
        """Tell whether no span ends behind its document."""
        lengths, names = self.check.lengths or {}, map(self.order.__getitem__, rows.tolist())
        longest = np.fromiter((lengths.get(name, -1) for name in names), np.int64, len(rows))
        return bool((end <= longest).all())


def _labels(part: Sequence[Any], codes: _Codes) -> Columns:
    rows = codes.rows([line.id for line in part])
    return Columns(rows, rows, _lookup(codes.labels, [line.label for line in part]), NO_SCORE, NONE, NONE)


def _scores(part: Sequence[Any], codes: _Codes) -> Columns:
    rows = codes.rows([line.id for line in part])
    scores = [line.scores for line in part]
    lengths = np.fromiter(map(len, scores), np.int64, len(scores))
    values = np.fromiter(chain.from_iterable(map(dict.values, scores)), np.float64, int(lengths.sum()))
    names = _lookup(codes.labels, list(chain.from_iterable(scores)))
    return Columns(rows, np.repeat(rows, lengths), names, _finite(values), NONE, NONE)


def _triples(part: Sequence[Any], codes: _Codes) -> Columns:
    rows = _lookup(codes.pairs, [(triple.head, triple.tail) for triple in part])
    values = np.array([triple.score for triple in part], dtype=np.float64)
    return Columns(
        NONE, rows, _lookup(codes.labels, [triple.relation for triple in part]), _finite(values), NONE, NONE
    )


def _spans(part: Sequence[Any], codes: _Codes) -> Columns:
    items = codes.rows([line.id for line in part])
    lengths = np.fromiter((len(line.spans) for line in part), np.int64, len(part))
    spans = list(chain.from_iterable(line.spans for line in part))
    start, end = (np.array([span[at] for span in spans], dtype=np.int64) for at in (0, 1))
    rows = np.repeat(items, lengths)
    if not codes.fits(rows, end):
        raise Irregular
    return Columns(items, rows, _lookup(codes.labels, [span[2] for span in spans]), NO_SCORE, start, end)


READERS: dict[str, Callable[[Sequence[Any], _Codes], Columns]] = {
    "label": _labels,
    "scores": _scores,
    "bag": _triples,
    "spans": _spans,
}


def _lookup(codes: Mapping[Any, int], names: list[Any]) -> Ints:
    try:
        return np.fromiter(map(codes.get, names), np.int64, len(names))
    except TypeError as error:  # None: a name that is not expected
        raise Irregular from error


def _finite(scores: Floats) -> Floats:
    if not np.isfinite(scores).all():
        raise Irregular
    return scores


def _reject_repeats(keys: Ints) -> None:
    ranked = np.sort(keys)
    if (ranked[1:] == ranked[:-1]).any():
        raise Irregular
