"""Leaderboard of a setting: figures over each system's active runs, ranks, reversals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple, overload

import msgspec
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.text_validation import is_web_address
from evalsvc.evaluation import board_figures
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.row_rules import ENTRY
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.board_figures import (
    Figures,
    FiguresByMeasure,
    MeasureFigures,
    RunStatistics,
    SystemRuns,
)
from evalsvc.evaluation.board_reading import ComparedRun, Reading, figures_of, read_choices, read_values
from evalsvc.evaluation.disclosure.history import histories
from evalsvc.evaluation.disclosure.policy import (
    Disclosed,
    Policy,
    held_back_from,
)
from evalsvc.evaluation.measures.menu import (
    Measure,
    as_shown,
    board_measures,
    contributed_to,
    offered,
    scheme_measures,
)
from evalsvc.evaluation.models import (
    LINKS,
    Evaluation,
    Setting,
    SettingVersion,
    Submission,
    System,
    by_name,
)
from evalsvc.evaluation.roles import Person, sealed_from
from evalsvc.evaluation.shown_scores import disclosed
from evalsvc.evaluation.submissions import gold_exposure

TIES = "auc_under_ties"  # a note tells where ties carry the area under the curve
COMPARED = 50  # systems whose pairs a board compares


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


class BoardSystem(NamedTuple):
    """System as boards name it."""

    pk: int
    name: str
    tags: str
    baseline: bool
    team_id: int
    team_name: str
    team_slug: str

    @property
    def named(self) -> str:
        """Name with the team, as addresses have it."""
        return f"{self.team_slug}/{self.name}"

    @property
    def declared(self) -> Mapping[str, Any]:
        """Tags of the team by name; only organisers name a baseline."""
        return _declared(self.tags)[0]

    @property
    def tag_texts(self) -> list[str]:
        """Tags as boards show them, without the description and links."""
        declared, links = _declared(self.tags)
        shown = [(key, value) for key, value in declared.items() if value not in (False, None, "")]
        shown = [(key, value) for key, value in shown if key != "description" and key not in links]
        return [str(key) if value is True else f"{key}: {value}" for key, value in shown]

    @property
    def links(self) -> Mapping[str, str]:
        """Addresses of its paper and its code."""
        return _declared(self.tags)[1]


@lru_cache(maxsize=2_000)
def _declared(tags: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the tags in a text, and the links among them; never changed, as a process keeps them."""
    declared = by_name(msgspec.json.decode(tags))
    declared.pop("baseline", None)
    return declared, {key: declared[key] for key in LINKS if is_web_address(declared.get(key))}


