"""Leaderboard of a setting: figures over each system's active runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from django.db.models import Q

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import phases, versions
from evalsvc.evaluation.measures.menu import MENU, as_shown
from evalsvc.evaluation.models import Evaluation, Score, Setting, SettingVersion, Submission, System
from evalsvc.evaluation.roles import Person
from evalsvc.evaluation.submissions import gold_exposure


@dataclass(frozen=True, slots=True)
class Figure:
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

    @property
    def undefined(self) -> int:
        return len(self.runs) - self.n


@dataclass(frozen=True, slots=True)
class BoardRow:
    """System on a board.

    Equal means share a rank, an undefined mean has none.
    """

    system: System
    team: Team
    n: int
    figures: dict[str, Figure]
    submissions: list[Submission]
    rank: int | None = None
    saw_gold: bool = False

    @property
    def files(self) -> set[str]:
        """Digests of its files; identical files count once."""
        return {submission.file_id for submission in self.submissions}


@dataclass(frozen=True, slots=True)
class Board:
    """Leaderboard; without rows while `sealed`."""

    setting: Setting
    order_by: str
    measures: list[str]
    rows: list[BoardRow]
    version: int = 1
    sealed: bool = False


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
    shown_version = versions.of_setting(setting, version)
    if phases.hidden_from(setting, person):
        return Board(setting, order_by, [], [], shown_version.number, sealed=True)
    submissions = list(active_runs(setting, shown_version))
    scores = _scores(setting, shown_version, submissions, measures={*measures, order_by} if measures else ())
    runs: dict[int, list[Submission]] = defaultdict(list)
    for submission in submissions:
        runs[submission.system_id].append(submission)
    teams_with_gold = gold_exposure.teams_that_saw((shown_version.test_set, shown_version.only))
    rows = [_row(of_system, scores, teams_with_gold) for of_system in runs.values()]
    scored = {key for row in rows for key in row.figures}
    shown = [key for key in MENU if key in scored and key in (setting.measures or MENU)]
    higher = as_shown(setting, order_by).higher_is_better
    return Board(setting, order_by, shown, _ranked(rows, order_by, higher=higher), shown_version.number)


def _scores(
    setting: Setting, version: SettingVersion, submissions: list[Submission], *, measures: Collection[str]
) -> dict[int, dict[str, Score]]:
    """Return scores by submission and measure, of the newest evaluation each."""
    links = Submission.evaluations.through.objects.filter(
        under(setting, version, prefix="evaluation__"), submission__in=submissions
    ).order_by("evaluation_id")
    evaluation_of = dict(links.values_list("submission_id", "evaluation_id"))
    by_evaluation: dict[int, dict[str, Score]] = defaultdict(dict)
    wanted = Score.objects.filter(evaluation__in=set(evaluation_of.values()))
    for score in wanted.filter(measure__in=measures) if measures else wanted:
        by_evaluation[score.evaluation_id][score.measure] = score
    return {submission: by_evaluation[evaluation] for submission, evaluation in evaluation_of.items()}


def _row(
    submissions: list[Submission], scores: dict[int, dict[str, Score]], teams_with_gold: set[int]
) -> BoardRow:
    measures = {key for submission in submissions for key in scores[submission.pk]}
    figures = {key: _figure(key, submissions, scores) for key in measures}
    system = submissions[0].system
    marked = system.team_id in teams_with_gold or any(submission.saw_gold for submission in submissions)
    return BoardRow(system, system.team, len(submissions), figures, submissions, saw_gold=marked)


def _figure(key: str, submissions: list[Submission], scores: dict[int, dict[str, Score]]) -> Figure:
    of_runs = [(s.run, scores[s.pk].get(key)) for s in submissions]
    runs = [(run, score.value if score else None) for run, score in of_runs]
    values = [value for _, value in runs if value is not None]
    reason = next((score.reason for _, score in of_runs if score and score.value is None), "")
    return figure(values, runs=runs, reason=reason)


def figure(values: list[float], *, runs: list[tuple[str, float | None]], reason: str = "") -> Figure:
    """Mean, sample deviation (n − 1), count and range."""
    if not values:
        return Figure(None, None, 0, None, None, runs, reason)
    sd = stdev(values) if len(values) > 1 else None
    return Figure(fmean(values), sd, len(values), min(values), max(values), runs, reason)


def _ranked(rows: list[BoardRow], measure: str, *, higher: bool) -> list[BoardRow]:
    sign = 1 if higher else -1

    def mean(row: BoardRow) -> float | None:
        figure = row.figures.get(measure)
        return None if figure is None or figure.mean is None else sign * figure.mean

    known = [value for row in rows if (value := mean(row)) is not None]

    def ranked(row: BoardRow) -> BoardRow:
        value = mean(row)
        rank = None if value is None else 1 + sum(other > value for other in known)
        return replace(row, rank=rank)

    return sorted(map(ranked, rows), key=lambda r: (r.rank is None, r.rank or 0, r.system.name, r.system.pk))


def shown(submission: Submission, *, person: Person | None = None) -> list[Evaluation]:
    """Return its evaluations under every version of settings visible to the person."""
    related = ("setting", "setting__test_set", "setting__benchmark")
    evaluations = submission.evaluations.select_related(*related).prefetch_related(
        "scores", "setting__versions"
    )
    open_to = [each for each in evaluations if not phases.hidden_from(each.setting, person)]
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
