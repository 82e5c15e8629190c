"""What a new version of a setting moved of each label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from evalsvc.evaluation.boards.rank_reversals import COMPARED
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.run_figures import RunFigures, run_figures
from evalsvc.evaluation.disclosure.policy import CLASS_FAMILY, RELATION_CLASSES
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import Setting


class Change(NamedTuple):
    """Mean of a measure before and after, and its difference if it is of the same runs and its sign known."""

    before: float | None
    after: float | None
    difference: float | None


@dataclass(frozen=True)
class LabelMove:
    """Label before and after, over the runs of the systems compared.

    `effect` is its part of the mean change of micro F1: 2·tp of the label ÷ all (gold + predicted), after −
    before.
    """

    label: str
    gold_before: int
    gold_after: int
    f1: Change
    effect: float


class _ClassFigures(NamedTuple):
    gold: int
    f1: float | None
    part: float


def label_moves(
    boards: tuple[Board, Board], rows: tuple[Sequence[BoardRow], Sequence[BoardRow]]
) -> list[LabelMove]:
    """Return the labels by their effect on micro F1, from the first 50 rows of the systems on both boards."""
    sides = [
        _classes(boards[1].setting, run_figures(Comparison(board, [*each[:COMPARED]])))
        for board, each in zip(boards, rows, strict=True)
    ]
    nothing = _ClassFigures(0, None, 0.0)
    moves = []
    for label in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get(label, nothing) for side in sides)
        difference = None if old.f1 is None or new.f1 is None else new.f1 - old.f1
        f1 = Change(old.f1, new.f1, difference)
        moves.append(LabelMove(label, old.gold, new.gold, f1, new.part - old.part))
    return sorted(moves, key=lambda move: (-abs(move.effect), move.label))


def _classes(setting: Setting, systems: Collection[Collection[RunFigures]]) -> dict[str, _ClassFigures]:
    """Return gold count, mean F1 and mean part of micro F1 by label, runs first, then systems."""
    gold: dict[str, int] = {}
    f1: dict[str, list[float]] = defaultdict(list)
    parts: dict[str, float] = defaultdict(float)
    counted = [runs for runs in systems if runs]
    for runs in counted:
        of_system: dict[str, list[float]] = defaultdict(list)
        for run in runs:
            rows = _rows(setting, run.classes)
            total = sum(row["gold"] + row["predicted"] for row in rows)
            for row in rows:
                label = row["label"]
                gold[label] = row["gold"]
                if row["f1"] is not None:
                    of_system[label].append(row["f1"])
                parts[label] += 2 * row["correct"] / max(total, 1) / len(runs) / len(counted)
        for label, values in of_system.items():
            f1[label].append(fmean(values))
    return {
        label: _ClassFigures(gold[label], fmean(f1[label]) if f1[label] else None, parts[label])
        for label in gold
    }


def _rows(setting: Setting, rows: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows per averaged class, of the family of the main measure."""
    present = {row["family"] for row in rows}
    usual = RELATION_CLASSES if setting.kind == "joint" else CLASS_FAMILY[setting.kind]
    choices = (as_shown(setting, setting.main).family, usual, *CLASS_FAMILY.values())
    family = next((each for each in choices if each in present), "")
    benchmark = setting.benchmark
    averaged = complete_options(benchmark.options, task=benchmark.task).get("include_negative")
    negatives = () if averaged else (benchmark.negative, setting.test_set.negative)
    return [row for row in rows if row["family"] == family and row["label"] not in negatives]
