"""Job that tests the first systems of a board against each other, whenever its runs have changed.

Welch's t over runs for every two of the first systems with several runs; on open gold those with one run
are tested by paired randomisation over items, if these are few. Holm over the pairs of a measure.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from math import comb
from operator import or_

import msgspec
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.compared_runs import compared_runs
from evalsvc.evaluation.boards.stored_boards import FAILURE_PAUSE, SHARE_OF_TIME
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.comparison.tested_systems import (
    first_rows,
    identity_of,
    identity_of_rows,
    identity_start,
    most_single,
    tested_systems,
)
from evalsvc.evaluation.disclosure.policy import Policy, hidden_among, is_hidden
from evalsvc.evaluation.measures.menu import as_shown, board_measures, scheme_measures
from evalsvc.evaluation.models import (
    BoardTests,
    MeasureTests,
    ReportedSystem,
    Setting,
    StoredBoard,
    StoredComparison,
    Submission,
)

KIND = "board tests"
MOST = 2_000  # tests for which those by all measures are computed, not only by those of the board; seconds
PAUSE_SECONDS = 5.0
# Tests of few systems over items are slow; once further runs allow tests over runs, these are quick.
FEW, FEW_PAUSE = compared.MOST, timedelta(minutes=5)
QUEUED_AT_ONCE = 20
_next_look = 0.0


def to_test(setting: Setting) -> tuple[StoredComparison, list[str], str]:
    """Return the runs to test, the measures, and the digest of both as the public sees the board."""
    board = leaderboard.board(setting)
    rows = first_rows(board)
    runs = compared_runs(board, [row.system.pk for row in rows])
    scored = {system: sorted(of_system) for system, of_system in sorted(runs.items()) if of_system}
    counts = {system: len(of_system) for system, of_system in scored.items()}
    tested = sorted(tested_systems(board, counts, hidden=board.policy.hidden))
    shown = [measure.key for measure in board_measures(setting, board.columns) if measure.ranks]
    measures = list(dict.fromkeys([setting.main, *shown, *scheme_measures(setting, board.columns)]))
    every = dict.fromkeys([*measures, *(key for key in board.columns if as_shown(setting, key).ranks)])
    if comb(len(tested), 2) * len(every) <= MOST:
        measures = list(every)
    row = StoredComparison(
        setting=setting,
        version=board.version,
        systems=tested,
        runs=[[run[:2] for run in scored[system]] for system in tested],
    )
    return row, measures, identity_of_rows(board, rows, hidden=board.policy.hidden)


def begin(setting: Setting) -> tuple[StoredComparison, list[str]]:
    """Return a stored row of the runs to test, and the measures; tests that made room for others go on.

    The mark of the board is taken off before its runs are read: what changes from now on marks it again.
    """
    BoardTests.objects.filter(setting=setting).update(outdated=False)
    row, measures, identity = to_test(setting)
    begun = unfinished(setting.pk).filter(
        version=row.version, identity__startswith=identity_start(hidden=is_hidden(setting))
    )
    if present := begun.first():
        return present, measures
    row.identity = identity
    row.save()
    return row, measures


def unfinished(setting: int) -> QuerySet[StoredComparison]:
    """Return the row under which the tests of a board are stored pair by pair; no person requested it."""
    return StoredComparison.objects.filter(setting=setting, identity__contains=":")


def stored_by_job(
    row: StoredComparison,
    tests: Mapping[str, Sequence[Sequence[object]]],
    reported: Mapping[str, object],
    macro_flip: float | None = None,
) -> Callable[[], None]:
    """Return a function that stores the tests of a board in place of earlier ones.

    `reported` are those of its systems against systems of papers, by the key of these.
    """
    began = timezone.now()

    def store() -> None:
        present = leaderboard.board(row.setting)  # runs may have come meanwhile
        with transaction.atomic():
            board, _ = BoardTests.objects.select_for_update().get_or_create(
                setting=row.setting, defaults={"outdated": False}
            )
            board.identity, board.systems = row.identity, row.systems
            board.reported, board.macro_flip = reported, macro_flip
            board.computed_at = began
            board.outdated |= row.identity != identity_of(present)
            board.save()
            board.measures.all().delete()
            unfinished(row.setting_id).delete()
            encoded = ((key, msgspec.msgpack.encode(of_measure)) for key, of_measure in tests.items())
            MeasureTests.objects.bulk_create(
                MeasureTests(board=board, measure=key, content=content) for key, content in encoded
            )

    return store


def follow(job: Job) -> None:
    """Mark a board again whose tests were not stored."""
    if job.state in (Job.State.FAILED, Job.State.CANCELLED):
        BoardTests.objects.filter(setting=job.subject).update(outdated=True)
        unfinished(job.subject).delete()


def queue_outdated() -> None:
    """Queue the tests of boards whose runs have changed since, a few at a time.

    Each board has one job at a time, for a tenth of the time at most, and a stored one once its figures are
    the present ones: many runs that come in a row are tested together. With few systems they wait 5 min at
    most, or as long as they took.
    """
    global _next_look
    if time.monotonic() < _next_look:
        return
    _next_look, now = time.monotonic() + PAUSE_SECONDS, timezone.now()
    untested = Setting.objects.filter(tests=None).filter(
        Exists(Submission.evaluations.through.objects.filter(evaluation__setting=OuterRef("pk")))
    )
    closed = Q(tests__computed_at__lt=F("closes_at"), closes_at__lte=now)
    newest = StoredBoard.objects.filter(setting=OuterRef("pk")).order_by("-pk").values("outdated")[:1]
    starts = (Q(tests__identity__startswith=identity_start(hidden=hidden)) for hidden in (True, False))
    other = Q(tests__isnull=False) & ~or_(*starts) | Q(pk__in=_turned(now))
    changed = Setting.objects.filter(Q(tests__outdated=True) | closed | other).annotate(
        waits=Subquery(newest)
    )
    open_ = ~Q(sealed=True) | Q(closes_at__lte=now)
    keys = [*untested.filter(open_).values_list("pk", flat=True)[:QUEUED_AT_ONCE]]
    keys += changed.filter(open_).filter(Q(waits=None) | Q(waits=False)).values_list("pk", flat=True)
    paused = _paused() if keys else set()
    keys = [pk for pk in keys if pk not in paused][:QUEUED_AT_ONCE]
    testable, hidden = _testable(keys), hidden_among(Setting.objects.filter(pk__in=keys))
    for pk in set(keys).difference(testable):
        nothing = {"identity": identity_start(hidden=pk in hidden), "systems": [], "reported": {}}
        looked_at = nothing | {"outdated": False, "computed_at": now}
        BoardTests.objects.update_or_create(setting_id=pk, defaults=looked_at)
    # counted again: runs that were stored meanwhile may have found the mark still on
    for pk in testable + _testable(set(keys).difference(testable)):
        with transaction.atomic():
            board, _ = BoardTests.objects.select_for_update().get_or_create(setting_id=pk)
            board.outdated = True
            board.save(update_fields=["outdated"])
            if pk not in _paused():  # another worker may have looked at the same moment
                queue.enqueue(KIND, pk, lane=KIND)


def _turned(now: datetime) -> list[int]:
    """Return the closed boards tested while their gold was hidden that is open now, or the reverse.

    Another setting that hides the gold may have closed, or begun.
    """
    closed = Setting.objects.filter(disclosure=Setting.Disclosure.HIDDEN, closes_at__lte=now)
    tested = closed.filter(tests__isnull=False).annotate(identity=F("tests__identity"))
    hidden = hidden_among(tested, now)
    return [
        each.pk for each in tested if not each.identity.startswith(identity_start(hidden=each.pk in hidden))
    ]


def _paused() -> set[int]:
    """Return the boards whose tests wait, run, have failed lately, or had their share of the time."""
    now = timezone.now()
    jobs = Job.objects.filter(~Q(state__in=Job.ENDED) | Q(ended_at__gt=now - FAILURE_PAUSE), kind=KIND)
    few = {pk for pk, systems in BoardTests.objects.values_list("setting", "systems") if len(systems) <= FEW}
    return {
        subject
        for subject, state, started, ended in jobs.values_list("subject", "state", "started_at", "ended_at")
        if not (state == Job.State.DONE and started and ended)
        or now < ended + _pause(ended - started, few=subject in few)
    }


def _pause(took: timedelta, *, few: bool) -> timedelta:
    """Return how long a board waits after tests: with few systems 5 min at most, or as long as they took."""
    pause = SHARE_OF_TIME * took
    return min(pause, max(FEW_PAUSE, took)) if few else pause


def _testable(keys: Collection[int]) -> list[int]:
    """Return the settings with systems to test.

    Two that have several scored runs, or one beside those of papers; on open gold of few items any two.
    None where no figure is shown by which the first ones are chosen.
    """
    if not keys:
        return []
    runs = Submission.objects.filter(benchmark__settings__in=keys, withdrawn_at=None)
    scored = runs.filter(scored_at__isnull=False).order_by().values_list("benchmark__settings", "system")
    several, single = Counter[int](), Counter[int]()
    for setting, _, n in scored.annotate(n=Count("pk")):
        (several if n > 1 else single)[setting] += 1
    with_reported = set(ReportedSystem.objects.filter(setting__in=keys).values_list("setting", flat=True))
    testable = {pk for pk in keys if several[pk] > (pk not in with_reported)}
    related = Setting.objects.select_related("benchmark", "test_set", "only").in_bulk(keys)
    hidden = hidden_among(related.values())
    testable |= {
        pk for pk in related.keys() - hidden - testable if most_single(related[pk], several[pk], single[pk])
    }
    withheld = (pk for pk in testable & hidden if Policy(related[pk], hidden=True).withholds_main)
    testable.difference_update([*withheld])
    return [pk for pk in keys if pk in testable]
