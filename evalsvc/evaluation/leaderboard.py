"""Leaderboard of a setting: figures over each system's active runs, ranks, reversals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import fsum, sqrt
from typing import Any, NamedTuple

from django.db.models import F, Q

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.versions import Rescoring, Run
from evalsvc.evaluation.disclosure.history import History, histories
from evalsvc.evaluation.disclosure.policy import (
    Disclosed,
    Policy,
    ShownValue,
    disclose,
    held_back_from,
    needs_claims,
    shown_values,
)
from evalsvc.evaluation.measures.menu import MENU, Measure, as_shown, shown_measures
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission, System
from evalsvc.evaluation.roles import Person, sealed_from
from evalsvc.evaluation.submissions import gold_exposure

NOT_COMPUTED = "not computed for this form of predictions"
COMPARED = 50  # systems whose pairs a board compares
NO_VALUE = "the measure has no value for these predictions"


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """Measure over the runs of a system.

    `n` counts runs with a defined value.
    """

    mean: float | None
    sd: float | None
    n: int
    minimum: float | None
    maximum: float | None
    runs: list[tuple[str, float | None]]
    reason: str = ""


@dataclass(frozen=True)
class Column:
    """Measure of a board by system; `title` names it in sentences."""

    measure: Measure
    figures: Mapping[int, RunStatistics]
    title: str

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Ranks by mean; equal means share the better one, undefined have none."""
        means = {system: figure.mean for system, figure in self.figures.items() if figure.mean is not None}
        first: dict[float, int] = {}
        for rank, mean in enumerate(sorted(means.values(), reverse=self.measure.higher_is_better), start=1):
            first.setdefault(mean, rank)
        return {system: first[mean] for system, mean in means.items()}

    @cached_property
    def order(self) -> list[int]:
        return sorted(self.ranks, key=lambda system: (self.ranks[system], system))

    def ahead(self, first: int, second: int) -> float | None:
        """Return the lead of one system over another, if both are defined."""
        a, b = self.figures.get(first), self.figures.get(second)
        if a is None or b is None or a.mean is None or b.mean is None:
            return None
        return (a.mean - b.mean) * (1 if self.measure.higher_is_better else -1)


@dataclass(frozen=True, slots=True)
class EqualRuns:
    """Submission with the same answers as an earlier one of its system."""

    submission: Run
    first: Run


@dataclass(frozen=True, slots=True)
class BoardRow:
    """System on a board, with its rank by every measure that ranks.

    Equal means share a rank, an undefined mean has none.
    """

    system: System
    team: Team
    n: int
    figures: dict[str, RunStatistics]
    ranks: dict[str, int]
    rank: int | None
    submissions: list[Run]
    equal: list[EqualRuns]
    saw_gold: bool = False

    @property
    def declared(self) -> dict[str, Any]:
        """Tags of the team; only organisers name a baseline."""
        return {key: value for key, value in self.system.tags.items() if key != "baseline"}

    @property
    def files(self) -> set[str]:
        """Digests of its files, those of equal runs included."""
        every = [*self.submissions, *(equal.submission for equal in self.equal)]
        return {submission.file_id for submission in every}


@dataclass(frozen=True, slots=True)
class Board:
    """Leaderboard; without rows while `sealed`.

    `columns` are the measures with a score, by key; `ordering` ranks the rows.
    """

    setting: Setting
    version: SettingVersion
    ordering: Column
    columns: dict[str, Column]
    rows: list[BoardRow]
    sealed: bool = False
    held_back: str = ""
    rescoring: Rescoring | None = None

    @property
    def order_by(self) -> str:
        return self.ordering.measure.key

    @property
    def measures(self) -> list[str]:
        return list(self.columns)


def board(
    setting: Setting,
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
) -> Board:
    """Rank systems by a measure under a version.

    By default by the main measure under the last completely scored version. Without a person the board is
    the public one, empty while sealed.
    """
    return boards([setting], order_by, person=person, version=version)[0]


def boards(
    settings: Collection[Setting],
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    measures: Collection[str] | None = None,
) -> list[Board]:
    """Return the boards of settings, in as many queries as for one.

    `measures` limits the scores read to these and the measure that orders.
    """
    shown = versions.shown_by_setting(settings, version)
    hidden, sealed = held_back_from(settings, person), sealed_from(settings, person)
    readings = []
    for setting in settings:
        policy = Policy(setting, setting.pk in hidden, shown[setting.pk].version)
        readings.append(_Reading(policy, shown[setting.pk], _ordering(policy, order_by)))
    open_ = [each for each in readings if each.policy.setting.pk not in sealed]
    _read_runs(open_)
    _read_values(open_, measures)
    saw_gold = gold_exposure.teams_by_gold(
        (each.shown.version.test_set, each.shown.version.only) for each in open_
    )
    ranked = {
        each.policy.setting.pk: _ranked(each, teams) for each, teams in zip(open_, saw_gold, strict=True)
    }
    return [ranked.get(each.policy.setting.pk) or _sealed(each) for each in readings]


