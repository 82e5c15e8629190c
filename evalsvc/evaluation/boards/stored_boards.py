"""Figures of large boards, which a job computes and stores.

A stored board is shown while its rules are those of the setting. Once newer results have come it is
outdated, says so, and the job computes it again.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks.row_rules import ENTRY, best_on
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.boards.figures import (
    Figures,
    FiguresByMeasure,
    RecentValues,
    SystemRuns,
    identity_of,
)
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.measures.computation import SCORER
from evalsvc.evaluation.models import (
    BoardTests,
    NearDuplicate,
    Setting,
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
FORMAT = 19  # of stored figures and of the rules on what is shown; a board of another one is not read
FAILURE_PAUSE = timedelta(hours=1)
Stamp = tuple[Any, ...]
_RUNS = msgspec.msgpack.Decoder(list[SystemRuns])
_runs = RecentValues(16)
_next_look = 0.0


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
    withdrawn = _count_withdrawn({each.benchmark_id for each in settings if each.pk in counted})
    return {
        each.pk: (
            each.benchmark.created_at,
            withdrawn.get(each.benchmark_id, 0),
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


def _count_withdrawn(benchmarks: Collection[int]) -> dict[int, int]:
    """Count runs withdrawn when their figures were known: they change other boards on the same gold."""
    if not benchmarks:
        return {}
    rows = Submission.objects.filter(benchmark__in=benchmarks, withdrawn_at__isnull=False).order_by()
    return dict(rows.exclude(known_under=[]).values_list("benchmark").annotate(Count("pk")))


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
    rows = StoredBoard.objects.filter(setting__in=settings).select_related(*related)
    if all((each.pk, each.pk in held_back) in _runs for each in settings):  # and mostly of this very board
        rows = rows.defer("runs")
    found = {(row.setting_id, row.held_back): row for row in rows.order_by("pk")}  # the newest
    if not found:
        return {}
    hidden, usable = hidden_among(settings), {}
    for setting in settings:
        row = found.get((setting.pk, setting.pk in held_back))
        if row and row.rules == _rules(setting, setting.pk in hidden):
            row.version.setting = setting
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
            queue.enqueue(KIND, setting.pk, lane=KIND)
