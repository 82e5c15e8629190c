"""View of a board: its columns and rows as a reader chose them, with their tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from evalsvc.core.web.formatting import DASH
from evalsvc.evaluation import roles
from evalsvc.evaluation.boards.figures import RunStatistics, SystemRuns
from evalsvc.evaluation.boards.rank_reversals import shows_other_runs
from evalsvc.evaluation.boards.ranking import Board, BoardRow, Column
from evalsvc.evaluation.boards.reading import NOT_COMPUTED
from evalsvc.evaluation.comparison import compared, tested_systems
from evalsvc.evaluation.comparison.board_comparison import Band, BoardComparison
from evalsvc.evaluation.comparison.tested_systems import FIRST
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.measures.menu import MENU, Measure, as_shown, board_measures, menu_of, offered
from evalsvc.evaluation.models import ReportedSystem, Setting
from evalsvc.evaluation.pages.board_choice import Choice, ColumnKey
from evalsvc.evaluation.reported.entries import PrintedFigure, figures_of

NOT_ENTERED = "not ranked: its team is ranked once, by another system"
ONE_RUN_OF_HIDDEN = "one run shown: the board tests no items of hidden gold, so no rank"
ONE_RUN_OF_MANY = "one run shown: the board tests fewer items and systems, so no rank; a comparison tests it"
NOT_AMONG_FIRST = f"not tested: only the first {FIRST} systems with a shown main figure are"
ONLY_SYSTEM = "no other system has a scored run, so no test and no rank"
ONLY_RANKED = "no other system to rank shows the main measure, so no test and no rank"
ALONE = "no other system has several runs, so no test and no rank"
SELECTION = "runs withdrawn after scoring: no test of the others, so no rank"
SIMILAR = "runs without figures, as they resemble other runs of the team: no test of the others, so no rank"
NO_TEST = "no test of it is possible, so no rank: a comparison names the reason"
NOT_YET = "not tested yet: a job tests the runs"
EARLIER = "only the present version is tested, so no rank"
UNTESTED = "this measure is not among those that the board tests, so no rank"
NO_FIGURE = "no figure to rank by"
NOT_SHOWN = "not shown under this setting"


# ---- the columns ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class BoardColumn:
    """Measure under a setting; `key` names it in addresses and files.

    `edge` begins the columns of another setting than the one before; `link` sorts by it.
    """

    board: Board
    measure: Measure
    ordering: Column
    own: bool = True
    edge: bool = False
    link: str = ""
    tests: BoardComparison | None = None
    tests_of_order: BoardComparison | None = None

    @property
    def key(self) -> str:
        return f"{self.board.setting.key}:{self.measure.key}"

    @property
    def title(self) -> str:
        """Title in sentences and files, with the setting unless it is the board's own."""
        return self.measure.title if self.own else f"{self.measure.title} on “{self.board.setting.title}”"

    @cached_property
    def column(self) -> Column:
        empty = Column(self.measure, {}, self.title)
        return self.board.columns.get(self.measure.key) or empty

    @property
    def figures(self) -> Mapping[int, RunStatistics]:
        return self.column.figures

    def reason(self, row: BoardRow) -> str:
        """Explain why a row has no figure."""
        setting = self.board.setting
        if self.board.sealed:
            return roles.sealed_until(setting)
        if self.measure.key not in self.board.policy.measures:
            return NOT_SHOWN
        if not self.own and row.system.pk not in self._systems:
            return f"no scored run under “{setting.title}”"
        return NOT_COMPUTED

    @cached_property
    def _systems(self) -> set[int]:
        return {runs.system for runs in self.board.figures.runs}

    @cached_property
    def bands(self) -> Mapping[int, Band]:
        """Rank bands of the tested systems."""
        return self.tests.bands(self.measure.key) if self.tests else {}

    @cached_property
    def turned(self) -> set[int]:
        """Systems of a pair whose order by the ordering column, and the other one here, tests confirm."""
        if self.tests is None or self.tests_of_order is None:
            return set()
        here = self.tests_of_order.wins(self.ordering.measure.key)
        there = self.tests.wins(self.measure.key)
        return {system for pair in here if pair[::-1] in there for system in pair}

    def leads(self, row: BoardRow) -> bool:
        """True if no system is better than this one by a test, and one is worse."""
        band = self.bands.get(row.runs.system)
        return band is not None and band.leads

    def values(self, row: BoardRow) -> Sequence[float | None]:
        """Return the values of the runs, in their order."""
        if self.measure.key not in self.board.columns:
            return []
        return self.board.figures.by_measure.run_values(self.measure.key).get(row.system.pk, [])

    def names(self, row: BoardRow) -> Sequence[str]:
        """Return the names of these runs."""
        return self._names.get(row.system.pk, [])

    @cached_property
    def _names(self) -> dict[int, list[str]]:
        return {runs.system: runs.names for runs in self.board.figures.runs}

    def shift(self, row: BoardRow) -> int:
        """Return how many ranks a row gains by this measure, among systems with both figures."""
        here, there = self._ranks
        ranks = here.get(row.runs.system), there.get(row.runs.system)
        return ranks[0] - ranks[1] if ranks[0] and ranks[1] else 0

    @cached_property
    def _ranks(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        columns = (self.ordering, self.column)
        if not all(each.measure.ranks for each in columns):
            return {}, {}
        ranks = self.ordering.ranks, self.column.ranks
        every = self.own and {len(each) for each in ranks} == {len(self.board.figures.runs)}
        if every or ranks[0].keys() == ranks[1].keys():
            return ranks
        both = self.ordering.ranks.keys() & self.column.ranks.keys()
        here, there = (
            Column(each.measure, {system: each.figures[system] for system in both}, "") for each in columns
        )
        return here.ranks, there.ranks


@dataclass(frozen=True)
class ColumnGroup:
    """Heading over the columns of a setting."""

    title: str
    columns: int
    edge: bool


@dataclass(frozen=True)
class BoardView:
    """Board as chosen: rows that pass the filters, the ordering column and those beside it."""

    board: Board
    choice: Choice
    others: Sequence[Board] = field(default_factory=list)
    tests: Mapping[int, BoardComparison] = field(default_factory=dict)
    reported: Sequence[ReportedSystem] = ()
    faults: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Why figures of these are impossible on the gold, by their key and measure."""
    elsewhere: Mapping[int, Mapping[int, ReportedSystem]] = field(default_factory=dict)
    """The rows of other settings, by their key, in which the same papers print the same systems."""

    def printed(self, row: ReportedSystem, setting: Setting) -> Mapping[str, PrintedFigure]:
        """Return what a paper prints for a system under a setting."""
        of = row if setting == self.board.setting else self.elsewhere.get(row.pk, {}).get(setting.pk)
        return figures_of(of) if of else {}

    @cached_property
    def rows(self) -> Sequence[BoardRow]:
        rows = self.board.rows
        return [row for row in rows if self.choice.takes(row)] if self.choice.filters else rows

    @cached_property
    def compared_settings(self) -> set[int]:
        """Settings of columns that show ranks gained: by exact figures of the same runs."""
        boards = {column.board.setting.pk: column.board for column in (self.first, *self.columns)}
        exact = {pk: board for pk, board in boards.items() if not board.policy.hidden}
        return {
            pk
            for pk, board in exact.items()
            if not self.board.policy.hidden and not shows_other_runs(self.board, board)
        }

    def rank(self, row: BoardRow) -> tuple[str, str]:
        """Return the ranks that tests leave open to a row, or the reason why it has none.

        Its figure alone is no rank.
        """
        if not row.runs.entered:
            return DASH, NOT_ENTERED
        if not row.rank:
            return DASH, NO_FIGURE
        if band := self.first.bands.get(row.runs.system):
            return str(band), ""
        if row.is_selection:
            return DASH, SELECTION if row.withdrawn_text else SIMILAR
        return DASH, self._no_rank(row.runs)

    def _no_rank(self, runs: SystemRuns) -> str:
        """Why tests leave a system without a band."""
        if len(self.board.figures.runs) < compared.LEAST:
            return ONLY_SYSTEM
        if reason := compared.never_tested(self.board, self.board.order_by):
            return f"{reason}, so no rank"
        if runs.system in self._tested:
            return self._no_band(runs.system)
        first = tested_systems.first_systems(self.board)
        if runs.system not in first:
            return NOT_AMONG_FIRST
        if len(first) < compared.LEAST:
            return ONLY_RANKED
        if not _shows_one(runs):
            return ALONE
        return ONE_RUN_OF_HIDDEN if self._hidden else ONE_RUN_OF_MANY

    def _no_band(self, system: int) -> str:
        """Why a system has no band that the board tests."""
        board = self.board
        if not self.first.tests:
            return EARLIER if board.version.number < board.setting.version else NOT_YET
        reasons = self.first.tests.reasons(board.order_by, system)
        if len(reasons) == 1 and "" not in reasons:
            return f"no test: {reasons.pop()}, so no rank"
        return NO_TEST if reasons - {""} or self.first.tests.includes(board.order_by) else UNTESTED

    @cached_property
    def _tested(self) -> set[int]:
        """Systems that the board tests against each other."""
        first = set(tested_systems.first_systems(self.board))
        shown = [runs for runs in self.board.figures.runs if runs.system in first]
        runs = {each.system: 1 if _shows_one(each) else len(each.names) for each in shown}
        tested = tested_systems.tested_systems(self.board, runs, hidden=self._hidden)
        return set(tested) if len(tested) >= compared.LEAST else set()

    @cached_property
    def _hidden(self) -> bool:
        """True while the gold is hidden from teams, whoever reads the board."""
        return self.board.policy.hidden or is_hidden(self.board.setting)

    @cached_property
    def boards(self) -> dict[str, Board]:
        return {each.setting.key: each for each in (self.board, *self.others)}

    @cached_property
    def first(self) -> BoardColumn:
        tests = self.tests.get(self.board.setting.pk)
        return BoardColumn(self.board, self.board.ordering.measure, self.board.ordering, tests=tests)

    @cached_property
    def columns(self) -> list[BoardColumn]:
        """Columns beside the ordering one, those of a setting together, its own first."""
        board, own = self.board, self.board.setting.key
        keys: Iterable[ColumnKey] = self.choice.columns
        if not keys:
            keys = [(own, measure.key) for measure in board_measures(board.setting, board.columns)]
        places = {own: 0} | {
            key: place for place, (key, _) in reversed(list(enumerate(keys, 1))) if key != own
        }
        chosen = sorted((key for key in keys if key != (own, board.order_by)), key=lambda key: places[key[0]])
        for key, group in groupby(chosen, key=lambda key: key[0]):
            self.boards[key].columns.load(measure for _, measure in group)
        columns, before = [], own
        for key, name in chosen:
            of, measure = self.boards[key], as_shown(self.boards[key].setting, name)
            sorts = measure.ranks and name in of.policy.measures
            sorts = sorts and not of.sealed and not of.policy.withholds(name)
            link = (
                self.choice.query(setting=of.setting, order=name, version=self._version(key)) if sorts else ""
            )
            columns.append(
                BoardColumn(
                    of,
                    measure,
                    board.ordering,
                    key == own,
                    key != before,
                    link,
                    self.tests.get(of.setting.pk),
                    self.tests.get(board.setting.pk),
                )
            )
            before = key
        return columns

    def _version(self, key: str) -> int | None:
        return self.choice.version if key == self.board.setting.key else None

    @property
    def groups(self) -> list[ColumnGroup]:
        """Headings over the columns, if another setting stands beside the own one."""
        if all(column.own for column in self.columns):
            return []
        grouped = groupby(self.columns, key=lambda column: column.board.setting)
        sizes = [(setting, len(list(columns))) for setting, columns in grouped]
        return [
            ColumnGroup(setting.title, size, setting.pk != self.board.setting.pk) for setting, size in sizes
        ]


def _shows_one(runs: SystemRuns) -> bool:
    return len(runs.names) < 2 or bool(runs.chosen)


# ---- what can be chosen --------------------------------------------------------------------------
@dataclass(frozen=True)
class Offer:
    """Measures of a setting to choose from: value, title, chosen."""

    title: str
    measures: Sequence[tuple[str, str, bool]]

    @property
    def chosen(self) -> int:
        return sum(chosen for _, _, chosen in self.measures)


def offers(view: BoardView) -> list[Offer]:
    """List the measures of every setting that its board has."""
    chosen = {view.first.key, *(column.key for column in view.columns)}
    choices = []
    for setting_key, board in view.boards.items():
        # of the other boards only the columns in use are read
        keys = board.columns if board is view.board else board.policy.measures
        own = (key for key in menu_of(board.setting) if key not in MENU)
        offer = [*(each.key for each in offered(board.setting.kind)), *own]
        shown = [as_shown(board.setting, key) for key in offer if key in keys]
        values = [(f"{setting_key}:{measure.key}", measure.title) for measure in shown]
        if values and not board.sealed:
            measures = [(value, title, value in chosen) for value, title in values]
            choices.append(Offer(board.setting.title, measures))
    return choices
