"""Comparison of 2 to 10 systems: what is compared, its stored tests, their job.

A job tests once for all readers; each reader sees what disclosure lets out of the stored tests.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, cached_property
from itertools import combinations, product

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue as queueing
from evalsvc.core.jobs.models import Job
from evalsvc.core.upkeep.registry import register_sweep
from evalsvc.core.web.formatting import counted, quoted
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.compared_runs import ComparedRun, compared_runs
from evalsvc.evaluation.boards.ranking import Board, BoardRow, Column
from evalsvc.evaluation.boards.system_names import distinct_names
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.disclosure.shown_tests import (
    CHOSEN_RUNS,
    NOT_BEST,
    ONE_TEAM,
    SIMILAR,
    UNVARIED,
    WITHDRAWN,
    ShownTest,
    StoredTest,
    adjusted_if_let_out,
    shown_test,
    stored_key,
    untested,
    withheld,
)
from evalsvc.evaluation.measures.families import label_of
from evalsvc.evaluation.measures.menu import MENU, board_measures, scored_of
from evalsvc.evaluation.models import Setting, StoredComparison, Submission
from evalsvc.evaluation.roles import Person

KIND, PARTS = "compare", "compare parts"
HELPERS = 3  # jobs beside the first that test over items, which takes longest; others need another FORMAT
FORMAT = 18  # of stored tests; those of another one are computed again
LEAST, MOST = 2, 10
ABSENT = "absent"  # state of tests that nobody has begun
AT_ONCE = 3  # comparisons of a person that wait or run
REPLICATES, SEED = 1_000, 0
SWEPT_AT_ONCE = 500
_TESTS = dict[str, list[StoredTest]]
TestOfBoard = Callable[[str, int, int], ShownTest | None]


@dataclass(frozen=True)
class Comparison:
    """Systems of a board, in its order, with their tests if computed.

    Until then they have those `of_board`, by measure and two systems.
    """

    board: Board
    rows: list[BoardRow]
    of_board: TestOfBoard | None = None

    @property
    def setting(self) -> Setting:
        return self.board.setting

    @cached_property
    def names(self) -> list[str]:
        """Names of the systems, with the team where one alone could mislead."""
        names = distinct_names([row.system for row in self.rows], self.board)
        return [names[row.system.pk] for row in self.rows]

    @cached_property
    def names_in_sentences(self) -> list[str]:
        return [quoted(name) for name in self.names]

    @cached_property
    def columns(self) -> list[Column]:
        """Measures that rank and that a system has, those of the board first."""
        board = self.board
        first = [measure.key for measure in board_measures(board.setting, board.columns)]
        keys = dict.fromkeys(key for key in [board.order_by, *first, *board.columns] if key in board.columns)
        board.columns.load(keys)
        columns = [board.columns[key] for key in keys]
        chosen = {row.system.pk for row in self.rows}
        return [each for each in columns if each.measure.ranks and chosen & each.figures.keys()]

    @cached_property
    def first_columns(self) -> list[Column]:
        """Those measures that the board shows in its table."""
        board = self.board
        first = {board.order_by, *(each.key for each in board_measures(board.setting, board.columns))}
        return [column for column in self.columns if column.measure.key in first]

    @cached_property
    def runs(self) -> dict[int, list[ComparedRun]]:
        """Distinct runs of the systems, ascending."""
        runs = compared_runs(self.board, [row.system.pk for row in self.rows])
        return {system: sorted(of_system) for system, of_system in sorted(runs.items())}

    def runs_of(self, test: ShownTest) -> tuple[str, str]:
        """Return the names of the runs that a test over items is of, as far as they are shown."""
        if test.runs is None:
            return "", ""
        one, other = test.runs
        return self._run_names.get(one, ""), self._run_names.get(other, "")

    @cached_property
    def _run_names(self) -> dict[int, str]:
        systems = [row.system.pk for row in self.rows]
        return dict(Submission.objects.filter(system__in=systems).values_list("pk", "run"))

    @cached_property
    def tested_runs(self) -> dict[int, list[ComparedRun]]:
        """Those runs; none of a system that has withdrawn others by their figures."""
        selections = {row.system.pk for row in self.rows if row.is_selection}
        return {system: [] if system in selections else runs for system, runs in self.runs.items()}

    @cached_property
    def identity(self) -> str:
        version = self.board.version
        answers = [(system, [run[1:] for run in runs]) for system, runs in self.tested_runs.items()]
        # the main measure decides which runs are equal, and which one of several is the median
        choices = (FORMAT, version.pk, is_hidden(self.setting), self.setting.main, REPLICATES, SEED)
        # one that is admitted later is tested too; retired ones stay
        contributed = sorted(scored_of(self.setting).keys() - MENU.keys())
        return hashlib.sha256(repr((*choices, *contributed, answers)).encode()).hexdigest()

    @cached_property
    def stored(self) -> StoredComparison | None:
        rows = StoredComparison.objects.select_related("job")
        return rows.filter(identity=self.identity).first()

    @property
    def state(self) -> str:
        """State of the tests: absent, or that of their job."""
        if self.stored is None or (self.stored.tests is None and self.stored.job is None):
            return ABSENT
        if self.stored.tests is not None or self.stored.job is None:
            return Job.State.DONE
        return self.stored.job.state

    @property
    def is_tested(self) -> bool:
        """True if these systems are tested, whatever tests their board has."""
        return self.stored is not None and self.stored.tests is not None

    @cached_property
    def tests(self) -> dict[str, list[ShownTest]]:
        """Tests by measure, pairs in the order of the rows; those of the board until computed."""
        if self.stored is None or self.stored.tests is None:
            return self._tests_of_board()
        stored = msgspec.convert(self.stored.tests, _TESTS)
        return {
            column.measure.key: self._shown(column, stored[key])
            for column in self.columns
            if (key := stored_key(self.board.policy, column.measure.key)) in stored
        }

    def _tests_of_board(self) -> dict[str, list[ShownTest]]:
        found: dict[str, list[ShownTest]] = {}
        for column, (a, b) in product(self.columns, combinations(range(len(self.rows)), 2)):
            first, second = (self.rows[place].system.pk for place in (a, b))
            if self.of_board and (test := self.of_board(column.measure.key, first, second)):
                winner = None if test.winner is None else (a, b)[(test.a, test.b).index(test.winner)]
                found.setdefault(column.measure.key, []).append(replace(test, a=a, b=b, winner=winner))
        return found

    @cached_property
    def class_tests(self) -> dict[str, list[ShownTest]]:
        """Tests of F1 by key of class, pairs in the order of the rows; none while gold is hidden."""
        if self.stored is None or self.stored.tests is None or self.board.policy.hidden:
            return {}
        stored = msgspec.convert(self.stored.tests, _TESTS)
        return {key: self._shown(None, tests) for key, tests in stored.items() if label_of(key)}

    def _shown(self, column: Column | None, stored: Sequence[StoredTest]) -> list[ShownTest]:
        """Put stored tests, by key of system, into the order of the rows."""
        systems = self.stored.systems if self.stored else []
        order = {row.system.pk: place for place, row in enumerate(self.rows)}
        placed = [test.between(order[systems[test.a]], order[systems[test.b]]) for test in stored]
        if column is not None and self.board.policy.hidden:
            placed = adjusted_if_let_out(
                placed,
                lambda test: self.withheld(column, self.rows[test.a], self.rows[test.b]),
                lambda test: pairs_of_teams(self.rows[test.a], self.rows[test.b]),
            )
        shown = [self._shown_test(column, test) for test in placed]
        return sorted(shown, key=lambda test: (test.a, test.b))

    def _shown_test(self, column: Column | None, test: StoredTest) -> ShownTest:
        """Return what disclosure lets out of a test between two places, of a measure or of a class."""
        if column is None:
            selection = self._selection(self.rows[test.a], self.rows[test.b])
            return shown_test(
                self.board.policy, "", test,
                difference=test.difference, higher_is_better=True, withheld=selection,
            )  # fmt: skip
        return shown_test(
            self.board.policy,
            column.measure.key,
            test,
            difference=self._difference(column, test.a, test.b),
            higher_is_better=column.measure.higher_is_better,
            withheld=self.withheld(column, self.rows[test.a], self.rows[test.b]),
        )

    @cached_property
    def _best(self) -> Callable[..., set[int]]:
        return cache(self.board.best_of_teams)

    def withheld(self, column: Column, *rows: BoardRow) -> str:
        """Return why a pair is not tested by a measure, while gold is hidden by figures as shown alone."""
        if (selection := self._selection(*rows)) or not self.board.policy.hidden:
            return selection
        if reason := never_tested(self.board, column.measure.key):
            return reason
        systems = {row.system.pk for row in rows}
        if len({row.system.team_id for row in rows}) == 1:
            return ONE_TEAM
        if not systems <= self._best(over_runs=all(row.n > 1 for row in rows)):
            return NOT_BEST
        figures = [column.figures.get(system) for system in systems]
        return UNVARIED if all(each and each.n > 1 and not each.sd for each in figures) else ""

    def is_of_best(self, *places: int) -> bool:
        """True if p of a pair is multiplied by the number of pairs of systems of the two teams."""
        return self.board.policy.hidden and pairs_of_teams(*(self.rows[place] for place in places)) > 1

    @staticmethod
    def _selection(*rows: BoardRow) -> str:
        chosen = [row for row in rows if row.is_selection]
        if not chosen:
            return ""
        return WITHDRAWN if any(row.withdrawn_text for row in chosen) else SIMILAR

    def untested(self, key: str, a: int, b: int) -> ShownTest | None:
        """Return a pair that is never tested, whatever tests are stored, with the reason."""
        if key not in self.board.columns:
            return None
        column = self.board.columns[key]
        reason = self.withheld(column, self.rows[a], self.rows[b])
        return untested(a, b, self._difference(column, a, b), reason) if reason else None

    @cached_property
    def is_testable(self) -> bool:
        """True if some pair may be tested by some measure."""
        pairs = combinations(self.rows, 2)
        return any(not self.withheld(column, *pair) for column, pair in product(self.columns, pairs))

    def _difference(self, column: Column, *places: int) -> float | None:
        a, b = (column.figures.get(self.rows[place].system.pk) for place in places)
        return a.mean - b.mean if a and b and a.mean is not None and b.mean is not None else None

    def verdict(self, key: str, a: int, b: int) -> str:
        """Return W, L, = or · (no test) for a pair of places."""
        test = self.test(key, a, b)
        if test is None or test.reason:
            return "·"
        return "=" if test.winner is None else "W" if test.winner == a else "L"

    def test(self, key: str, a: int, b: int) -> ShownTest | None:
        pair = (min(a, b), max(a, b))
        tests = (each for each in self.tests.get(key, ()) if (each.a, each.b) == pair)
        return next(tests, None) or self.untested(key, *pair)


def never_tested(board: Board, key: str) -> str:
    """Return why hidden gold lets out no test by a measure, whatever the systems are; or nothing."""
    chosen = board.policy.hidden and board.setting.row_rule != row_rules.MEAN
    return withheld(board.policy, key) or (CHOSEN_RUNS if chosen else "")


def pairs_of_teams(one: BoardRow, other: BoardRow) -> int:
    """Return how many pairs the systems of two teams make, one of each."""
    return one.runs.systems_of_team * other.runs.systems_of_team


def requested(setting: Setting, systems: Collection[str], *, person: Person | None) -> Comparison:
    """Return the comparison of systems, named as team/system, on a board."""
    names = list(dict.fromkeys(systems))
    board = leaderboard.board(setting, person=person)
    # rows of the board have the names of teams
    by_name = {f"{row.system.team_name}/{row.system.name}": row for row in board.rows}
    by_name |= {f"{row.system.team_slug}/{row.system.name}": row for row in board.rows}
    _require_number({by_name[name].system.pk if name in by_name else name for name in names})
    if board.sealed:
        raise Conflict("sealed", roles.sealed_until(setting))
    for name in names:
        if name not in by_name:
            detail = f"{name[:200]!r} has no scored run under “{setting.title}”."
            first = ", ".join(f"{row.system.team_slug}/{row.system.name}" for row in board.rows[:10])
            hint = f"Name systems as team/system: {first}{', …' if len(board.rows) > 10 else ''}."
            raise Conflict("unknown_system", detail, hint=hint)
    chosen = {by_name[name].system.pk for name in names}
    return Comparison(board, [row for row in board.rows if row.system.pk in chosen])


def _require_number(systems: Collection[object]) -> None:
    """Reject too few or too many systems; one may have been named twice, by slug and name of its team."""
    if not LEAST <= len(systems) <= MOST:
        detail = f"{counted(len(systems), 'system')} chosen, expected {LEAST} to {MOST}."
        hint = "Mark systems on the board, then compare them."
        raise Conflict("bad_comparison", detail, hint=hint)


# ---- the job -----------------------------------------------------------------------------------------
def start(comparison: Comparison, *, by: User) -> None:
    """Queue the tests, unless they are stored, waiting or running."""
    runs = comparison.tested_runs
    unfinished = StoredComparison.objects.filter(by=by).exclude(job__state__in=Job.ENDED).exclude(job=None)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=by.pk)
        row, _ = StoredComparison.objects.get_or_create(
            identity=comparison.identity,
            defaults={
                "setting": comparison.setting,
                "version": comparison.board.version,
                "systems": list(runs),
                "runs": [[run[:2] for run in of_system] for of_system in runs.values()],
            },
        )
        row = StoredComparison.objects.select_for_update().get(pk=row.pk)
        job = Job.objects.filter(pk=row.job_id or 0).first()
        if row.tests is None and (job is None or job.state in Job.ENDED):
            if unfinished.count() >= AT_ONCE:
                detail = f"{AT_ONCE} of your comparisons are waiting or running."
                raise Conflict("too_many_comparisons", detail, hint="Wait for one, or cancel it.")
            row.job, row.by = queueing.enqueue(KIND, row.pk, lane=f"user {by.pk}"), by
            row.save(update_fields=["job", "by"])
            over_items = sum(min(map(len, pair)) == 1 for pair in combinations(row.runs, 2))
            for _ in range(min(HELPERS, over_items * len(ranges_of_replicates(over_items)) - 1)):
                queueing.enqueue(PARTS, row.pk, lane=f"user {by.pk}")
    comparison.__dict__.pop("stored", None)


def cancel(comparison: Comparison, *, by: User) -> None:
    """Cancel waiting or running tests; who began them and organisers may."""
    row = comparison.stored
    if row is None or row.job is None or row.job.state in Job.ENDED:
        raise Conflict("ended", "These tests are not waiting or running.")
    if not may_cancel(comparison, by):
        roles.require(comparison.setting.benchmark, by, roles.ORGANISER)
    queueing.request_cancel(row.job)
    comparison.__dict__.pop("stored", None)


def may_cancel(comparison: Comparison, person: Person) -> bool:
    """True for who began the tests, and for organisers."""
    row = comparison.stored
    if row is None or not person.pk:
        return False
    return row.by_id == person.pk or roles.role_in(comparison.setting.benchmark, person) == roles.ORGANISER


def replicates(pairs: int) -> int:
    """Return how many replicates it takes for the least p of so many pairs to be below .05 after Holm."""
    return max(REPLICATES, 20 * pairs - 1)


def ranges_of_replicates(over_items: int) -> list[range]:
    """Divide the replicates of each pair among the jobs, if there are fewer pairs over items than jobs."""
    jobs = HELPERS + 1
    parts = math.ceil(jobs / over_items) if 0 < over_items < jobs else 1
    step = math.ceil(REPLICATES / parts)
    return [range(at, min(at + step, REPLICATES)) for at in range(0, REPLICATES, step)]


def submissions(row: StoredComparison) -> dict[int, Submission]:
    """Return the submissions of a comparison by key, with what reading them needs."""
    keys = [submission for runs in row.runs for submission, _ in runs]
    return Submission.objects.select_related("benchmark", "file", "system").in_bulk(keys)


# ---- upkeep ------------------------------------------------------------------------------------------
def old_comparisons() -> QuerySet[StoredComparison]:
    """Return those begun KEEP_DAYS ago; computed again, they have the same figures."""
    if not settings.KEEP_DAYS:
        return StoredComparison.objects.none()
    old = StoredComparison.objects.filter(created_at__lt=Now() - timedelta(days=settings.KEEP_DAYS))
    return old.filter(Q(job=None) | Q(job__state__in=Job.ENDED))


def sweep() -> int:
    """Delete old comparisons."""
    keys = list(old_comparisons().values_list("pk", flat=True)[:SWEPT_AT_ONCE])
    StoredComparison.objects.filter(pk__in=keys).delete()
    return len(keys)


def register() -> None:
    register_sweep("old comparisons", sweep, lambda: old_comparisons().count())
