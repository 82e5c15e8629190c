"""Ranking of systems on a board: columns by measure, rows in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, overload

from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks.row_rules import BY_CHOICE, ENTRY, best_on
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.boards.declarations import Declarations, Declared
from evalsvc.evaluation.boards.figures import (
    Figures,
    MeasureFigures,
    RunStatistics,
    SystemRuns,
)
from evalsvc.evaluation.boards.systems import BoardSystem, Systems
from evalsvc.evaluation.disclosure.policy import (
    Policy,
)
from evalsvc.evaluation.measures.menu import (
    Measure,
    as_shown,
)
from evalsvc.evaluation.models import (
    Setting,
    SettingVersion,
)


@dataclass(frozen=True)
class Column:
    """Measure of a board by system; `title` names it in sentences."""

    measure: Measure
    figures: Mapping[int, RunStatistics]
    title: str
    unranked: frozenset[int] = frozenset()

    @property
    def ranks(self) -> dict[int, int]:
        """Ranks by mean; equal means share the better one, undefined have none."""
        return self._ranked[1]

    @property
    def order(self) -> list[int]:
        """Systems with a mean, the best first."""
        return self._ranked[0]

    @cached_property
    def _ranked(self) -> tuple[list[int], dict[int, int]]:
        return self.kept.ranked(higher_is_better=self.measure.higher_is_better, but=self.unranked)

    @cached_property
    def kept(self) -> MeasureFigures:
        """The figures with what is computed once for a stored board."""
        return self.figures if isinstance(self.figures, MeasureFigures) else MeasureFigures(self.figures)

    def titled(self, title: str) -> Column:
        """Return the column under another title, with the ranks already computed."""
        column = copy(self)
        vars(column)["title"] = title
        return column

    def among(self, systems: AbstractSet[int]) -> Column:
        """Return the column of these systems alone."""
        if systems >= self.figures.keys():
            return self
        kept = {system: figure for system, figure in self.figures.items() if system in systems}
        return Column(self.measure, kept, self.title, self.unranked)

    def leads(self, systems: Collection[int]) -> list[float | None]:
        """Return the means of systems, the higher the better."""
        sign = 1 if self.measure.higher_is_better else -1
        figures = [self.figures.get(system) for system in systems]
        return [None if each is None or each.mean is None else sign * each.mean for each in figures]


class Columns(Mapping[str, Column]):
    """Columns of a board by the key of their measure."""

    def __init__(self, setting: Setting, figures: Figures) -> None:
        self._setting, self.by_measure = setting, figures.by_measure
        self._unranked = figures.not_entered if setting.row_rule == ENTRY else frozenset()
        self._columns: dict[str, Column] = {}

    def load(self, keys: Iterable[str]) -> None:
        """Read several columns at once."""
        self.by_measure.load(keys)

    def __getitem__(self, key: str) -> Column:
        if key not in self._columns:
            measure = as_shown(self._setting, key)
            self._columns[key] = Column(measure, self.by_measure.of(key), measure.title, self._unranked)
        return self._columns[key]

    def __contains__(self, key: object) -> bool:
        return key in self.by_measure.keys

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_measure.keys)

    def __len__(self) -> int:
        return len(self.by_measure.keys)


class BoardRow(NamedTuple):
    """System on a board, with its rank by the ordering measure.

    Equal means share a rank, an undefined mean has none.
    """

    board: Board
    rank: int | None
    runs: SystemRuns

    @property
    def system(self) -> BoardSystem:
        return self.board.systems[self.runs.system]

    @property
    def declared(self) -> Declared:
        """What its team declared with the runs of the row."""
        return self.board.declarations[self.runs.system]

    @property
    def columns(self) -> Columns:
        return self.board.columns

    @property
    def saw_gold(self) -> bool:
        return self.runs.saw_gold or self.system.team_id in self.board.teams_with_gold

    @property
    def n(self) -> int:
        return self.runs.n

    @property
    def n_text(self) -> str:
        """The number of runs, of those without figures and those withdrawn by them, too, if there are any."""
        return f"{self.n:,} of {self._total:,}" if self._total > self.n else str(self.n)

    @property
    def runs_text(self) -> str:
        """The number of runs in words, such as 3 of 12 runs, 2 withheld, 7 withdrawn."""
        runs = counted(self._total, "run")
        omitted = ((self.runs.withheld, "withheld"), (self.runs.withdrawn, "withdrawn"))
        parts = [f"{self.n:,} of {runs}" if self._total > self.n else runs]
        return ", ".join([*parts, *(f"{n:,} {why}" for n, why in omitted if n), *self._elsewhere])

    @property
    def _total(self) -> int:
        return self.n + self.runs.withheld + self.runs.withdrawn

    @property
    def _elsewhere(self) -> list[str]:
        """How many runs cannot be chosen any more, as a file was withdrawn under another setting."""
        n, key = self.runs.withdrawn_elsewhere, best_on(self.board.setting.row_rule)
        return [f"{n:,} withdrawn under “{key}”"] if n else []

    @property
    def withdrawn_text(self) -> str:
        """What was withdrawn when figures were known, empty for nothing."""
        n = self.runs.withdrawn
        return ", ".join([*([f"{counted(n, 'run')} withdrawn"] if n else []), *self._elsewhere])

    @property
    def omitted_text(self) -> str:
        """What its figures are not over: runs that show none, and those withdrawn; empty for nothing."""
        n = self.runs.withheld
        withheld = f"{counted(n, 'run')} withheld" if n else ""
        return ", ".join(filter(None, (withheld, self.withdrawn_text)))

    @property
    def is_selection(self) -> bool:
        """True if a team may have chosen the runs by figures, where rows show no run that teams choose.

        It withdrew others, or has others that resemble runs of another system: these show none.
        """
        chosen = bool(self.withdrawn_text or self.runs.similar)
        return chosen and self.board.setting.row_rule not in BY_CHOICE

    def figure(self, key: str) -> RunStatistics | None:
        """Return the figure of a measure, if the system has one."""
        return self.columns[key].figures.get(self.runs.system) if key in self.columns else None

    def rank_by(self, key: str) -> int | None:
        """Return the rank by a measure, if it ranks."""
        ranks = key in self.columns and self.columns[key].measure.ranks
        return self.columns[key].ranks.get(self.runs.system) if ranks else None

    @property
    def figures(self) -> dict[str, RunStatistics]:
        self.columns.load(self.columns)
        pk = self.runs.system
        return {key: column.figures[pk] for key, column in self.columns.items() if pk in column.figures}


@dataclass(frozen=True)
class Board:
    """Leaderboard; without rows while `sealed`.

    `columns` are the measures with a score, by key; `ordering` ranks the rows. `runs` are the submissions to
    which it is limited, None for all.
    """

    policy: Policy
    figures: Figures
    columns: Columns
    ordering: Column
    systems: Systems
    teams_with_gold: Collection[int] = ()
    sealed: bool = False
    runs: Collection[int] | None = None

    @property
    def setting(self) -> Setting:
        return self.policy.setting

    @property
    def version(self) -> SettingVersion:
        return self.figures.version

    @property
    def rescoring(self) -> Rescoring | None:
        return self.figures.rescoring

    @cached_property
    def declarations(self) -> Declarations:
        return Declarations(self.version)

    @property
    def computed_at(self) -> datetime | None:
        return self.figures.computed_at

    @cached_property
    def held_back(self) -> str:
        return "" if self.sealed else self.policy.sentence

    @cached_property
    def rows(self) -> Sequence[BoardRow]:
        return Rows(self, self.figures.runs)

    def same_answers(self, row: BoardRow) -> list[BoardSystem]:
        """Return the systems with a file that has the answers of one of this row.

        While figures are held back, files of other teams are not compared.
        """
        others = [self.systems[system] for system in row.runs.sharing]
        return [other for other in others if other.team_id == row.system.team_id or not self.held_back]

    def best_of_teams(self, *, over_runs: bool) -> set[int]:
        """Return the systems that lead those of their team by the main measure as shown.

        Of equal ones the oldest; for tests over runs among those with several. Not those of which a team
        may have chosen the runs, which are not tested.
        """
        main = self.columns.get(self.setting.main)
        best: dict[int, int] = {}
        ranked = ((system, main.figures[system].n) for system in main.order) if main else ()
        for system, n in ranked:
            if system not in self._selections and (n > 1 or not over_runs):
                best.setdefault(self.systems[system].team_id, system)
        return set(best.values())

    @cached_property
    def teams_named(self) -> dict[frozenset[str], dict[str, int]]:
        """Teams that words of names name, once they were looked up."""
        return {}

    @cached_property
    def _selections(self) -> set[int]:
        return {row.runs.system for row in self.rows if row.is_selection}

    def rows_of(self, systems: Collection[int]) -> list[BoardRow]:
        """Return the rows of these systems alone, in their order."""
        return list(Rows(self, (runs for runs in self.figures.runs if runs.system in systems)))

    @cached_property
    def runs_shown(self) -> dict[int, frozenset[str]]:
        """Names of the runs whose figures the rows show, by system."""
        return {runs.system: runs.shown for runs in self.figures.runs}

    @cached_property
    def order_in_words(self) -> str:
        """Say how the rows stand: by the figures that are ranked, else by name."""
        title, ranked = self.ordering.title, len(self.ordering.ranks)
        if not ranked:
            return f"by name, as no {title} is ranked"
        way = "highest" if self.ordering.measure.higher_is_better else "lowest"
        rest = ", the others by name" if ranked < len(self.rows) else ""
        return f"ordered by {title}, {way} first{rest}"

    @property
    def order_by(self) -> str:
        return self.ordering.measure.key

    @property
    def measures(self) -> list[str]:
        return list(self.columns)


class Rows(Sequence[BoardRow]):
    """Rows in the order of their board, each built when it is asked for: of thousands, a page shows fifty."""

    def __init__(self, board: Board, of_systems: Iterable[SystemRuns]) -> None:
        self._board, self._ranks = board, board.ordering.ranks
        unranked = len(self._ranks) + 1
        keyed = [(self._ranks.get(runs.system, unranked), runs) for runs in of_systems]
        keyed.sort(key=itemgetter(0))  # equal ones stay in the order of their names
        self._runs = [runs for _, runs in keyed]

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, place: int) -> BoardRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[BoardRow]: ...
    def __getitem__(self, place: int | slice) -> BoardRow | list[BoardRow]:
        if isinstance(place, slice):
            return [self._row(runs) for runs in self._runs[place]]
        return self._row(self._runs[place])

    def _row(self, runs: SystemRuns) -> BoardRow:
        return BoardRow(self._board, self._ranks.get(runs.system), runs)
