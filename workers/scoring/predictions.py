"""Predictions as columns, placed on the rows of a gold."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats import jsonl_predictions
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import BagPrediction, Link, PredictionLine
from evalsvc.core.formats.registry import formats, open_predictions, share_a_reader
from evalsvc.core.formats.text_lines import LIMITS, Limits
from workers.metrics.counts import Ints
from workers.scoring.column_reader import NO_SCORE, NONE, Floats, Tick, read_columns

STEP = 2_000


class Placed(NamedTuple):
    """Claims by rows of one gold, with missing and left-out counts."""

    row: Ints
    label: Ints
    score: Floats
    start: Ints
    end: Ints
    links: dict[int, tuple[Link, ...]]
    missing: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Predictions:
    """Claims as columns; `owner` and `lines` are positions in `keys`.

    `keys` are ids, or pairs in the form `bag`.

    `lines` has the id of each line; `score` belongs to scored claims, `start` and `end` to spans.
    """

    form: str
    keys: Sequence[Any]
    lines: Ints
    owner: Ints
    label: Ints
    score: Floats = field(default_factory=lambda: NO_SCORE)
    start: Ints = field(default_factory=lambda: NONE)
    end: Ints = field(default_factory=lambda: NONE)
    links: Mapping[int, tuple[Link, ...]] = field(default_factory=dict)
    left_out: int = 0

    def placed(self, index: Mapping[Any, int]) -> Placed:
        """Give claims about the gold's items their rows and count the others."""
        place = np.fromiter(map(index.get, self.keys, repeat(-1)), np.int64, len(self.keys))
        row = place[self.owner]
        inside = row >= 0
        return Placed(
            row[inside],
            self.label[inside],
            score=self.score[inside] if len(self.score) else self.score,
            start=self.start[inside] if len(self.start) else self.start,
            end=self.end[inside] if len(self.end) else self.end,
            links={int(place[owner]): links for owner, links in self.links.items() if place[owner] >= 0},
            missing=len(index) - int(np.count_nonzero(place[self.lines] >= 0)),
            left_out=self.left_out + int(np.count_nonzero(~inside)),
        )


def read_predictions(
    file: BinaryIO,
    make_check: Callable[[Problems], PredictionCheck],
    *,
    format: str,
    limits: Limits = LIMITS,
    column: int = -1,
    leave_out: bool = False,
    tick: Tick = lambda done: None,
) -> Predictions:
    """Read a file by columns where it is regular, else line by line; reject what fails the check.

    With `leave_out`, predictions about other items are counted, unless there are no others.
    """
    if share_a_reader(format, jsonl_predictions.FORMAT.key):
        check = make_check(Problems())
        columns = read_columns(file, check, limits=limits, tick=tick)
        if columns is not None:
            keys = check.pairs if check.form == "bag" else check.ids
            return Predictions(check.form or "", list(keys or ()), *columns)
        file.seek(0)
    check = make_check(Problems())
    lines = open_predictions(
        file,
        format=format,
        problems=check.problems,
        limits=limits,
        scheme=check.scheme,
        column=column,
        ids=check.ids,
    )
    collector = Collector(check.codes)
    if leave_out and formats()[format].has_ids:
        lines = _about_expected(lines, check, collector)
    for number, claim in enumerate(check.claims(lines), 1):
        collector.add(check.form or "", claim)
        if number % STEP == 0:
            tick(number)
    if collector.left_out and check.form is None:
        file.seek(0)
        return read_predictions(file, make_check, format=format, limits=limits, column=column, tick=tick)
    check.problems.raise_if_any()
    return collector.predictions(check.form or "")


def _about_expected(
    lines: Iterator[tuple[int, PredictionLine]], check: PredictionCheck, collector: Collector
) -> Iterator[tuple[int, PredictionLine]]:
    for line, prediction in lines:
        if isinstance(prediction, BagPrediction):
            is_expected = (prediction.head, prediction.tail) in (check.pairs or ())
        else:
            is_expected = prediction.id in check.ids
        if is_expected:
            yield line, prediction
        else:
            collector.left_out += 1


class Collector:
    """Collects checked claims into columns of machine numbers, so that millions fit."""

    def __init__(self, codes: Mapping[str, int]) -> None:
        self.codes, self.keys, self.links = codes, dict[Any, int](), dict[int, tuple[Link, ...]]()
        self.owner, self.label, self.score = array("q"), array("q"), array("d")
        self.start, self.end = array("q"), array("q")
        self.left_out = 0

    def add(self, form: str, claim: Claim) -> None:
        """Add what one line claims."""
        if form == "bag":
            head, tail, relation, score = claim
            self._add(self._owner((head, tail)), [relation], [score])
            return
        owner = self._owner(claim[0])
        if form == "label":
            self._add(owner, [claim[1]])
        elif form == "labels":
            self._add(owner, claim[1])
        elif form == "scores":
            self._add(owner, claim[1], claim[1].values())
        else:
            self._add(owner, [name for _, _, name in claim[1]])
            self.start.extend([start for start, _, _ in claim[1]])
            self.end.extend([end for _, end, _ in claim[1]])
            if claim[2]:
                self.links[owner] = claim[2]

    def _owner(self, key: Any) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def _add(self, owner: int, names: Iterable[str], scores: Iterable[float] = ()) -> None:
        codes = [self.codes[name] for name in names]
        self.owner.extend([owner] * len(codes))
        self.label.extend(codes)
        self.score.extend(scores)

    def predictions(self, form: str) -> Predictions:
        """Return everything added so far."""
        return Predictions(
            form,
            list(self.keys),
            lines=np.arange(len(self.keys) if form != "bag" else 0),
            owner=np.array(self.owner),
            label=np.array(self.label),
            score=np.array(self.score),
            start=np.array(self.start),
            end=np.array(self.end),
            links=self.links,
            left_out=self.left_out,
        )


def dense_predictions(
    matrix: NDArray[np.floating[Any]], keys: Sequence[Any], form: str, n_labels: int
) -> Predictions:
    """Return every cell of a score matrix but the negative column's."""
    rows = len(matrix)
    return Predictions(
        form,
        list(keys)[:rows],
        np.arange(rows if form != "bag" else 0),
        np.repeat(np.arange(rows), n_labels),
        np.tile(np.arange(n_labels), rows),
        matrix[:, :n_labels].astype(np.float64).ravel(),
    )
