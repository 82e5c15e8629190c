"""Leaderboard of a setting: figures over each system's active runs, ranks, reversals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean, stdev

from django.db.models import Q

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.measures.menu import MENU, Measure, as_shown, shown_measures
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission, System
from evalsvc.evaluation.roles import Person, hidden_from
from evalsvc.evaluation.submissions import gold_exposure


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

    def apart(self, first: int, second: int) -> bool:
        """True when the ranges of one standard deviation don't meet."""
        gap, a, b = self.ahead(first, second), self.figures.get(first), self.figures.get(second)
        if gap is None or a is None or b is None or a.sd is None or b.sd is None:
            return False
        return abs(gap) > a.sd + b.sd


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
    saw_gold: bool = False

    @property
    def files(self) -> set[str]:
        """Digests of its files; identical files count once."""
        return {submission.file_id for submission in self.submissions}


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

    @property
    def order_by(self) -> str:
        return self.ordering.measure.key

    @property
    def measures(self) -> list[str]:
        return list(self.columns)


def under(setting: Setting, version: SettingVersion, *, prefix: str = "") -> Q:
    """Filter evaluations with the gold and scorer of a version."""
    conditions = {"setting": setting, "gold_sha256": version.gold_sha256, "scorer": version.scorer}
    if version.only_sha256:
        conditions["options__only"] = version.only_sha256
    else:
        conditions["options__only__isnull"] = True
    return Q(**{prefix + key: value for key, value in conditions.items()})


