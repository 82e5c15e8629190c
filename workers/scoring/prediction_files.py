"""Reading of prediction files, by columns where their lines are regular."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from evalsvc.core.formats import jsonl_predictions, label_list, opennre
from evalsvc.core.formats.prediction_blocks import read_uniform_predictions
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.prediction_forms import FORM_OF, TEXT_FORMS
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_predictions
from evalsvc.core.formats.records import BagPrediction, Link, PredictionLine
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import LIMITS, Irregular, Limits
from workers.metrics.counts import Ints
from workers.scoring.predictions import NO_SCORE, NONE, Answers, Floats, Predictions, only, without_repeats

Tick = Callable[[int], None]
Columns = tuple[Ints, Ints, Ints, Floats, Ints, Ints]
STEP = 2_000


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
    """Read predictions that pass the check, by columns where they are regular.

    With `leave_out`, predictions about other items are counted, unless there are no others.
    """
    if format in (jsonl_predictions.FORMAT.key, opennre.RESULTS.key):
        check = make_check(Problems())
        predictions = read_columns(file, check, limits=limits, tick=tick)
        if predictions is not None:
            return predictions
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
    if leave_out:  # else it was checked when it came, perhaps against fewer items
        label_list.require_every_line(format, check)
    check.problems.raise_if_any()
    read = collector.predictions(check.form or "")
    read = replace(read, warnings=dict(check.problems.warnings), old_labels=check.old.stated)
    return without_repeats(read) if check.old and check.form == "bag" else read


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
        self.answers: dict[int, Answers] = {}
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
        elif form in TEXT_FORMS:
            self.answers[owner] = claim[1]
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
            answers=self.answers,
            left_out=self.left_out,
        )


# ---- old names of labels -------------------------------------------------------------------------
class OldCodes:
    """Codes of labels as files may spell them, and the present code of each; -1 if it was deleted."""

    def __init__(self, check: PredictionCheck) -> None:
        mapping = check.old.mapping
        self.check, old = check, mapping.clear
        names = [*check.codes, *(name for name in old if name not in check.codes)]
        self.codes = {name: at for at, name in enumerate(names)}
        nothing = check.codes.get(check.negative or "", -1)
        now = [mapping.label(name) for name in names]
        self.present = np.array([nothing if each is None else check.codes[each] for each in now])
        self.is_old = np.array([name in old for name in names])
        self.names = names

    def current(self, predictions: Predictions) -> Predictions | None:
        """Return predictions in present labels, each claim once with its largest score.

        None if a label without a negative class was deleted.
        """
        label = self.present[predictions.label]
        if predictions.form == "label" and (label < 0).any():
            return None
        used = np.bincount(predictions.label, minlength=len(self.names))
        self.check.old.counts.update(
            {self.names[at]: int(used[at]) for at in np.flatnonzero(used) if self.is_old[at]}
        )
        if not self.check.old.counts:
            return predictions
        read = replace(predictions, label=label, old_labels=self.check.old.stated)
        return without_repeats(only(read, label >= 0))


# ---- regular lines, read by columns --------------------------------------------------------------
def read_columns(
    source: BinaryIO, check: PredictionCheck, *, limits: Limits = LIMITS, tick: Tick = lambda done: None
) -> Predictions | None:
    """Read regular lines that pass the check, else return None."""
    reader, parts, done = ColumnReader(check), [], 0
    try:
        for part in read_uniform_predictions(source, problems=check.problems, limits=limits):
            check.form = FORM_OF[type(part[0])]
            parts.append(reader.read(check.form, part))
            tick(done := done + len(part))
        if check.form not in check.forms:
            return None
        lines, owner, label, score, start, end = map(np.concatenate, zip(*parts, strict=True))
        is_bag = check.form == "bag"
        claimed = np.sort(owner * len(reader.old.codes) + label if is_bag else lines)
        if (claimed[1:] == claimed[:-1]).any():
            return None
    except (Irregular, FileRejected):
        return None
    if not (check.may_lack_lines or len(lines) == len(check.ids)):
        return None
    keys = list(check.pairs or ()) if is_bag else reader.order
    predictions = Predictions(check.form, keys, lines, owner, label, score, start, end)
    if check.old:
        current = reader.old.current(predictions)
        if current is None:
            return None
        predictions = current
    if check.form in ("scores", "bag") and check.negative is not None:
        predictions = only(predictions, predictions.label != check.codes[check.negative])
    return predictions


class ColumnReader:
    """Columns of regular lines.

    They are the item of each line (none for pairs); owner, label, score and bounds of each claim.
    """

    def __init__(self, check: PredictionCheck) -> None:
        self.check, self.old, self.at, self.order = check, OldCodes(check), 0, list(check.ids)

    @cached_property
    def items(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.order)}

    @cached_property
    def pairs(self) -> dict[tuple[str, str], int]:
        return {pair: row for row, pair in enumerate(self.check.pairs or ())}

    def rows(self, part: Sequence[Any]) -> Ints:
        """Return the rows of lines; lines in gold order need no look-up."""
        ids = [line.id for line in part]
        after = self.at + len(ids)
        if self.order[self.at : after] != ids:
            return lookup(self.items, ids)
        first, self.at = self.at, after
        return np.arange(first, after, dtype=np.int64)

    def read(self, form: str, part: Sequence[Any]) -> Columns:
        """Return the columns of lines of one form."""
        codes = self.old.codes
        if form == "bag":
            rows = lookup(self.pairs, [(triple.head, triple.tail) for triple in part])
            score = finite(np.array([triple.score for triple in part], dtype=np.float64))
            return NONE, rows, lookup(codes, [triple.relation for triple in part]), score, NONE, NONE
        rows = self.rows(part)
        if form == "label":
            return rows, rows, lookup(codes, [line.label for line in part]), NO_SCORE, NONE, NONE
        if form == "scores":
            scores = [line.scores for line in part]
            lengths = np.fromiter(map(len, scores), np.int64, len(scores))
            values = np.fromiter(
                chain.from_iterable(map(dict.values, scores)), np.float64, int(lengths.sum())
            )
            names = lookup(codes, list(chain.from_iterable(scores)))
            return rows, np.repeat(rows, lengths), names, finite(values), NONE, NONE
        lengths = np.fromiter((len(line.spans) for line in part), np.int64, len(part))
        spans = list(chain.from_iterable(line.spans for line in part))
        start, end = (np.array([span[at] for span in spans], dtype=np.int64) for at in (0, 1))
        owner = np.repeat(rows, lengths)
        lengths_of, ids = self.check.lengths or {}, map(self.order.__getitem__, owner.tolist())
        if (end > np.fromiter((lengths_of.get(name, -1) for name in ids), np.int64, len(owner))).any():
            raise Irregular
        return rows, owner, lookup(codes, [span[2] for span in spans]), NO_SCORE, start, end


def lookup(codes: Mapping[Any, int], names: list[Any]) -> Ints:
    """Return the codes of names; an unexpected one is irregular."""
    try:
        return np.fromiter(map(codes.get, names), np.int64, len(names))
    except TypeError as error:  # None
        raise Irregular from error


def finite(scores: Floats) -> Floats:
    if not np.isfinite(scores).all():
        raise Irregular
    return scores