def _ordering(policy: Policy, key: str) -> str:
    """Return the measure that orders a board, by default the main one."""
    key = key or policy.setting.main
    if key not in policy.measures:
        raise DomainError("unknown_measure", f"The board has no measure {key}.", field="order")
    if not MENU[key].ranks and key != policy.setting.main:
        detail = f"{MENU[key].title} orders no board."
        raise DomainError("bad_measure", detail, hint=MENU[key].unranked, field="order")
    return key


# ---- reading many boards at once ---------------------------------------------------------------------
@dataclass
class _Reading:
    """A board while its runs and their values are read."""

    policy: Policy
    shown: versions.Shown
    order_by: str
    runs: dict[System, list[Run]] = field(default_factory=dict)
    equal: dict[int, list[EqualRuns]] = field(default_factory=dict)
    values: dict[int, dict[str, ShownValue]] = field(default_factory=dict)


def _read_runs(readings: Collection[_Reading]) -> None:
    """Read the distinct runs of boards, and the repeated ones apart.

    A run has answers of its own: the oldest file with a digest stands for all.
    """
    benchmarks = {each.policy.setting.benchmark_id for each in readings}
    systems = System.objects.filter(benchmark__in=benchmarks).select_related("team").in_bulk()
    for reading in readings:
        newest = {each.run.pk: each for each in reading.shown.runs if each.run.active}
        oldest: dict[tuple[int, str], Run] = {}
        for _, (run, _, answers) in sorted(newest.items()):
            first = oldest.setdefault((run.system_id, answers), run)
            if first is not run:
                reading.equal.setdefault(run.system_id, []).append(EqualRuns(run, first))
        for run in sorted(oldest.values(), key=lambda run: (run.system_id, run.run, run.pk)):
            reading.runs.setdefault(systems[run.system_id], []).append(run)


def _read_values(readings: Collection[_Reading], measures: Collection[str] | None) -> None:
    """Read the newest values shown, by run and measure.

    Near-duplicates show the figures of an earlier run; beside that run of their system they are left out.
    """
    scores = _stored_values(readings, measures)
    rows = _class_rows(readings)
    systems = [
        {each.pk: system.pk for system, submissions in reading.runs.items() for each in submissions}
        for reading in readings
    ]
    pasts = histories([(reading.policy, of) for reading, of in zip(readings, systems, strict=True)])
    for reading, system_of, past in zip(readings, systems, pasts, strict=True):
        evaluation_of = {each.run.pk: each.evaluation for each in reading.shown.runs}
        for pk, system in system_of.items():
            run = past.earlier.get(pk, pk)
            if run != pk and system_of.get(run) == system:
                continue
            if (at := evaluation_of.get(run)) is not None:
                ladder = past.ladder.get(pk)
                values = shown_values(reading.policy, scores.get(at, ()), rows.get(at, []), ladder=ladder)
                reading.values[pk] = {value.measure: value for value in values}


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


def _stored_values(
    readings: Collection[_Reading], measures: Collection[str] | None
) -> dict[int, list[_Stored]]:
    """Return the scores of boards by evaluation."""
    stored: dict[int, list[_Stored]] = defaultdict(list)
    rows = Score.objects.filter(_evaluations(readings, prefix="evaluation__"))
    if measures is not None:
        rows = rows.filter(measure__in={*measures, *(reading.order_by for reading in readings)})
    for evaluation, *columns in rows.values_list("evaluation_id", *_Stored._fields):
        stored[evaluation].append(_Stored(*columns))
    return stored


def _class_rows(readings: Collection[_Reading]) -> dict[int, list[dict[str, Any]]]:
    """Return class rows where a precision's step depends on the claims."""
    counting = [each for each in readings if needs_claims(each.policy)]
    if not counting:
        return {}
    return dict(Evaluation.objects.filter(_evaluations(counting)).values_list("pk", "classes"))


def _ranked(reading: _Reading, teams_with_gold: set[int]) -> Board:
    policy, setting, runs, values = reading.policy, reading.policy.setting, reading.runs, reading.values
    figures = _figures(policy, runs, values)
    columns = {}
    for measure in shown_measures(setting, {key for of_system in figures.values() for key in of_system}):
        of_measure = {system.pk: of[measure.key] for system, of in figures.items() if measure.key in of}
        columns[measure.key] = Column(measure, of_measure, measure.title)
    ordering = columns.get(reading.order_by) or _without_scores(setting, reading.order_by)
    rows = [
        BoardRow(
            system=system,
            team=system.team,
            n=sum(each.pk in values for each in submissions),
            figures=figures[system],
            ranks={
                key: column.ranks[system.pk]
                for key, column in columns.items()
                if column.measure.ranks and system.pk in column.ranks
            },
            rank=ordering.ranks.get(system.pk),
            submissions=submissions,
            equal=reading.equal.get(system.pk, []),
            saw_gold=system.team_id in teams_with_gold or any(each.saw_gold for each in submissions),
        )
        for system, submissions in runs.items()
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.system.name, row.system.pk))
    version, rescoring, _ = reading.shown
    return Board(setting, version, ordering, columns, rows, held_back=policy.sentence, rescoring=rescoring)