def active_runs(setting: Setting, version: SettingVersion) -> Iterable[Submission]:
    """Return the scored, not withdrawn runs with an evaluation under a version."""
    return (
        Submission.objects.filter(
            under(setting, version, prefix="evaluations__"),
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

    By default by the main measure under the newest version. Without a person the board is the public one,
    empty while sealed. `measures` limits the scores read.
    """
    order_by = order_by or setting.main
    if order_by not in (setting.measures or MENU):
        raise DomainError("unknown_measure", f"The board has no measure {order_by}.", field="order")
    if not MENU[order_by].ranks:
        detail = f"{MENU[order_by].title} is a threshold and cannot rank systems."
        raise DomainError("bad_measure", detail, field="order")
    of_version = versions.of_setting(setting, version)
    if hidden_from(setting, person):
        return Board(setting, of_version, _without_scores(setting, order_by), {}, [], sealed=True)
    runs: dict[System, list[Submission]] = defaultdict(list)
    for submission in active_runs(setting, of_version):
        runs[submission.system].append(submission)
    figures = _figures(setting, of_version, runs, {*measures, order_by} if measures else ())
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
            n=len(submissions),
            figures=figures[system],
            ranks={
                key: column.ranks[system.pk]
                for key, column in columns.items()
                if column.measure.ranks and system.pk in column.ranks
            },
            rank=ordering.ranks.get(system.pk),
            submissions=submissions,
            saw_gold=system.team_id in teams_with_gold or any(each.saw_gold for each in submissions),
        )
        for system, submissions in runs.items()
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.system.name, row.system.pk))
    return Board(setting, of_version, ordering, columns, rows)


def _without_scores(setting: Setting, key: str) -> Column:
    measure = as_shown(setting, key)
    return Column(measure, {}, measure.title)


def _figures(
    setting: Setting,
    version: SettingVersion,
    runs: Mapping[System, list[Submission]],
    measures: Collection[str],
) -> dict[System, dict[str, RunStatistics]]:
    """Return statistics by system and measure, from each run's newest evaluation."""
    links = Submission.evaluations.through.objects.filter(
        under(setting, version, prefix="evaluation__"),
        submission__in=[each for submissions in runs.values() for each in submissions],
    ).order_by("evaluation_id")
    evaluation_of = dict(links.values_list("submission_id", "evaluation_id"))
    scores: dict[int, dict[str, Score]] = defaultdict(dict)
    wanted = Score.objects.filter(evaluation__in=set(evaluation_of.values()))
    for score in wanted.filter(measure__in=measures) if measures else wanted:
        scores[score.evaluation_id][score.measure] = score
    figures = {}
    for system, submissions in runs.items():
        of_runs = [(each.run, scores[evaluation_of[each.pk]]) for each in submissions]
        keys = dict.fromkeys(key for _, of_run in of_runs for key in of_run)
        figures[system] = {key: run_statistics([(run, got.get(key)) for run, got in of_runs]) for key in keys}
    return figures


def run_statistics(runs: Iterable[tuple[str, Score | None]]) -> RunStatistics:
    """Mean, sample deviation (n − 1), count and range."""
    scores = list(runs)
    of_runs = [(run, score.value if score else None) for run, score in scores]
    values = [value for _, value in of_runs if value is not None]
    reason = next((score.reason for _, score in scores if score and score.value is None), "")
    if not values:
        return RunStatistics(None, None, 0, None, None, of_runs, reason)
    sd = stdev(values) if len(values) > 1 else None
    return RunStatistics(fmean(values), sd, len(values), min(values), max(values), of_runs, reason)


# ---- reversals -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Reversal:
    """Pair in which `first` leads by one column, trails by another.

    `clear` pairs are apart by both. No significance test is made.
    """

    first: int
    second: int
    here: Column
    there: Column
    gain: float
    loss: float
    clear: bool


def reversals(here: Column, others: Iterable[Column]) -> list[Reversal]:
    """Return pairs that another column reverses, the clearest and widest first."""
    pairs = []
    for there in others:
        for pair in combinations(here.order, 2):
            gain, loss = here.ahead(*pair), there.ahead(*pair)
            if gain is not None and loss is not None and gain > 0 > loss:
                clear = here.apart(*pair) and there.apart(*pair)
                pairs.append(Reversal(*pair, here, there, gain, loss, clear))
    return sorted(pairs, key=lambda pair: (not pair.clear, -min(pair.gain, -pair.loss)))


# ---- evaluations of a submission ---------------------------------------------------------------------
def shown(submission: Submission, *, person: Person | None = None) -> list[Evaluation]:
    """Return its evaluations under every version of settings visible to the person."""
    related = ("setting", "setting__test_set", "setting__benchmark")
    evaluations = submission.evaluations.select_related(*related).prefetch_related(
        "scores", "setting__versions"
    )
    open_to = [each for each in evaluations if not hidden_from(each.setting, person)]
    return sorted(open_to, key=lambda each: (each.setting.rank, each.setting_id, precedence(each)))


def newest(submission: Submission, *, person: Person | None = None) -> list[Evaluation]:
    """Return the valid evaluation of each visible setting, in order."""
    return under_version(shown(submission, person=person))


def under_version(evaluations: Iterable[Evaluation], number: int | None = None) -> list[Evaluation]:
    """Return one evaluation per setting, by default the newest valid one."""
    matching = [each for each in evaluations if number is None or number in versions_of(each)]
    return list({each.setting_id: each for each in matching}.values())


def versions_scored(evaluations: Iterable[Evaluation]) -> dict[str, list[int]]:
    """Return the scored versions by setting key."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for each in evaluations:
        numbers[each.setting.key].update(versions_of(each))
    return {key: sorted(of_setting) for key, of_setting in numbers.items()}


def precedence(evaluation: Evaluation) -> tuple[bool, int]:
    """Sort key of evaluations: the version, then the time."""
    return evaluation.setting.version in versions_of(evaluation), evaluation.pk


def versions_of(evaluation: Evaluation) -> list[int]:
    """Return the numbers of the versions with its gold and scorer."""
    same = (evaluation.gold_sha256, evaluation.scorer, evaluation.options.get("only", ""))
    versions = evaluation.setting.versions.all()
    return [each.number for each in versions if same == (each.gold_sha256, each.scorer, each.only_sha256)]
