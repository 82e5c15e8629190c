"""Figures of a board: statistics over runs by measure and system, read on demand if they are stored."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from math import inf
from operator import or_
from threading import Lock
from typing import Any

import msgspec
from django.db.models import BinaryField, Case, Q, When

from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.models import (
    SettingVersion,
    StoredBoard,
    StoredColumn,
)


class RunStatistics(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A measure over `of` runs of a system, `n` with a value."""

    mean: float | None
    sd: float | None
    n: int
    of: int
    minimum: float | None
    maximum: float | None
    reason: str = ""


class EqualRuns(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Run with the same answers as an earlier one of its system."""

    run: str
    equals: str


class SystemRuns(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Distinct runs of a system: `n` with figures, by `names`, and those whose figures are `withheld`.

    `chosen` is the run whose figures the row shows, empty if all. Where a team has one entry, only the system
    of its final run is `entered`.

    `sharing` are the systems that sent one of its files; `aggregates` made bags of sentences. So many runs
    were `withdrawn` when their figures were known; of so many others, a file that chooses. So many of those
    withheld are `similar` to a run of another system, or to one that the setting does not score. Of its team,
    so many `systems_of_team` have figures here, or had some when their runs were withdrawn.
    """

    system: int
    n: int
    newest: int
    last: datetime
    files: int
    saw_gold: bool
    equal: list[EqualRuns]
    sharing: list[int]
    aggregates: list[str]
    names: list[str]
    chosen: str = ""
    entered: bool = True
    withheld: int = 0
    withdrawn: int = 0
    withdrawn_elsewhere: int = 0
    similar: int = 0
    systems_of_team: int = 1

    @property
    def shown(self) -> frozenset[str]:
        """Names of the runs whose figures the row shows."""
        return frozenset([self.chosen] if self.chosen else self.names)


class MeasureFigures(dict[int, RunStatistics]):
    """Statistics of a measure by system; a process keeps them, so they are never changed."""

    def ranked(
        self, *, higher_is_better: bool, but: frozenset[int] = frozenset()
    ) -> tuple[list[int], dict[int, int]]:
        """Return the systems with a mean, the best first, and their ranks, which equal means share.

        Systems in `but` have none.
        """
        if (higher_is_better, but) not in self._ranked:
            sign = -1 if higher_is_better else 1
            ranking = ((pk, each.mean) for pk, each in self.items() if pk not in but)
            means = sorted((sign * mean, pk) for pk, mean in ranking if mean is not None)
            ranks: dict[int, int] = {}
            rank, previous = 0, -inf
            for place, (mean, system) in enumerate(means, start=1):
                if mean > previous:
                    rank, previous = place, mean
                ranks[system] = rank
            self._ranked[higher_is_better, but] = list(ranks), ranks
        return self._ranked[higher_is_better, but]

    @cached_property
    def counts(self) -> frozenset[int]:
        """How many runs stand behind the means."""
        return frozenset(each.n for each in self.values() if each.n)

    @cached_property
    def ends(self) -> list[float]:
        """The least and the greatest value of a run, if there is one."""
        values = [end for each in self.values() for end in (each.minimum, each.maximum) if end is not None]
        return [min(values), max(values)] if values else []

    @cached_property
    def _ranked(self) -> dict[tuple[bool, frozenset[int]], tuple[list[int], dict[int, int]]]:
        return {}


class FiguresByMeasure:
    """Statistics and run values by measure and system; stored ones are read on demand."""

    def __init__(
        self,
        figures: Mapping[str, Mapping[int, RunStatistics]],
        run_values: Mapping[str, Mapping[int, list[float | None]]],
    ) -> None:
        self.keys = list(figures)
        self._figures, self._run_values, self._stored = dict(figures), dict(run_values), 0
        self._identity: Identity | None = None

    @classmethod
    def stored(cls, row: StoredBoard) -> FiguresByMeasure:
        """Return the figures of a stored board, none of them read yet."""
        figures = cls({}, {})
        figures.keys, figures._stored, figures._identity = list(row.measures), row.pk, identity_of(row)
        return figures

    def _take_kept(self, key: str) -> bool:
        """Take what the process keeps of a measure, and return True if there was something."""
        kept = _columns.get((self._identity, key))
        if kept is None:
            return False
        self._figures[key], values = kept
        if values is not None:
            self._run_values[key] = values
        return True

    def _add(self, key: str, figures: bytes, values: bytes | None) -> None:
        """Add a stored measure, and keep it for later requests."""
        self._figures[key] = self._figures.get(key) or MeasureFigures(_FIGURES.decode(figures))
        if values is not None:
            self._run_values[key] = _VALUES.decode(values)
        _columns[self._identity, key] = self._figures[key], self._run_values.get(key)

    def load(self, keys: Iterable[str]) -> None:
        """Read several measures of a stored board in one query."""
        self.load_together([(self, keys)])

    @staticmethod
    def load_together(
        wanted: Iterable[tuple[FiguresByMeasure, Iterable[str]]],
        *,
        runs_of: Collection[tuple[FiguresByMeasure, str]] = (),
    ) -> None:
        """Read measures of several stored boards in one query; some with the values of runs."""
        of_board, by_keys = {}, defaultdict(list)
        with_runs = {(each._stored, key) for each, key in runs_of}
        for figures, keys in wanted:
            absent = set(keys).intersection(figures.keys) - figures._figures.keys()
            missing = frozenset(key for key in absent if not figures._take_kept(key))
            missing |= {
                key
                for key in absent - missing
                if (figures._stored, key) in with_runs and key not in figures._run_values
            }
            if missing:
                of_board[figures._stored] = figures
                by_keys[missing].append(figures._stored)
        if not of_board:
            return
        asked = (Q(board__in=boards, measure__in=keys) for keys, boards in by_keys.items())
        rows = StoredColumn.objects.filter(reduce(or_, asked))
        whens = (When(board=each._stored, measure=key, then="run_values") for each, key in runs_of)
        runs = Case(*whens, output_field=BinaryField())
        for board, key, content, values in rows.values_list("board", "measure", "figures", runs):
            of_board[board]._add(key, content, values)

    def of(self, key: str) -> Mapping[int, RunStatistics]:
        """Return the statistics of a measure by system."""
        self.load([key])
        return self._figures[key]

    def run_values(self, key: str) -> Mapping[int, list[float | None]]:
        """Return the values of the runs by system, in the order of their names."""
        if self._stored and key not in self._run_values:
            row = StoredColumn.objects.get(board=self._stored, measure=key)
            self._run_values[key] = _VALUES.decode(row.run_values)
        return self._run_values.get(key, {})


_FIGURES = msgspec.msgpack.Decoder(dict[int, RunStatistics])
_VALUES = msgspec.msgpack.Decoder(dict[int, list[float | None]])


Identity = tuple[int, datetime]
"""Key of a stored board and when it was computed; its rows never change."""


def identity_of(row: StoredBoard) -> Identity:
    return row.pk, row.computed_at


class RecentValues(OrderedDict[Any, Any]):
    """Values that a process read last, so many at most."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most, self._lock = most, Lock()

    def get(self, key: Any, default: Any = None) -> Any:
        with self._lock:
            if key in self:
                self.move_to_end(key)
            return super().get(key, default)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._lock:
            super().__setitem__(key, value)
            if len(self) > self._most:
                self.popitem(last=False)


# Reading, decoding and ranking take half of the time of a large board. A process keeps the columns of the
# boards that it showed last, about 30 MB.
_columns = RecentValues(64)


@dataclass(frozen=True, slots=True)
class Figures:
    """Runs and figures of a board under a version.

    `computed_at` is set if newer results have come since.
    """

    version: SettingVersion
    rescoring: Rescoring | None
    runs: list[SystemRuns]
    by_measure: FiguresByMeasure
    computed_at: datetime | None = None

    @property
    def not_entered(self) -> frozenset[int]:
        """Systems without a rank, since another one has the final entry of their team."""
        return frozenset(each.system for each in self.runs if not each.entered)
