"""Leaderboard of a setting: figures over each system's active runs, ranks, reversals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from django.db.models import Q

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.disclosure.history import history
from evalsvc.evaluation.disclosure.policy import (
    Disclosed,
    Policy,
    ShownValue,
    disclose,
    policy_for,
    shown_values,
)
from evalsvc.evaluation.measures.menu import MENU, Measure, as_shown, shown_measures
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission, System
from evalsvc.evaluation.roles import Person, hidden_from
from evalsvc.evaluation.submissions import gold_exposure

NOT_COMPUTED = "not computed for this form of predictions"
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

    submission: Submission
    first: Submission


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
    submissions: list[Submission]
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


def active_runs(setting: Setting, version: SettingVersion) -> Iterable[Submission]:
    """Return the scored, not withdrawn runs with an evaluation under a version."""
    return (
        Submission.objects.filter(
            versions.under(setting, version, prefix="evaluations__"),
            Q(state=Submission.State.SCORED) | Q(scored_at__isnull=False),
            benchmark=setting.benchmark,
            withdrawn_at=None,
        )
        .select_related("system__team")
        .order_by("system_id", "run", "pk")
        .distinct()
    )


def board(
    setting: Setting,
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    measures: Collection[str] = (),
) -> Board:
    """Rank systems by a measure under a version.

    By default by the main measure under the last completely scored version. Without a person the board is
    the public one, empty while sealed. `measures` limits the scores read.
    """
    order_by = order_by or setting.main
    of_version, rescoring = _version(setting, version)
    policy = policy_for(setting, person, of_version)
    if order_by not in policy.measures:
        raise DomainError("unknown_measure", f"The board has no measure {order_by}.", field="order")
    if not MENU[order_by].ranks and order_by != setting.main:
        detail = f"{MENU[order_by].title} orders no board."
        raise DomainError("bad_measure", detail, hint=MENU[order_by].unranked, field="order")
    if hidden_from(setting, person):
        return Board(setting, of_version, _without_scores(setting, order_by), {}, [], sealed=True)
    runs, equal = _distinct_runs(setting, of_version)
    values = _values(policy, of_version, runs, {*measures, order_by} if measures else ())
    figures = _figures(policy, runs, values)
    columns = {}
    for measure in shown_measures(setting, {key for of_system in figures.values() for key in of_system}):
        of_measure = {system.pk: of[measure.key] for system, of in figures.items() if measure.key in of}
        columns[measure.key] = Column(measure, of_measure, measure.title)
    ordering = columns.get(order_by) or _without_scores(setting, order_by)
    teams_with_gold = gold_exposure.teams_that_saw((of_version.test_set, of_version.only))
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
            equal=equal[system],
            saw_gold=system.team_id in teams_with_gold or any(each.saw_gold for each in submissions),
        )
        for system, submissions in runs.items()
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.system.name, row.system.pk))
    return Board(setting, of_version, ordering, columns, rows, held_back=policy.sentence, rescoring=rescoring)


def _version(setting: Setting, number: int | None) -> tuple[SettingVersion, Rescoring | None]:
    """Return the version of a board, and a newer one's progress."""
    version, rescoring = versions.shown(setting)
    if number is None or number == version.number:
        return version, rescoring
    return versions.of_setting(setting, number), rescoring if number == setting.version else None


def _distinct_runs(
    setting: Setting, version: SettingVersion
) -> tuple[dict[System, list[Submission]], dict[System, list[EqualRuns]]]:
    """Return distinct runs by system, and runs that equal an earlier one.

    A run has answers of its own: the oldest file with a digest stands for all.
    """
    links = Submission.evaluations.through.objects.filter(
        versions.under(setting, version, prefix="evaluation__")
    )
    columns = ("submission_id", "evaluation__answers_sha256", "evaluation__file_id")
    digests = {
        run: answers or file for run, answers, file in links.order_by("evaluation_id").values_list(*columns)
    }
    oldest: dict[tuple[int, str], Submission] = {}
    runs: dict[System, list[Submission]] = defaultdict(list)
    equal: dict[System, list[EqualRuns]] = defaultdict(list)
    active = list(active_runs(setting, version))
    for submission in sorted(active, key=lambda each: each.pk):
        first = oldest.setdefault((submission.system_id, digests[submission.pk]), submission)
        if first is not submission:
            equal[submission.system].append(EqualRuns(submission, first))
    for submission in active:
        if oldest[submission.system_id, digests[submission.pk]] is submission:
            runs[submission.system].append(submission)
    return runs, equal


def _without_scores(setting: Setting, key: str) -> Column:
    measure = as_shown(setting, key)
    return Column(measure, {}, measure.title)


