"""Leaderboard of a setting: figures over each system's active runs, ranks, reversals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import combinations
from math import fsum, sqrt
from operator import itemgetter
from typing import Any, NamedTuple, overload

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db.models import F, Q, TextField
from django.db.models.functions import Cast
from msgspec.structs import replace

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import board_figures
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.row_rules import FINAL, MEAN, best_on
from evalsvc.evaluation.benchmarks.versions import Rescoring, Run
from evalsvc.evaluation.board_figures import (
    EqualRuns,
    Figures,
    FiguresByMeasure,
    MeasureFigures,
    RunStatistics,
    SystemRuns,
)
from evalsvc.evaluation.disclosure.history import History, histories
from evalsvc.evaluation.disclosure.policy import (
    Disclosed,
    Policy,
    ShownValue,
    disclose,
    held_back_from,
    needs_claims,
    shown_values,
    withheld_values,
)
from evalsvc.evaluation.measures.computation import computation
from evalsvc.evaluation.measures.menu import (
    Measure,
    as_shown,
    board_measures,
    scheme_measures,
    shown_measures,
)
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission, System
from evalsvc.evaluation.roles import Person, sealed_from
from evalsvc.evaluation.submissions import gold_exposure

NOT_COMPUTED = "not computed for this form of predictions"
TIES = "auc_under_ties"  # a note tells where ties carry the area under the curve
COMPARED = 50  # systems whose pairs a board compares
NO_VALUE = "the measure has no value for these predictions"


@dataclass(frozen=True)
class Column:
    """Measure of a board by system; `title` names it in sentences."""

    measure: Measure
    figures: Mapping[int, RunStatistics]
    title: str

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
        figures = self.figures
        figures = figures if isinstance(figures, MeasureFigures) else MeasureFigures(figures)
        return figures.ranked(higher_is_better=self.measure.higher_is_better)

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

    def __init__(self, setting: Setting, by_measure: FiguresByMeasure) -> None:
        self._setting, self.by_measure = setting, by_measure
        self._columns: dict[str, Column] = {}

    def load(self, keys: Iterable[str]) -> None:
        """Read several columns at once."""
        self.by_measure.load(keys)

    def __getitem__(self, key: str) -> Column:
        if key not in self._columns:
            measure = as_shown(self._setting, key)
            self._columns[key] = Column(measure, self.by_measure.of(key), measure.title)
        return self._columns[key]

    def __contains__(self, key: object) -> bool:
        return key in self.by_measure.keys

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_measure.keys)

    def __len__(self) -> int:
        return len(self.by_measure.keys)


LINKS = ("paper", "code")


def is_web_address(value: object) -> bool:
    """True for an http or https address that is safe to link."""
    try:
        URLValidator(schemes=["http", "https"])(value)
    except ValidationError:
        return False
    return True


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
    def declared(self) -> dict[str, Any]:
        """Tags of the team; only organisers name a baseline."""
        tags: dict[str, Any] = msgspec.json.decode(self.tags)
        tags.pop("baseline", None)
        return tags

    @property
    def tag_texts(self) -> list[str]:
        """Tags as boards show them, without the description and links."""
        declared = self.declared.items()
        shown = [(key, value) for key, value in declared if value not in (False, None, "")]
        shown = [(key, value) for key, value in shown if key != "description" and key not in self.links]
        return [str(key) if value is True else f"{key}: {value}" for key, value in shown]

    @property
    def links(self) -> dict[str, str]:
        """Addresses of its paper and its code."""
        declared = self.declared
        return {key: declared[key] for key in LINKS if is_web_address(declared.get(key))}


class Systems:
    """Systems of benchmarks, read when first asked for."""

    def __init__(self, benchmarks: Collection[int]) -> None:
        self.benchmarks = benchmarks

    @cached_property
    def by_key(self) -> dict[int, BoardSystem]:
        rows = System.objects.filter(benchmark__in=self.benchmarks)
        tags = Cast("tags", TextField())  # thousands are read, and fifty shown
        fields = ("pk", "name", tags, "baseline", "team_id", "team__name", "team__slug")
        return {row[0]: BoardSystem(*row) for row in rows.values_list(*fields)}


class BoardRow(NamedTuple):
    """System on a board, with its rank by the ordering measure.

    Equal means share a rank, an undefined mean has none.
    """

    system: BoardSystem
    rank: int | None
    runs: SystemRuns
    columns: Columns
    saw_gold: bool = False

    @property
    def n(self) -> int:
        return self.runs.n

    def figure(self, key: str) -> RunStatistics | None:
        """Return the figure of a measure, if the system has one."""
        return self.columns[key].figures.get(self.system.pk) if key in self.columns else None

    def rank_by(self, key: str) -> int | None:
        """Return the rank by a measure, if it ranks."""
        ranks = key in self.columns and self.columns[key].measure.ranks
        return self.columns[key].ranks.get(self.system.pk) if ranks else None

    @property
    def figures(self) -> dict[str, RunStatistics]:
        self.columns.load(self.columns)
        pk = self.system.pk
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
            best.setdefault(self.systems.by_key[system].team_id, system)
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
        self._board = board
        ranks, systems = board.ordering.ranks, board.systems.by_key
        unranked = len(ranks) + 1
        keyed = [
            (ranks.get(runs.system, unranked), systems[runs.system].name, runs.system, runs)
            for runs in of_systems
        ]
        keyed.sort(key=itemgetter(0, 1, 2))
        self._runs = [runs for *_, runs in keyed]

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
        board = self._board
        system = board.systems.by_key[runs.system]
        saw_gold = runs.saw_gold or system.team_id in board.teams_with_gold
        return BoardRow(system, board.ordering.ranks.get(runs.system), runs, board.columns, saw_gold)


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
            readings.append(_Reading(policies[pk], shown[pk], order, each.measures))
    if readings:
        _read_choices(readings)
        _read_values(readings)
    figures |= {each.policy.setting.pk: _figures(each) for each in readings}
    return _ranked([(each, policies[each.setting.pk], figures[each.setting.pk]) for each in asked], sealed)


def stored_by_job(setting: Setting) -> Callable[[], None]:
    """Compute a board for public and organisers; return a function storing it."""

    def figures(held_back: bool) -> Figures:
        shown = versions.shown(setting)
        reading = _Reading(Policy(setting, held_back, shown.version), shown, setting.main)
        _read_choices([reading])
        _read_values([reading])
        return _figures(reading)

    return board_figures.compute(setting, figures)


def _ordering(policy: Policy, key: str) -> str:
    """Return the measure that orders a board, by default the main one."""
    key = key or policy.setting.main
    if key not in policy.measures:
        raise DomainError("unknown_measure", f"The board has no measure {key}.", field="order")
    measure = as_shown(policy.setting, key)
    if not measure.ranks and key != policy.setting.main:
        detail = f"{measure.title} orders no board."
        raise DomainError("bad_measure", detail, hint=measure.unranked, field="order")
    return key


# ---- reading many boards at once ---------------------------------------------------------------------
@dataclass(eq=False)
class _Reading:
    """Board while its distinct runs, and their values by run, are read."""

    policy: Policy
    shown: versions.Shown
    order_by: str
    measures: Collection[str] | None = None
    runs: dict[int, list[Run]] = field(default_factory=dict)
    equal: dict[int, list[tuple[Run, Run]]] = field(default_factory=dict)
    elsewhere: dict[int, float] = field(
        default_factory=dict
    )  # values that choose a run, the higher the better
    values: dict[int, dict[str, ShownValue]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Tell distinct runs from those that equal an earlier one.

        A run has answers of its own: the oldest file with a digest stands for all.
        """
        newest = {each.run.pk: each for each in self.shown.runs if each.run.active}
        oldest: dict[tuple[int, str], Run] = {}
        for _, (run, _, answers, _) in sorted(newest.items()):
            first = oldest.setdefault((run.system_id, answers), run)
            if first is not run:
                self.equal.setdefault(run.system_id, []).append((run, first))
        for run in sorted(oldest.values(), key=lambda run: (run.system_id, run.run, run.pk)):
            self.runs.setdefault(run.system_id, []).append(run)

    def chosen(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return those of the distinct runs of a system that its row shows."""
        rule = self.policy.setting.row_rule
        if rule == MEAN or not runs:
            return runs
        same: dict[int, list[Run]] = {run.pk: [run] for run in runs}
        for run, first in self.equal.get(runs[0].system_id, ()):
            same.get(first.pk, []).append(run)
        latest = max(runs, key=lambda run: max(each.pk for each in same[run.pk]))
        final = [(each.final_at, run) for run in runs for each in same[run.pk] if each.final_at]
        if rule == FINAL and final:
            return [max(final)[1]]
        best = [(self.elsewhere[run.pk], run.pk, run) for run in runs if run.pk in self.elsewhere]
        return [max(best)[2] if best else latest]

    def shown_runs(self, system: int) -> list[Run]:
        """Return the runs of a system with figures."""
        return [run for run in self.runs[system] if run.pk in self.values]

    def systems(self) -> list[SystemRuns]:
        """Sum up the runs of each system, and its distinct files."""
        files = {
            system: {run.file_id for run in (*runs, *(run for run, _ in self.equal.get(system, ())))}
            for system, runs in self.runs.items()
        }
        aggregate_of = {each.run.pk: each.aggregate for each in self.shown.runs}
        holders: dict[str, list[int]] = defaultdict(list)
        for system, digests in files.items():
            for digest in digests:
                holders[digest].append(system)
        return [
            SystemRuns(
                system=system,
                n=sum(run.pk in self.values for run in runs),
                newest=runs[-1].pk,
                last=max(run.created_at for run in runs),
                files=len(files[system]),
                saw_gold=any(run.saw_gold for run in runs),
                equal=[EqualRuns(run.run, first.run) for run, first in self.equal.get(system, ())],
                sharing=sorted({other for digest in files[system] for other in holders[digest]} - {system}),
                aggregates=sorted({name for run in runs if (name := aggregate_of[run.pk])}),
                names=[run.run for run in self.shown_runs(system)],
                chosen=self._chosen_name(system),
            )
            for system, runs in self.runs.items()
        ]

    def _chosen_name(self, system: int) -> str:
        runs = self.chosen(self.shown_runs(system))
        return runs[0].run if runs and self.policy.setting.row_rule != MEAN else ""


def _read_choices(readings: Collection[_Reading]) -> None:
    """Read the values under another setting by which settings choose a run.

    They are those the public sees, so that no row depends on its reader; sealed ones choose none.
    """
    rules = {reading: best_on(reading.policy.setting.row_rule) for reading in readings}
    if not any(rules.values()):
        return
    related = Setting.objects.select_related("benchmark", "test_set", "only")
    benchmarks = {reading.policy.setting.benchmark_id for reading, key in rules.items() if key}
    found = related.filter(benchmark__in=benchmarks, key__in=filter(None, rules.values()))
    sealed, hidden = sealed_from(found, None), held_back_from(found, None)
    settings = {(each.benchmark_id, each.key): each for each in found if each.pk not in sealed}
    shown = versions.shown_by_setting(list(settings.values()))
    theirs = {
        key: _Reading(Policy(each, each.pk in hidden, shown[each.pk].version), shown[each.pk], each.main, ())
        for key, each in settings.items()
    }
    _read_values(list(theirs.values()))
    for reading, key in rules.items():
        if other := theirs.get((reading.policy.setting.benchmark_id, key)):
            reading.elsewhere = _main_values(other)


def _main_values(reading: _Reading) -> dict[int, float]:
    """Return the main figure of every run, the higher the better."""
    key = reading.policy.setting.main
    sign = 1 if as_shown(reading.policy.setting, key).higher_is_better else -1
    shown = {pk: of_run[key].value for pk, of_run in reading.values.items() if key in of_run}
    for pairs in reading.equal.values():
        shown |= {run.pk: shown.get(first.pk) for run, first in pairs}
    return {pk: sign * value for pk, value in shown.items() if value is not None}


def _read_values(readings: Collection[_Reading]) -> None:
    """Read the newest values shown, by run and measure.

    Near-duplicates show the figures of an earlier run; beside that run of their system they are left out.
    """
    scores = _scores_of(readings)
    rows = _class_rows(readings)
    systems = [
        {each.pk: system for system, submissions in reading.runs.items() for each in submissions}
        for reading in readings
    ]
    pasts = histories([(reading.policy, of) for reading, of in zip(readings, systems, strict=True)])
    for reading, system_of, past in zip(readings, systems, pasts, strict=True):
        evaluation_of = {each.run.pk: each.evaluation for each in reading.shown.runs}
        for pk, system in system_of.items():
            run = past.earlier.get(pk, pk)
            if run != pk and system_of.get(run) == system:
                continue
            at, ladder = evaluation_of.get(run), past.ladder.get(pk)
            values = withheld_values(reading.policy)
            if at is not None:
                values = shown_values(reading.policy, scores.get(at, ()), rows.get(at, []), ladder=ladder)
            reading.values[pk] = {value.measure: value for value in values}


def _scores_of(readings: Collection[_Reading]) -> dict[int, list[_Stored]]:
    """Return the scores of evaluations; those of whole boards and of limited ones are read apart."""
    scores: dict[int, list[_Stored]] = defaultdict(list)
    for limited in (False, True):
        group = [each for each in readings if (each.measures is not None) == limited]
        stored = Score.objects.filter(_evaluations(group, prefix="evaluation__"))
        if limited:
            keys = (key for each in group for key in (each.order_by, *(each.measures or ())))
            stored = stored.filter(measure__in=set(keys))
        for evaluation, *columns in stored.values_list("evaluation_id", *_Stored._fields) if group else ():
            scores[evaluation].append(_Stored(*columns))
    return scores


class _Stored(NamedTuple):
    """Columns of a score."""

    measure: str
    value: float | None
    reason: str


def _evaluations(readings: Iterable[_Reading], *, prefix: str = "") -> Q:
    """Filter evaluations to the settings, and nearly to the versions, of boards."""
    shown = [reading.shown.version for reading in readings]
    columns: dict[str, set[object]] = {
        "setting__in": {each.setting_id for each in shown},
        "gold_sha256__in": {each.gold_sha256 for each in shown},
        "scorer__in": {each.scorer for each in shown},
    }
    return Q(**{prefix + name: values for name, values in columns.items()})


def _class_rows(readings: Collection[_Reading]) -> dict[int, list[dict[str, Any]]]:
    """Return class rows where a precision's step depends on the claims."""
    counting = [each for each in readings if needs_claims(each.policy)]
    if not counting:
        return {}
    return dict(Evaluation.objects.filter(_evaluations(counting)).values_list("pk", "classes"))


class ComparedRun(NamedTuple):
    """Run whose figures a system shows, its evaluation and the digest of its answers."""

    submission: int
    evaluation: int
    answers: str


def compared_runs(board: Board, systems: Collection[int]) -> dict[int, list[ComparedRun]]:
    """Return the distinct runs of systems under the version of a board.

    Near-duplicates are replaced as on the board.
    """
    policy, shown = board.policy, versions.of_systems(board.version, systems)
    reading = _Reading(policy, shown, policy.setting.main)
    system_of = {run.pk: system for system, runs in reading.runs.items() for run in runs}
    [past] = histories([(policy, system_of)])
    _read_choices([reading])
    stored = {each.run.pk: ComparedRun(each.run.pk, each.evaluation, each.answers) for each in shown.runs}
    compared: dict[int, list[ComparedRun]] = {system: [] for system in systems}
    for system, runs in reading.runs.items():
        own = {run.pk for run in runs}
        of_its_own = [run for run in runs if past.earlier.get(run.pk) not in own]
        for chosen in reading.chosen(of_its_own):
            run = past.earlier.get(chosen.pk, chosen.pk)
            if run in stored:
                compared[system].append(stored[run])
    return compared


def _figures(reading: _Reading) -> Figures:
    """Return statistics by measure and system.

    Their means are rounded like the runs.
    """
    policy, values = reading.policy, reading.values
    columns: dict[str, dict[int, RunStatistics]] = defaultdict(dict)
    run_values: dict[str, dict[int, list[float | None]]] = defaultdict(dict)
    for system in reading.runs:
        runs = reading.shown_runs(system)
        chosen = [values[each.pk] for each in reading.chosen(runs)]
        of_runs = [values[each.pk] for each in runs]
        for key in dict.fromkeys(key for of_run in of_runs for key in of_run):
            scores = [of_run.get(key) for of_run in of_runs]
            statistics = run_statistics([of_run.get(key) for of_run in chosen])
            mean = policy.value(key, statistics.mean).value
            columns[key][system] = statistics if mean is None else replace(statistics, mean=mean)
            run_values[key][system] = [score.value if score else None for score in scores]
    shown = {each.key: columns[each.key] for each in shown_measures(policy.setting, columns)}
    version, rescoring, _ = reading.shown
    return Figures(version, rescoring, reading.systems(), FiguresByMeasure(shown, run_values))


def _wanted(asked: Asked, figures: FiguresByMeasure) -> set[str]:
    """Return the measures of a stored board that are read at once."""
    keys = {asked.order_by or asked.setting.main, *(asked.measures or ())}
    if asked.usual:
        keys |= {each.key for each in board_measures(asked.setting, figures.keys)}
        keys |= {*scheme_measures(asked.setting, figures.keys), TIES}
    return keys


def _ranked(boards: Collection[tuple[Asked, Policy, Figures]], sealed: Collection[int]) -> list[Board]:
    """Order the systems of boards by a measure."""
    golds = [(figures.version.test_set, figures.version.only) for _, _, figures in boards]
    teams = gold_exposure.teams_by_gold(golds)
    systems = Systems({policy.setting.benchmark_id for _, policy, figures in boards if figures.runs})
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
        columns, measure = Columns(setting, figures.by_measure), as_shown(setting, key)
        ordering = columns.get(key) or Column(measure, {}, measure.title)
        is_sealed = setting.pk in sealed
        ranked.append(Board(policy, figures, columns, ordering, systems, teams_with_gold, is_sealed))
    return ranked


def run_statistics(scores: Sequence[ShownValue | None]) -> RunStatistics:
    """Return mean, sample deviation, count and range of the defined values."""
    values = [score.value for score in scores if score and score.value is not None]
    undefined = [score for score in scores if not score or score.value is None]
    reason = ""
    if undefined:
        reason = (undefined[0].reason or NO_VALUE) if undefined[0] else NOT_COMPUTED
    n, of = len(values), len(scores)
    if not values:
        return RunStatistics(None, None, 0, of, None, None, reason)
    mean = fsum(values) / n
    # statistics.stdev computes with fractions: seconds on a board of 10,000 runs
    sd = sqrt(fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None
    return RunStatistics(mean, sd, n, of, min(values), max(values), reason)


# ---- reversals -------------------------------------------------------------------------------------
@dataclass(frozen=True)
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
    pairs, compared = [], here.order[:COMPARED]
    elsewhere = [(there, there.leads(compared)) for there in others]
    for (a, first), (b, second) in combinations(enumerate(here.leads(compared)), 2):
        gain = (first or 0.0) - (second or 0.0)
        if gain <= 0:
            continue
        for there, leads in elsewhere:
            one, other = leads[a], leads[b]
            if one is not None and other is not None and one < other:
                pairs.append(Reversal(compared[a], compared[b], here, there, gain, one - other))
    return sorted(pairs, key=lambda pair: -min(pair.gain, -pair.loss))


# ---- evaluations of a submission ---------------------------------------------------------------------
Scored = tuple[Submission, Evaluation]


def shown(submission: Submission, *, person: Person | None = None) -> list[Disclosed]:
    """Return what a person sees of its evaluations, under every version."""
    related = ("setting", "setting__test_set", "setting__only", "setting__benchmark")
    evaluations = submission.evaluations.select_related(*related).prefetch_related(
        "scores", "setting__versions__test_set", "setting__versions__only"
    )
    sealed = sealed_from({each.setting for each in evaluations}, person)
    visible = disclosed([(submission, each) for each in evaluations if each.setting_id not in sealed], person)
    return sorted(visible, key=lambda each: (each.setting.rank, each.setting_id, precedence(each)))


def disclosed(scored: Sequence[Scored], person: Person | None) -> list[Disclosed]:
    """Return what a person sees of evaluations of submissions."""
    hidden = held_back_from({evaluation.setting for _, evaluation in scored}, person)
    policies = [Policy(each.setting, each.setting_id in hidden, _version_of(each)) for _, each in scored]
    pasts, earlier = _pasts(scored, policies)
    shown = []
    for (submission, evaluation), policy, past, source in zip(scored, policies, pasts, earlier, strict=True):
        # an evaluation's own time tells whether another team sent the same bytes before
        first = submission.scored_at or submission.created_at
        since = policy.version.created_at if policy.version else first
        shown.append(
            disclose(
                evaluation,
                policy,
                created_at=max(first, since),
                earlier=(past.earlier[submission.pk], source) if submission.pk in past.earlier else None,
                ladder=past.ladder.get(submission.pk),
            )
        )
    return shown


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


def main_values(scored: Sequence[Scored], person: Person) -> list[float | None]:
    """Return the main figures of evaluations as a person sees them."""
    hidden = held_back_from({evaluation.setting for _, evaluation in scored}, person)
    policies = [Policy(each.setting, each.setting_id in hidden, _version_of(each)) for _, each in scored]
    pasts, earlier = _pasts(scored, policies)
    sources = [
        source if submission.pk in past.earlier else evaluation
        for (submission, evaluation), past, source in zip(scored, pasts, earlier, strict=True)
    ]
    main = Score.objects.filter(evaluation__in=filter(None, sources), measure=F("evaluation__setting__main"))
    scores = {score.evaluation_id: score for score in main}
    both = zip(sources, policies, strict=True)
    counting = [source.pk for source, policy in both if source and needs_claims(policy)]
    rows: dict[int, list[dict[str, Any]]] = {}
    if counting:
        rows = dict(Evaluation.objects.filter(pk__in=counting).values_list("pk", "classes"))
    figures = []
    for (submission, _), policy, past, source in zip(scored, policies, pasts, sources, strict=True):
        stored = [scores[source.pk]] if source and source.pk in scores else []
        of_run = rows.get(source.pk, []) if source else []
        values = shown_values(policy, stored, of_run, ladder=past.ladder.get(submission.pk))
        figures.append(next((value.value for value in values), None))
    return figures


def _version_of(evaluation: Evaluation) -> SettingVersion | None:
    numbers = versions_of(evaluation)
    return next((each for each in evaluation.setting.versions.all() if each.number in numbers), None)


def _pasts(
    scored: Sequence[Scored], policies: Sequence[Policy]
) -> tuple[list[History], list[Evaluation | None]]:
    """Return the history of each, and the earlier evaluation that it shows."""
    runs = [(policy, [submission.pk]) for policy, (submission, _) in zip(policies, scored, strict=True)]
    pasts = histories(runs)
    of_run: dict[tuple[int, int, str], Evaluation] = {}
    if earlier := {run for past in pasts for run in past.earlier.values()}:
        links = Submission.evaluations.through.objects.filter(submission__in=earlier)
        links = links.order_by("evaluation_id").select_related("evaluation")
        for link in links.prefetch_related("evaluation__scores"):
            each = link.evaluation
            of_run[link.submission_id, each.setting_id, each.gold_sha256] = each
    shown = []
    for (submission, evaluation), past in zip(scored, pasts, strict=True):
        run = past.earlier.get(submission.pk, 0)
        shown.append(of_run.get((run, evaluation.setting_id, evaluation.gold_sha256)))
    return pasts, shown


def newest(submission: Submission, *, person: Person | None = None) -> list[Disclosed]:
    """Return the valid evaluation of each visible setting, in order."""
    return under_version(shown(submission, person=person))


def under_version(evaluations: Iterable[Disclosed], number: int | None = None) -> list[Disclosed]:
    """Return one evaluation per setting, by default the newest valid one."""
    matching = [each for each in evaluations if number is None or number in versions_of(each)]
    return list({each.setting_id: each for each in matching}.values())


def versions_scored(evaluations: Iterable[Disclosed]) -> dict[str, list[int]]:
    """Return the scored versions by setting key."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for each in evaluations:
        numbers[each.setting.key].update(versions_of(each))
    return {key: sorted(of_setting) for key, of_setting in numbers.items()}


def computation_of(evaluation: Disclosed, *, gold: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return every choice behind the scores of an evaluation.

    `gold` names the gold as it may be shown. Files that lack items were accepted before a setting was hidden.
    """
    complete = not (evaluation.detail.get("counts") or {}).get("missing")
    return computation(
        evaluation.options,
        scorer=evaluation.scorer,
        gold=gold,
        version=max(versions_of(evaluation), default=None),
        hidden=evaluation.setting.disclosure == Setting.Disclosure.HIDDEN and complete,
    )


def precedence(evaluation: Evaluation | Disclosed) -> tuple[bool, int]:
    """Sort key of evaluations: the version, then the time."""
    return evaluation.setting.version in versions_of(evaluation), evaluation.pk


def versions_of(evaluation: Evaluation | Disclosed) -> list[int]:
    """Return the numbers of the versions with its gold and scorer."""
    same = (evaluation.gold_sha256, evaluation.scorer, evaluation.options.get("only", ""))
    versions = evaluation.setting.versions.all()
    return [each.number for each in versions if same == (each.gold_sha256, each.scorer, each.only_sha256)]