def _sealed(reading: _Reading) -> Board:
    setting = reading.policy.setting
    ordering = _without_scores(setting, reading.order_by)
    return Board(setting, reading.shown.version, ordering, {}, [], sealed=True)


def _without_scores(setting: Setting, key: str) -> Column:
    measure = as_shown(setting, key)
    return Column(measure, {}, measure.title)


def _figures(
    policy: Policy, runs: Mapping[System, list[Run]], values: Mapping[int, Mapping[str, ShownValue]]
) -> dict[System, dict[str, RunStatistics]]:
    """Return statistics by system and measure.

    Their means are rounded like the runs.
    """
    figures: dict[System, dict[str, RunStatistics]] = {}
    for system, submissions in runs.items():
        of_runs = [(each.run, values[each.pk]) for each in submissions if each.pk in values]
        figures[system] = {}
        for key in dict.fromkeys(key for _, of_run in of_runs for key in of_run):
            statistics = run_statistics([(run, shown.get(key)) for run, shown in of_runs])
            mean = policy.value(key, statistics.mean).value
            figures[system][key] = statistics if mean is None else replace(statistics, mean=mean)
    return figures


def run_statistics(runs: Iterable[tuple[str, ShownValue | None]]) -> RunStatistics:
    """Mean, sample deviation (n − 1), count and range."""
    scores = list(runs)
    of_runs = [(run, score.value if score else None) for run, score in scores]
    values = [value for _, value in of_runs if value is not None]
    reasons = (
        score.reason if score else NOT_COMPUTED for _, score in scores if not score or score.value is None
    )
    reason = next((reason or NO_VALUE for reason in reasons), "")
    if not values:
        return RunStatistics(None, None, 0, None, None, of_runs, reason)
    n = len(values)
    mean = fsum(values) / n
    # statistics.stdev computes with fractions: seconds on a board of 10,000 runs
    sd = sqrt(fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None
    return RunStatistics(mean, sd, n, min(values), max(values), of_runs, reason)


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
    pairs = []
    for pair in combinations(here.order[:COMPARED], 2):
        gain = here.ahead(*pair) or 0.0
        if gain <= 0:
            continue
        for there in others:
            loss = there.ahead(*pair)
            if loss is not None and loss < 0:
                pairs.append(Reversal(*pair, here, there, gain, loss))
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
        # bytes that another team sent before were scored before: that time is not this team's
        is_own = evaluation.created_at >= submission.created_at
        shown.append(
            disclose(
                evaluation,
                policy,
                created_at=evaluation.created_at if is_own else submission.scored_at or submission.created_at,
                earlier=(past.earlier[submission.pk], source) if source else None,
                ladder=past.ladder.get(submission.pk),
            )
        )
    return shown


def main_values(scored: Sequence[Scored], person: Person) -> list[float | None]:
    """Return the main figures of evaluations as a person sees them."""
    hidden = held_back_from({evaluation.setting for _, evaluation in scored}, person)
    policies = [Policy(each.setting, each.setting_id in hidden, _version_of(each)) for _, each in scored]
    pasts, earlier = _pasts(scored, policies)
    sources = [source or evaluation for (_, evaluation), source in zip(scored, earlier, strict=True)]
    main = Score.objects.filter(evaluation__in=sources, measure=F("evaluation__setting__main"))
    scores = {score.evaluation_id: score for score in main}
    counting = [source.pk for source, policy in zip(sources, policies, strict=True) if needs_claims(policy)]
    rows: dict[int, list[dict[str, Any]]] = {}
    if counting:
        rows = dict(Evaluation.objects.filter(pk__in=counting).values_list("pk", "classes"))
    figures = []
    for (submission, _), policy, past, source in zip(scored, policies, pasts, sources, strict=True):
        stored = [scores[source.pk]] if source.pk in scores else []
        values = shown_values(policy, stored, rows.get(source.pk, []), ladder=past.ladder.get(submission.pk))
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


def precedence(evaluation: Evaluation | Disclosed) -> tuple[bool, int]:
    """Sort key of evaluations: the version, then the time."""
    return evaluation.setting.version in versions_of(evaluation), evaluation.pk


def versions_of(evaluation: Evaluation | Disclosed) -> list[int]:
    """Return the numbers of the versions with its gold and scorer."""
    same = (evaluation.gold_sha256, evaluation.scorer, evaluation.options.get("only", ""))
    versions = evaluation.setting.versions.all()
    return [each.number for each in versions if same == (each.gold_sha256, each.scorer, each.only_sha256)]