def _values(
    policy: Policy,
    version: SettingVersion,
    runs: Mapping[System, list[Submission]],
    measures: Collection[str],
) -> dict[int, dict[str, ShownValue]]:
    """Return the newest values shown, by run and measure.

    Near-duplicates show the figures of an earlier run; beside that run of their system they are left out.
    """
    system_of = {each.pk: system.pk for system, submissions in runs.items() for each in submissions}
    past = history(policy, list(system_of))
    shown_as = {pk: past.earlier.get(pk, pk) for pk in system_of}
    shown_as = {pk: run for pk, run in shown_as.items() if run == pk or system_of.get(run) != system_of[pk]}
    links = Submission.evaluations.through.objects.filter(
        versions.under(policy.setting, version, prefix="evaluation__"), submission__in=set(shown_as.values())
    ).order_by("evaluation_id")
    evaluation_of = dict(links.values_list("submission_id", "evaluation_id"))
    scores: dict[int, list[Score]] = defaultdict(list)
    wanted = Score.objects.filter(evaluation__in=set(evaluation_of.values()))
    for score in wanted.filter(measure__in=measures) if measures else wanted:
        scores[score.evaluation_id].append(score)
    rows = _class_rows(policy, scores)
    values = {}
    for pk, run in shown_as.items():
        if (at := evaluation_of.get(run)) is not None:
            shown = shown_values(policy, scores[at], rows.get(at, []), ladder=past.ladder.get(pk))
            values[pk] = {value.measure: value for value in shown}
    return values


def _class_rows(policy: Policy, evaluations: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """Return class rows where a precision's step depends on the claims."""
    if not policy.hidden or not any("precision" in key for key in policy.measures):
        return {}
    return dict(Evaluation.objects.filter(pk__in=evaluations).values_list("pk", "classes"))


def _figures(
    policy: Policy, runs: Mapping[System, list[Submission]], values: Mapping[int, Mapping[str, ShownValue]]
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
    sd = stdev(values) if len(values) > 1 else None
    return RunStatistics(fmean(values), sd, len(values), min(values), max(values), of_runs, reason)


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


def reversals(here: Column, others: Iterable[Column]) -> list[Reversal]:
    """Return pairs that another column reverses, the widest first."""
    pairs = []
    for there in others:
        for pair in combinations(here.order, 2):
            gain, loss = here.ahead(*pair), there.ahead(*pair)
            if gain is not None and loss is not None and gain > 0 > loss:
                pairs.append(Reversal(*pair, here, there, gain, loss))
    return sorted(pairs, key=lambda pair: -min(pair.gain, -pair.loss))


# ---- evaluations of a submission ---------------------------------------------------------------------
def shown(submission: Submission, *, person: Person | None = None) -> list[Disclosed]:
    """Return what a person sees of its evaluations, under every version."""
    related = ("setting", "setting__test_set", "setting__only", "setting__benchmark")
    evaluations = submission.evaluations.select_related(*related).prefetch_related(
        "scores", "setting__versions__test_set", "setting__versions__only"
    )
    visible = [
        disclosed(submission, each, person) for each in evaluations if not hidden_from(each.setting, person)
    ]
    return sorted(visible, key=lambda each: (each.setting.rank, each.setting_id, precedence(each)))


def disclosed(submission: Submission, evaluation: Evaluation, person: Person | None) -> Disclosed:
    """Return what a person sees of one evaluation of a submission."""
    numbers = versions_of(evaluation)
    version = next((each for each in evaluation.setting.versions.all() if each.number in numbers), None)
    policy = policy_for(evaluation.setting, person, version)
    past, earlier = history(policy, [submission.pk]), None
    if submission.pk in past.earlier:
        run = past.earlier[submission.pk]
        same = {"setting": evaluation.setting_id, "gold_sha256": evaluation.gold_sha256}
        of_run = Evaluation.objects.filter(submissions=run, **same).prefetch_related("scores")
        earlier = next(((run, each) for each in of_run.order_by("-pk")), None)
    # bytes that another team sent before were scored before: that time is not this team's
    is_own = evaluation.created_at >= submission.created_at
    return disclose(
        evaluation,
        policy,
        created_at=evaluation.created_at if is_own else submission.scored_at or submission.created_at,
        earlier=earlier,
        ladder=past.ladder.get(submission.pk),
    )


def main_value(submission: Submission, evaluation: Evaluation, person: Person) -> float | None:
    """Return the main figure of an evaluation as a person sees it."""
    setting = evaluation.setting
    if policy_for(setting, person).hidden:
        return disclosed(submission, evaluation, person).values.get(setting.main)
    return next((score.value for score in evaluation.scores.all() if score.measure == setting.main), None)


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
