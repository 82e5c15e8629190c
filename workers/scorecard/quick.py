"""JSON lines of relations read column by column; whatever is unusual is left to the careful readers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsvc.formats import gold as gold_lines
from evalsvc.formats import predictions as prediction_lines
from evalsvc.formats.blocks import Irregular
from evalsvc.formats.problems import Problems, Refused
from evalsvc.formats.records import BagPrediction, LabelPrediction, ScoresPrediction
from evalsvc.formats.sniffing import recognise_source
from workers.scorecard.answers import FORMS, Answers
from workers.scorecard.arguments import Options
from workers.scorecard.gold import Gold, with_inventory

FORM_OF: dict[type, Any] = {LabelPrediction: "label", ScoresPrediction: "scores", BagPrediction: "bag"}


def read(gold: Path, predictions: Path, options: Options) -> tuple[Gold, Answers] | None:
    """Both files, when they are regular and fit each other; None when the careful way must look."""
    collecting = gc.isenabled()
    gc.disable()  # everything read stays until the score: looking for rubbish among it takes half the time
    try:
        formats = recognise_source(gold), recognise_source(predictions)
        if formats[0] != "jsonl-items" or formats[1] not in ("jsonl-predictions", "opennre-results"):
            return None
        truth = _gold(gold, options)
        return truth, _answers(predictions, truth, options)
    except (Irregular, Refused):
        return None
    finally:
        if collecting:
            gc.enable()


def _gold(path: Path, options: Options) -> Gold:
    gold = Gold()
    for part in gold_lines.read_parts(path, pairs=options.task == "bags", problems=Problems()):
        first = len(gold.index)
        gold.index.update(zip(part.ids, range(first, first + len(part.ids)), strict=True))
        if len(gold.index) < first + len(part.ids):
            raise Irregular
        cells = [(row, name) for row, names in enumerate(part.labels, first) for name in names]
        cells = [cell for cell in cells if cell[1] != options.negative]
        gold.owner += [row for row, _ in cells]
        gold.label += [name for _, name in cells]
        gold.bag += map(gold.bags.__getitem__, part.pairs)
    return with_inventory(gold, options)


class Column(NamedTuple):
    """A part of the answers: the item of each line, then the row, the label and the score of each claim."""

    line: NDArray[np.int64]
    row: NDArray[np.int64]
    label: NDArray[np.int64]
    score: NDArray[np.float64]


def _answers(path: Path, gold: Gold, options: Options) -> Answers:
    code: dict[str, int] = {name: at for at, name in enumerate(gold.inventory)}
    negative = len(code)
    code |= {options.negative: negative} if options.negative is not None else {}
    form, columns = "", []
    for part in prediction_lines.read_parts(path, problems=Problems()):
        form = FORM_OF[type(part[0])]
        columns.append(READERS[form](part, gold, code))
    if form not in FORMS[options.task]:
        raise Irregular
    line, row, label, score = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    _refuse_repeats(line if form != "bag" else row * (negative + 1) + label)
    if form == "label" and options.missing == "refuse" and len(line) < len(gold):
        raise Irregular
    kept = label != negative if form != "label" else slice(None)
    return Answers(form, row[kept], label[kept], score[kept], dropped_negative=len(row) - len(row[kept]))


def _labels(part: Sequence[Any], gold: Gold, code: Mapping[str, int]) -> Column:
    rows = _known(gold.index, [line.id for line in part])
    return Column(rows, rows, _known(code, [line.label for line in part]), np.zeros(0))


def _scores(part: Sequence[Any], gold: Gold, code: Mapping[str, int]) -> Column:
    rows = _known(gold.index, [line.id for line in part])
    scores = [line.scores for line in part]
    lengths = np.fromiter(map(len, scores), np.int64, len(scores))
    values = np.fromiter(chain.from_iterable(map(dict.values, scores)), np.float64, int(lengths.sum()))
    names = _known(code, list(chain.from_iterable(scores)))
    return Column(rows, np.repeat(rows, lengths), names, _finite(values))


def _triples(part: Sequence[Any], gold: Gold, code: Mapping[str, int]) -> Column:
    rows = _known(gold.bags, [(one.head, one.tail) for one in part])
    values = np.array([one.score for one in part], dtype=np.float64)
    return Column(rows, rows, _known(code, [one.relation for one in part]), _finite(values))


READERS: dict[str, Callable[[Sequence[Any], Gold, Mapping[str, int]], Column]] = {
    "label": _labels,
    "scores": _scores,
    "bag": _triples,
}


def _known(codes: Mapping[Any, int], names: list[Any]) -> NDArray[np.int64]:
    try:
        return np.fromiter(map(codes.get, names), np.int64, len(names))
    except TypeError as error:  # None: a name that is not known
        raise Irregular from error


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(scores).all():
        raise Irregular
    return scores


def _refuse_repeats(keys: NDArray[np.int64]) -> None:
    ranked = np.sort(keys)
    if (ranked[1:] == ranked[:-1]).any():
        raise Irregular
