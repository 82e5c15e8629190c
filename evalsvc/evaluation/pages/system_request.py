"""System of a board with the runs that its reader may see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.http import HttpRequest

from evalsvc.core.errors.exceptions import Unknown
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks.file_contract import settings_of
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.compared_runs import median_run, open_runs
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.comparison import board_comparison
from evalsvc.evaluation.comparison.across_settings import is_held_out
from evalsvc.evaluation.comparison.board_comparison import Band, BoardComparison
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.measures.menu import Measure, board_measures
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.roles import Person


@dataclass(frozen=True)
class SystemPage:
    """A system on a board, with what its reader may see of its runs.

    `runs` are empty while the gold is hidden: which run is the median would tell more than the board.
    """

    board: Board
    row: BoardRow
    settings: list[Setting]
    runs: list[tuple[Submission, Disclosed]]
    person: Person

    @property
    def setting(self) -> Setting:
        return self.board.setting

    @property
    def measures(self) -> list[Measure]:
        """Measures that the board shows, then the others in the order of the menu."""
        first = [each.key for each in board_measures(self.setting, self.board.columns)]
        keys = dict.fromkeys([self.board.order_by, *first, *self.board.columns])
        return [self.board.columns[key].measure for key in keys if self.row.figure(key)]

    @cached_property
    def tests(self) -> BoardComparison | None:
        """Tests between the first systems of the board, if they are of the runs shown."""
        return board_comparison.read([self.board], list(self.board.columns)).get(self.setting.pk)

    def band(self, key: str) -> Band | None:
        """Return the ranks by a measure that tests leave open."""
        return self.tests.bands(key).get(self.row.system.pk) if self.tests else None

    @cached_property
    def held_out(self) -> tuple[Setting, Disclosed] | None:
        """The median run under the labels of a source that stand beside those by people here."""
        if not self.runs or is_held_out(self.setting):
            return None
        alike = self.setting.unit, self.setting.row_rule
        held_out = (each for each in self.settings if is_held_out(each))
        beside = [each for each in held_out if (each.unit, each.row_rule) == alike]
        for setting in sorted(beside, key=lambda each: each.only_id is None):  # the same sentences first
            board = leaderboard.board(setting, person=self.person)
            runs = open_runs(board, self.row.system.pk, self.person)
            if median := median_run(board, runs):
                return setting, median[1]
        return None

    @cached_property
    def median(self) -> tuple[Submission, Disclosed] | None:
        return median_run(self.board, self.runs)


def requested(request: HttpRequest, slug: str, pk: int) -> SystemPage:
    """Return the system on the requested board, by default the first that has it."""
    benchmark = roles.benchmark_for(request.user, slug)
    scored = Setting.objects.filter(
        evaluations__submissions__system__pk=pk,
        evaluations__submissions__benchmark=benchmark,
        evaluations__submissions__withdrawn_at=None,
    )
    having = set(scored.values_list("pk", flat=True))
    settings = [each for each in settings_of(benchmark) if each.pk in having]
    sealed = roles.sealed_from(settings, request.user)
    settings = [each for each in settings if each.pk not in sealed]
    key = request.GET.get("setting", "")
    for setting in settings:
        if key in ("", setting.key):
            board = leaderboard.board(setting, person=request.user)
            if row := next((each for each in board.rows if each.system.pk == pk), None):
                return SystemPage(board, row, settings, open_runs(board, pk, request.user), request.user)
    if settings and key:
        known = [each.key for each in settings]
        raise Unknown("unknown_setting", "setting with this system", key, where=str(benchmark), known=known)
    raise Unknown(
        "unknown_system", "scored system", str(pk), where=str(benchmark), hint="The board links its systems."
    )


def file_name(page: SystemPage, what: str) -> str:
    return f"{page.setting.benchmark.slug}-{page.row.system.pk}-{what}"
