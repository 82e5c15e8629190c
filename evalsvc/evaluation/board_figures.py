"""Figures of boards; a job computes and stores those of large ones.

A stored board is shown while its rules are those of the setting. Once newer results have come it is
outdated, says so, and the job computes it again.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, reduce
from operator import or_
from threading import Lock
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import BinaryField, Case, Count, Exists, Max, OuterRef, Q, When
from django.utils import timezone

from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks.row_rules import ENTRY, best_on
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.disclosure.gold_digest import secret_versions
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.measures.computation import SCORER
from evalsvc.evaluation.models import (
    BoardTests,
    NearDuplicate,
    Setting,
    SettingVersion,
    StoredBoard,
    StoredColumn,
    Submission,
    System,
)
from evalsvc.evaluation.roles import sealed_from

KIND = "board"
LARGE = 100  # runs from which a board is stored; below, computing it costs as much as reading it
PAUSE_SECONDS, SHARE_OF_TIME = 5.0, 10
# Changes of these change what a reader may see, so that figures from before must not be shown.
RULES = ("main", "measures", "disclosure", "class_rows", "ladder", "share", "sealed", "closes_at", "row_rule")
FORMAT = 7  # of stored figures and of the rules on what is shown; a board of another one is not read
FAILURE_PAUSE = timedelta(hours=1)
Stamp = tuple[Any, ...]
_next_look = 0.0


# ---- figures -----------------------------------------------------------------------------------------
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

    `sharing` are the systems that sent one of its files; `aggregates` made bags of sentences.
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
            rank, previous = 0, None
            for place, (mean, system) in enumerate(means, start=1):
                if mean != previous:
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
_RUNS = msgspec.msgpack.Decoder(list[SystemRuns])


Identity = tuple[int, datetime]
"""Key of a stored board and when it was computed; its rows never change."""


def identity_of(row: StoredBoard) -> Identity:
    return row.pk, row.computed_at


class Kept(OrderedDict[Any, Any]):
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
_columns, _runs = Kept(64), Kept(16)


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


# ---- changes -----------------------------------------------------------------------------------------
def changes(settings: Collection[Setting], *, as_stored: bool = False) -> dict[int, Stamp]:
    """Return the stamps of boards, in a constant number of queries.

    Counting the rows of large boards takes long: `as_stored` takes the row of a stored board instead.

    They are equal as long as the rows of a board are. Scores never change, and a run only gains evaluations,
    an end, and a withdrawal: as long as numbers and newest rows are the same, so is the board. Runs without
    a score under the setting don't count: nobody else may see that they came or ended.
    """
    rows: dict[int, list[Any]] = defaultdict(list)
    choosing, baselines = _choosing(settings), _baselines(settings)
    read = {each.pk for each in settings} | {pk for pk, *_ in choosing.values()}
    if as_stored:
        stored = StoredBoard.objects.filter(setting__in=read).order_by("pk")
        for pk, *values in stored.values_list("setting", "pk", "outdated"):
            rows[pk] += values
    counted = read - rows.keys()
    links = Submission.evaluations.through.objects.filter(evaluation__setting__in=counted).order_by()
    linked = links.values_list("evaluation__setting").annotate(
        Count("pk"),
        Max("pk"),
        Count("submission__withdrawn_at"),
        Max("submission__ended_at"),
        Max("submission__final_at"),
        undigested=Count("pk", filter=Q(evaluation__claims_sha256="")),
        ended=Count("pk", filter=Q(submission__state__in=submission_states.ENDED)),
    )
    near = NearDuplicate.objects.filter(setting__in=counted).order_by()
    for pk, *numbers in (*linked, *near.values_list("setting").annotate(Count("pk"), Max("pk"))):
        rows[pk] += numbers
    hidden, sealed = hidden_among(settings), sealed_from(settings, None)
    return {
        each.pk: (
            each.benchmark.created_at,
            [getattr(each, field.attname) for field in each._meta.concrete_fields],
            rows[each.pk],
            (by := choosing.get((each.benchmark_id, best_on(each.row_rule)), ())) and (*by, *rows[by[0]]),
            (each.pk in hidden, each.pk in sealed),
            *baselines.get(each.benchmark_id, ()),
        )
        for each in settings
    }


def _choosing(settings: Collection[Setting]) -> dict[tuple[int, str], Sequence[Any]]:
    """Return number, version and rules of settings that choose the runs of others."""
    choosing = [each for each in settings if best_on(each.row_rule)]
    if not choosing:
        return {}
    keys = {best_on(each.row_rule) for each in choosing}
    theirs = Setting.objects.filter(benchmark__in={each.benchmark_id for each in choosing}, key__in=keys)
    names = ("pk", "version", "main", "disclosure", "sealed", "closes_at")
    return {(of, key): row for of, key, *row in theirs.values_list("benchmark", "key", *names)}


def _baselines(settings: Collection[Setting]) -> dict[int, list[int]]:
    """Return the systems that enter beside the final entry of their team, by benchmark."""
    of = {each.benchmark_id for each in settings if each.row_rule == ENTRY}
    found: dict[int, list[int]] = defaultdict(list)
    rows = (
        System.objects.filter(benchmark__in=of, baseline=True).order_by("pk") if of else System.objects.none()
    )
    for benchmark, system in rows.values_list("benchmark", "pk"):
        found[benchmark].append(system)
    return found


def _digest(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()


def _rules(setting: Setting, hidden: bool) -> str:
    return _digest(FORMAT, SCORER, hidden, *(getattr(setting, name) for name in RULES))


# ---- reading and writing -------------------------------------------------------------------------------
def read(
    settings: Collection[Setting], held_back: Collection[int], numbers: Mapping[int, int | None]
) -> dict[int, Figures]:
    """Return the stored boards among these, by setting.

    `held_back` are the settings with exact figures hidden from the reader; `numbers` the versions asked for.
    """
    related = ("version__test_set", "version__only")
    secret = secret_versions().filter(gold_sha256=OuterRef("version__gold_sha256"))
    rows = StoredBoard.objects.filter(setting__in=settings).annotate(gold_is_secret=Exists(secret))
    rows = rows.select_related(*related)
    if all((each.pk, each.pk in held_back) in _runs for each in settings):  # and mostly of this very board
        rows = rows.defer("runs")
    found = {(row.setting_id, row.held_back): row for row in rows.order_by("pk")}  # the newest
    if not found:
        return {}
    hidden, usable = hidden_among(settings), {}
    for setting in settings:
        row = found.get((setting.pk, setting.pk in held_back))
        if row and row.rules == _rules(setting, setting.pk in hidden):
            row.version.setting, row.version.gold_is_secret = setting, row.gold_is_secret
            usable[setting] = row
    asked = {
        setting: row
        for setting, row in usable.items()
        if numbers.get(setting.pk) in (None, row.version.number)
    }
    return {
        setting.pk: Figures(
            row.version,
            Rescoring(*row.rescoring) if row.rescoring else None,
            list(_runs_of(row)),
            FiguresByMeasure.stored(row),
            row.computed_at if row.outdated else None,
        )
        for setting, row in asked.items()
    }


def _runs_of(row: StoredBoard) -> list[SystemRuns]:
    """Return the systems of a stored board; a process keeps them until another one is stored."""
    identity, runs = _runs.get((row.setting_id, row.held_back), (None, []))
    if identity != identity_of(row):
        runs = _RUNS.decode(row.runs)
        _runs[row.setting_id, row.held_back] = identity_of(row), runs
    return runs


def compute(setting: Setting, figures: Callable[[bool], Figures]) -> Callable[[], None]:
    """Compute the board for public and organisers; return a function storing both."""
    began, at = time.monotonic(), timezone.now()
    hidden = bool(hidden_among([setting]))
    stamp = _digest(changes([setting])[setting.pk])  # before the rows are read: newer ones outdate it
    computed = {held_back: _packed(figures(held_back)) for held_back in {False, hidden}}
    seconds = time.monotonic() - began

    def store() -> None:
        with transaction.atomic():
            related = Setting.objects.select_related("benchmark", "test_set", "only")
            present = related.select_for_update(of=("self",)).get(pk=setting.pk)
            # results that came meanwhile marked the board before this one
            outdated = stamp != _digest(changes([present])[present.pk])
            # a page that is being answered reads on in the board before this one
            before = StoredBoard.objects.filter(setting=setting)
            newest = before.values("held_back").annotate(newest=Max("pk")).values("newest")
            before.exclude(pk__in=list(newest.values_list("newest", flat=True))).delete()
            for held_back, (values, columns) in computed.items():
                board = StoredBoard.objects.create(
                    setting=setting,
                    held_back=held_back,
                    rules=_rules(setting, hidden),
                    stamp=stamp,
                    computed_at=at,
                    seconds=seconds,
                    outdated=outdated,
                    **values,
                )
                rows = (StoredColumn(board=board, measure=key, **of) for key, of in columns.items())
                StoredColumn.objects.bulk_create(rows)
            BoardTests.objects.filter(setting=setting).update(outdated=True)

    return store


def _packed(figures: Figures) -> tuple[dict[str, Any], dict[str, dict[str, bytes]]]:
    encode, progress, by_measure = msgspec.msgpack.encode, figures.rescoring, figures.by_measure
    values = {
        "version": figures.version,
        "rescoring": [progress.version, progress.scored, progress.total] if progress else [],
        "measures": by_measure.keys,
        "runs": encode(figures.runs),
    }
    return values, {
        key: {"figures": encode(by_measure.of(key)), "run_values": encode(by_measure.run_values(key))}
        for key in by_measure.keys
    }


# ---- the job -------------------------------------------------------------------------------------------
def queue_outdated() -> None:
    """Queue the computation of large boards with newer results.

    A board that takes long is computed for a tenth of the time at most.
    """
    global _next_look
    if time.monotonic() < _next_look:
        return
    _next_look = time.monotonic() + PAUSE_SECONDS
    scored = Submission.objects.filter(scored_at__isnull=False).order_by().values("benchmark")
    large = scored.annotate(n=Count("pk")).filter(n__gte=LARGE).values("benchmark")
    either = Setting.objects.filter(Q(benchmark__in=large) | Q(stored__isnull=False)).distinct()
    settings = list(either.select_related("benchmark", "test_set", "only"))
    if not settings:
        return
    rows = StoredBoard.objects.filter(setting__in=settings).defer("runs").order_by("pk")
    stored = {row.setting_id: row for row in rows}
    hidden, stamps, now = hidden_among(settings), changes(settings), timezone.now()
    failed = Q(state__in=(Job.State.FAILED, Job.State.CANCELLED), ended_at__gt=now - FAILURE_PAUSE)
    jobs = Job.objects.filter(~Q(state__in=Job.ENDED) | failed, kind=KIND)
    busy = set(jobs.values_list("subject", flat=True))
    for setting in settings:
        row = stored.get(setting.pk)
        paused = row and now < row.computed_at + timedelta(seconds=SHARE_OF_TIME * row.seconds)
        present = _digest(stamps[setting.pk]), _rules(setting, setting.pk in hidden)
        if row and not row.outdated and row.stamp != present[0]:
            StoredBoard.objects.filter(setting=setting, stamp=row.stamp).update(outdated=True)
        if setting.pk not in busy and not paused and present != (row and (row.stamp, row.rules)):
            queue.enqueue(KIND, setting.pk)