class Systems:
    """Systems of benchmarks by their keys, read when first asked for.

    All are read at once, but for those of a page, which it loads beforehand.
    """

    def __init__(self, benchmarks: Collection[int]) -> None:
        self._rows = System.objects.filter(benchmark__in=benchmarks)
        self._known: dict[int, BoardSystem] = {}

    def __getitem__(self, system: int) -> BoardSystem:
        if system not in self._known:
            self._read(self._rows)
        return self._known[system]

    def load(self, systems: Collection[int]) -> None:
        """Read these systems and those that share a name with one of them."""
        missing = set(systems) - self._known.keys()
        if missing:
            names = System.objects.filter(pk__in=missing).values("name")
            self._read(self._rows.filter(name__in=names))

    @property
    def loaded(self) -> Collection[BoardSystem]:
        """The systems that were read."""
        return self._known.values()

    def _read(self, rows: QuerySet[System]) -> None:
        tags = Cast("tags", TextField())  # thousands are read, and fifty shown
        fields = ("pk", "name", tags, "baseline", "team_id", "team__name", "team__slug")
        self._known |= {row[0]: BoardSystem(*row) for row in rows.values_list(*fields)}

    def sort(self, runs: list[SystemRuns]) -> None:
        """Put runs in the order of the names of their systems, which a board keeps among equal ranks."""
        runs.sort(key=lambda each: (self[each.system].name, each.system))


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
    def columns(self) -> Columns:
        return self.board.columns

    @property
    def saw_gold(self) -> bool:
        return self.runs.saw_gold or self.system.team_id in self.board.teams_with_gold

    @property
    def n(self) -> int:
        return self.runs.n

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

    `columns` are the measures with a score, by key; `ordering` ranks the rows.
    """

    policy: Policy
    figures: Figures
    columns: Columns
    ordering: Column
    systems: Systems
    teams_with_gold: Collection[int] = ()
    sealed: bool = False

    @property
    def setting(self) -> Setting:
        return self.policy.setting

    @property
    def version(self) -> SettingVersion:
        return self.figures.version

    @property
    def rescoring(self) -> Rescoring | None:
        return self.figures.rescoring

    @property
    def computed_at(self) -> datetime | None:
        return self.figures.computed_at

    @cached_property
    def held_back(self) -> str:
        return "" if self.sealed else self.policy.sentence

    @cached_property
    def rows(self) -> Sequence[BoardRow]:
        return Rows(self, self.figures.runs)

    @cached_property
    def best_of_teams(self) -> set[int]:
        """Systems that lead those of their team by the main measure as shown; of equal ones the oldest."""
        main = self.columns.get(self.setting.main)
        best: dict[int, int] = {}
        for system in main.order if main else ():
            best.setdefault(self.systems[system].team_id, system)
        return set(best.values())

    def rows_of(self, systems: Collection[int]) -> list[BoardRow]:
        """Return the rows of these systems alone, in their order."""
        return list(Rows(self, (runs for runs in self.figures.runs if runs.system in systems)))

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


@dataclass(frozen=True)
class Asked:
    """Board to read, by default in its usual order and under its last completely scored version.

    `measures` limits the scores read to these and the one that orders. With `usual` all that its page shows
    is read at once.
    """

    setting: Setting
    order_by: str = ""
    version: int | None = None
    measures: Collection[str] | None = None
    usual: bool = False


def board(
    setting: Setting,
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    usual: bool = False,
) -> Board:
    """Rank systems by a measure under a version.

    By default by the main measure under the last completely scored version. Without a person the board is
    the public one, empty while sealed. With `usual` all that its page shows is read at once.
    """
    return boards([setting], order_by, person=person, version=version, usual=usual)[0]


def boards(
    settings: Collection[Setting],
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    measures: Collection[str] | None = None,
    usual: bool = False,
) -> list[Board]:
    """Return the boards of settings, in as many queries as for one.

    `measures` limits the scores read to these and the measure that orders. Large boards are read as stored.
    """
    asked = [Asked(each, order_by, version, measures, usual) for each in settings]
    return asked_boards(asked, person)


def asked_boards(asked: Sequence[Asked], person: Person | None) -> list[Board]:
    """Return several boards, each as asked, in as many queries as one."""
    settings = [each.setting for each in asked]
    hidden, sealed = held_back_from(settings, person), sealed_from(settings, person)
    numbers = {each.setting.pk: each.version for each in asked}
    figures = board_figures.read([each for each in settings if each.pk not in sealed], hidden, numbers)
    shown = versions.shown_by_setting([each for each in settings if each.pk not in figures], numbers)
    policies, readings = {}, []
    for each in asked:
        setting, pk = each.setting, each.setting.pk
        of_version = figures[pk].version if pk in figures else shown[pk].version
        policies[pk] = Policy(setting, pk in hidden, of_version)
        order = _ordering(policies[pk], each.order_by)
        if pk in shown and pk in sealed:
            figures[pk] = Figures(shown[pk].version, None, [], FiguresByMeasure({}, {}))
        elif pk in shown:
            readings.append(Reading(policies[pk], shown[pk], order, each.measures))
    if readings:
        read_choices(readings)
        read_values(readings)
    figures |= {each.policy.setting.pk: figures_of(each) for each in readings}
    systems = Systems({each.setting.benchmark_id for each in asked if figures[each.setting.pk].runs})
    for reading in readings:
        systems.sort(figures[reading.policy.setting.pk].runs)
    found = [(each, policies[each.setting.pk], figures[each.setting.pk]) for each in asked]
    return _ranked(found, systems, sealed)


def stored_by_job(setting: Setting) -> Callable[[], None]:
    """Compute a board for public and organisers; return a function storing it."""

    def figures(held_back: bool) -> Figures:
        shown = versions.shown(setting)
        reading = Reading(Policy(setting, held_back, shown.version), shown, setting.main)
        read_choices([reading])
        read_values([reading])
        found = figures_of(reading)
        Systems([setting.benchmark_id]).sort(found.runs)
        return found

    return board_figures.compute(setting, figures)


def _ordering(policy: Policy, key: str) -> str:
    """Return the measure that orders a board, by default the main one."""
    key = key or policy.setting.main
    if key not in policy.measures:
        menu = [*offered(policy.setting.kind), *contributed_to(policy.setting)]
        shown = [each.key for each in menu if each.ranks and each.key in policy.measures]
        known = ", ".join(key for key in shown if not policy.withholds(key))
        detail = f"The board has no measure {key[:60]}."
        raise DomainError("unknown_measure", detail, hint=f"Known: {known}.", field="order")
    measure = as_shown(policy.setting, key)
    if not measure.ranks and key != policy.setting.main:
        detail = f"{measure.title} orders no board."
        raise DomainError("bad_measure", detail, hint=measure.unranked, field="order")
    return key


# ---- reading many boards at once ---------------------------------------------------------------------


def compared_runs(board: Board, systems: Collection[int]) -> dict[int, list[ComparedRun]]:
    """Return the distinct runs of systems under the version of a board.

    Near-duplicates are replaced as on the board.
    """
    policy, shown = board.policy, versions.of_systems(board.version, systems)
    reading = Reading(policy, shown, policy.setting.main)
    system_of = {run.pk: system for system, runs in reading.runs.items() for run in runs}
    [past] = histories([(policy, system_of)])
    read_choices([reading])
    stored = {each.run.pk: ComparedRun(each.run.pk, each.evaluation, each.digests) for each in shown.runs}
    compared: dict[int, list[ComparedRun]] = {system: [] for system in systems}
    counted = {pk for pk, _ in reading.count(past.earlier)}
    for system, runs in reading.runs.items():
        for chosen in reading.chosen([run for run in runs if run.pk in counted]):
            run = past.earlier.get(chosen.pk, chosen.pk)
            if run in stored:
                compared[system].append(stored[run])
    return compared


def _wanted(asked: Asked, figures: FiguresByMeasure) -> set[str]:
    """Return the measures of a stored board that are read at once."""
    keys = {asked.order_by or asked.setting.main, *(asked.measures or ())}
    if asked.usual:
        keys |= {each.key for each in board_measures(asked.setting, figures.keys)}
        keys |= {*scheme_measures(asked.setting, figures.keys), TIES}
    return keys


def _ranked(
    boards: Collection[tuple[Asked, Policy, Figures]], systems: Systems, sealed: Collection[int]
) -> list[Board]:
    """Order the systems of boards by a measure."""
    golds = [(figures.version.test_set, figures.version.only) for _, _, figures in boards]
    teams = gold_exposure.teams_by_gold(golds)
    wanted = [(figures.by_measure, _wanted(asked, figures.by_measure)) for asked, _, figures in boards]
    runs_of = [
        (figures.by_measure, asked.order_by or asked.setting.main)
        for asked, _, figures in boards
        if asked.usual
    ]
    FiguresByMeasure.load_together(wanted, runs_of=runs_of)
    ranked = []
    for (asked, policy, figures), teams_with_gold in zip(boards, teams, strict=True):
        setting, key = policy.setting, asked.order_by or policy.setting.main
        columns, measure = Columns(setting, figures), as_shown(setting, key)
        ordering = columns.get(key) or Column(measure, {}, measure.title)
        is_sealed = setting.pk in sealed
        ranked.append(Board(policy, figures, columns, ordering, systems, teams_with_gold, is_sealed))
    return ranked


# ---- reversals -------------------------------------------------------------------------------------
@dataclass(slots=True)  # thousands are made for a page
class Reversal:
    """Pair in which `first` leads by one column, trails by another."""

    first: int
    second: int
    here: Column
    there: Column
    gain: float
    loss: float


def reversals(here: Column, others: Collection[Column]) -> list[Reversal]:
    """Return pairs of systems that another column reverses, the widest first."""
    compared, others = here.order[:COMPARED], list(others)
    pairs = _reversed(tuple(here.leads(compared)), tuple(tuple(there.leads(compared)) for there in others))
    return [
        Reversal(compared[a], compared[b], here, others[there], gain, loss)
        for a, b, there, gain, loss in pairs
    ]


Leads = tuple[float | None, ...]


@lru_cache(maxsize=16)  # a board in its usual order takes thousands of comparisons for each reader
def _reversed(here: Leads, others: tuple[Leads, ...]) -> list[tuple[int, int, int, float, float]]:
    """Return places of a pair, which order reverses it, gain here and loss there; the widest first."""
    pairs = []
    for (a, first), (b, second) in combinations(enumerate(here), 2):
        gain = (first or 0.0) - (second or 0.0)
        if gain <= 0:
            continue
        for there, leads in enumerate(others):
            one, other = leads[a], leads[b]
            if one is not None and other is not None and one < other:
                pairs.append((a, b, there, gain, one - other))
    return sorted(pairs, key=lambda pair: -min(pair[3], -pair[4]))


# ---- evaluations of a submission ---------------------------------------------------------------------


def open_runs(board: Board, system: int, person: Person | None) -> list[tuple[Submission, Disclosed]]:
    """Return the distinct runs of a system with their evaluations, under the version of a board.

    None while the gold is hidden: which run is the median, and what a near-duplicate scored, would show.
    """
    if board.policy.hidden:
        return []
    compared = {run.evaluation: run.submission for run in compared_runs(board, [system])[system]}
    related = ("setting", "setting__test_set", "setting__only", "setting__benchmark")
    evaluations = Evaluation.objects.select_related(*related).prefetch_related(
        "scores", "setting__versions__test_set", "setting__versions__only"
    )
    submissions = Submission.objects.select_related("system").in_bulk(compared.values())
    found = evaluations.filter(pk__in=compared)
    scored = sorted(((submissions[compared[each.pk]], each) for each in found), key=lambda each: each[0].pk)
    return [(run, each) for (run, _), each in zip(scored, disclosed(scored, person), strict=True)]


def median_run(
    board: Board, runs: Sequence[tuple[Submission, Disclosed]]
) -> tuple[Submission, Disclosed] | None:
    """Return the median run by the ordering measure, the lower middle one of an even number."""
    key = board.order_by
    values = [(each[1].values.get(key), each[0].pk, each) for each in runs]
    defined = sorted((value, pk, each) for value, pk, each in values if value is not None)
    return defined[(len(defined) - 1) // 2][2] if defined else None
