"""Predictions as columns, placed on the rows of a gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.old_labels import OldLabels, Stated
from evalsvc.core.formats.records import Link
from workers.metrics.counts import Ints

Answers = tuple[tuple[str, ...], ...] | None
Value = TypeVar("Value")
Floats = NDArray[np.float64]
NONE, NO_SCORE = np.zeros(0, dtype=np.int64), np.zeros(0)


class Placed(NamedTuple):
    """Claims by rows of one gold, with missing and left-out counts."""

    row: Ints
    label: Ints
    score: Floats
    start: Ints
    end: Ints
    links: dict[int, tuple[Link, ...]]
    answers: dict[int, Answers]
    missing: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Predictions:
    """Claims as columns; `owner` and `lines` are positions in `keys`.

    `keys` are ids, or pairs in the form `bag`.

    `lines` has the id of each line; `score` belongs to scored claims, `start` and `end` to spans. `answers`
    are those without offsets, None where the system abstained.
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
    answers: Mapping[int, Answers] = field(default_factory=dict)
    left_out: int = 0
    warnings: Mapping[str, int] = field(default_factory=dict)
    old_labels: Stated = field(default_factory=dict)

    def placed(self, index: Mapping[Any, int]) -> Placed:
        """Give claims about the gold's items their rows and count the others."""
        place = positions(self.keys, index)
        row = place[self.owner]
        inside = row >= 0
        return Placed(
            row[inside],
            self.label[inside],
            score=self.score[inside] if len(self.score) else self.score,
            start=self.start[inside] if len(self.start) else self.start,
            end=self.end[inside] if len(self.end) else self.end,
            links=_at_rows(self.links, place),
            answers=_at_rows(self.answers, place),
            missing=len(index) - int(np.count_nonzero(place[self.lines] >= 0)),
            left_out=self.left_out + int(np.count_nonzero(~inside)),
        )


def _at_rows(by_owner: Mapping[int, Value], place: Ints) -> dict[int, Value]:
    """Return what belongs to the gold's items, by row."""
    return {int(place[owner]): of for owner, of in by_owner.items() if place[owner] >= 0}


def positions(keys: Sequence[Any], index: Mapping[Any, int]) -> Ints:
    """Return the position of each key in the index, -1 for others."""
    if keys == list(index):  # the usual case: every key in the gold's order
        return np.arange(len(keys))
    return np.fromiter(map(index.get, keys, repeat(-1)), np.int64, len(keys))


def dense_predictions(
    matrix: NDArray[np.floating[Any]],
    keys: Sequence[Any],
    form: str,
    *,
    names: Sequence[str],
    labels: Sequence[str],
    old: OldLabels | None = None,
) -> Predictions:
    """Return every cell of a score matrix but the negative column's.

    `names` are the labels of its columns. The largest score counts of columns whose `old` names became one
    label.
    """
    rows, codes = len(matrix), list(range(len(labels)))
    if old is not None and not old.parts.keys().isdisjoint(names):
        columns: dict[str | None, list[int]] = {label: [] for label in labels}
        for at, name in enumerate(names):
            columns.setdefault(old.mapping.label(name), []).append(at)
        codes = [code for code, label in enumerate(labels) if columns[label]]
        matrix = np.stack([matrix[:, columns[labels[code]]].max(axis=1) for code in codes], axis=1)
    elif list(names[: len(labels)]) != list(labels):
        matrix = matrix[:, [names.index(label) for label in labels]]
    return Predictions(
        form,
        list(keys)[:rows],
        np.arange(rows if form != "bag" else 0),
        np.repeat(np.arange(rows), len(codes)),
        np.tile(codes, rows),
        matrix[:, : len(codes)].astype(np.float64).ravel(),
        old_labels=old.stated if old is not None else {},
    )


def without_repeats(read: Predictions) -> Predictions:
    """Return each claim once, where it came first, with its largest score."""
    if len(read.start):
        claims, axis = np.stack([read.owner, read.label, read.start, read.end]), 1
    else:
        claims, axis = read.owner * (read.label.max(initial=0) + 1) + read.label, 0
    _, first, group = np.unique(claims, axis=axis, return_index=True, return_inverse=True)
    if len(first) == len(read.owner):
        return read
    score = read.score
    if len(score):
        score = np.full(len(first), -np.inf)
        np.maximum.at(score, group.ravel(), read.score)
        score = score[group.ravel()]
    return only(replace(read, score=score), np.sort(first))


def only(read: Predictions, kept: NDArray[Any]) -> Predictions:
    """Return chosen claims."""
    columns = {name: getattr(read, name) for name in ("owner", "label", "score", "start", "end")}
    return replace(read, **{name: column[kept] for name, column in columns.items() if len(column)})
