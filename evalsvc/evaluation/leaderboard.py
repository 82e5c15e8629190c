"""The board of a setting: mean, deviation and range of each measure over a system's standing runs."""

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
    """One measure over the runs of a system; undefined runs are left out and counted in `undefined`."""

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
class Row:
    """One system; equal means share a rank, a system without the measure has none."""

    system: System
    team: Team
    n: int
    figures: dict[str, Figure]
    submissions: list[Submission]
    rank: int | None = None
    saw_gold: bool = False

    @property
    def files(self) -> set[str]:
        """Digests of what its runs are: fewer than runs where some are the same bytes."""
        return {submission.file_id for submission in self.submissions}


@dataclass(frozen=True, slots=True)
class Board:
    """`sealed`: there may be scores, and they are not shown yet."""

    setting: Setting
    order_by: str
    measures: list[str]
    rows: list[Row]
    version: int = 1
    sealed: bool = False


def under(setting: Setting, version: SettingVersion, *, prefix: str = "") -> Q:
    """Evaluations that a version of a setting holds: its gold, its scorer."""
    told = {"setting": setting, "gold_sha256": version.gold_sha256, "scorer": version.scorer}
    if version.only_sha256:
        told["options__only"] = version.only_sha256
    else:
        told["options__only__isnull"] = True
    return Q(**{prefix + key: value for key, value in told.items()})


def standing(setting: Setting, version: SettingVersion) -> Iterable[Submission]:
    """Scored, not withdrawn, with an evaluation under this version of the setting."""
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
    of: Collection[str] = (),
) -> Board:
    """Rows from best to worst by a measure, the setting's main one unless told; of its newest version too.

    Without a person it is what everybody sees: a sealed setting has no rows yet. `of` names the measures that
    are wanted, which spares reading the scores of all others.
    """
    order_by = order_by or setting.main
    if order_by not in (setting.measures or MENU):
        raise DomainError("unknown_measure", f"There is no measure {order_by}.", field="order")
    if not MENU[order_by].ranks:
        detail = f"{MENU[order_by].title} says where a run was cut, not how good it is: it orders nothing."
        raise DomainError("bad_measure", detail, field="order")
    held = versions.of_setting(setting, version)
    if phases.hidden_from(setting, person):
        return Board(setting, order_by, [], [], held.number, sealed=True)
    submissions = list(standing(setting, held))
    scores = _scores(setting, held, submissions, of={*of, order_by} if of else ())
    runs: dict[int, list[Submission]] = defaultdict(list)
    for submission in submissions:
        runs[submission.system_id].append(submission)
    seers = gold_exposure.teams_that_saw((held.test_set, held.only))
    rows = [_row(of_system, scores, seers) for of_system in runs.values()]
    found = {key for row in rows for key in row.figures}
    shown = [key for key in MENU if key in found and key in (setting.measures or MENU)]
    higher = as_shown(setting, order_by).higher_is_better
    return Board(setting, order_by, shown, _ranked(rows, order_by, higher=higher), held.number)


def _scores(
    setting: Setting, version: SettingVersion, submissions: list[Submission], *, of: Collection[str]
) -> dict[int, dict[str, Score]]:
    """Scores by submission and measure, all unless told; of several evaluations the newest counts."""
    links = Submission.evaluations.through.objects.filter(
        under(setting, version, prefix="evaluation__"), submission__in=submissions
    ).order_by("evaluation_id")
    evaluation_of = dict(links.values_list("submission_id", "evaluation_id"))
    by_evaluation: dict[int, dict[str, Score]] = defaultdict(dict)
    wanted = Score.objects.filter(evaluation__in=set(evaluation_of.values()))
    for score in wanted.filter(measure__in=of) if of else wanted:
        by_evaluation[score.evaluation_id][score.measure] = score
    return {submission: by_evaluation[evaluation] for submission, evaluation in evaluation_of.items()}


def _row(submissions: list[Submission], scores: dict[int, dict[str, Score]], seers: set[int]) -> Row:
    measures = {key for submission in submissions for key in scores[submission.pk]}
    figures = {key: _figure(key, submissions, scores) for key in measures}
    system = submissions[0].system
    marked = system.team_id in seers or any(submission.saw_gold for submission in submissions)
    return Row(system, system.team, len(submissions), figures, submissions, saw_gold=marked)


def _figure(key: str, submissions: list[Submission], scores: dict[int, dict[str, Score]]) -> Figure:
    found = [(s.run, scores[s.pk].get(key)) for s in submissions]
    runs = [(run, score.value if score else None) for run, score in found]
    values = [value for _, value in runs if value is not None]
    reason = next((score.reason for _, score in found if score and score.value is None), "")
    return figure(values, runs=runs, reason=reason)


def figure(values: list[float], *, runs: list[tuple[str, float | None]], reason: str = "") -> Figure:
    """Mean, sample deviation (n − 1), count and range."""
    if not values:
        return Figure(None, None, 0, None, None, runs, reason)
    sd = stdev(values) if len(values) > 1 else None
    return Figure(fmean(values), sd, len(values), min(values), max(values), runs, reason)


def _ranked(rows: list[Row], measure: str, *, higher: bool) -> list[Row]:
    sign = 1 if higher else -1

    def mean(row: Row) -> float | None:
        found = row.figures.get(measure)
        return None if found is None or found.mean is None else sign * found.mean

    known = [value for row in rows if (value := mean(row)) is not None]

    def ranked(row: Row) -> Row:
        value = mean(row)
        rank = None if value is None else 1 + sum(other > value for other in known)
        return replace(row, rank=rank)

    told = [ranked(row) for row in rows]
    return sorted(told, key=lambda r: (r.rank is None, r.rank or 0, r.system.name, r.system.pk))


def shown(submission: Submission, *, person: Person | None = None) -> list[Evaluation]:
    """Its evaluations under every version of the settings that are not sealed, in the settings' order."""
    related = ("setting", "setting__test_set", "setting__benchmark")
    found = submission.evaluations.select_related(*related).prefetch_related("scores", "setting__versions")
    open_to = [each for each in found if not phases.hidden_from(each.setting, person)]
    return sorted(open_to, key=lambda each: (each.setting.rank, each.setting_id, standing_of(each)))


def newest(submission: Submission, *, person: Person | None = None) -> list[Evaluation]:
    """The evaluation of each setting that is not sealed, in the settings' order; of several what holds."""
    return under_version(shown(submission, person=person))


def under_version(found: Iterable[Evaluation], number: int | None = None) -> list[Evaluation]:
    """One evaluation of each setting: that of a version, else the one that holds most."""
    held = [each for each in found if number is None or number in versions_of(each)]
    return list({each.setting_id: each for each in held}.values())


def versions_scored(found: Iterable[Evaluation]) -> dict[str, list[int]]:
    """By the settings' keys, the versions that there are scores of."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for each in found:
        numbers[each.setting.key].update(versions_of(each))
    return {key: sorted(of_setting) for key, of_setting in numbers.items()}


def standing_of(evaluation: Evaluation) -> tuple[bool, int]:
    """How much an evaluation holds beside others of its setting: under the newest version, then the later."""
    return evaluation.setting.version in versions_of(evaluation), evaluation.pk


def versions_of(evaluation: Evaluation) -> list[int]:
    """Numbers of the versions of its setting whose score it is: a gold that came back has its old scores."""
    same = (evaluation.gold_sha256, evaluation.scorer, evaluation.options.get("only", ""))
    held = evaluation.setting.versions.all()
    return [each.number for each in held if same == (each.gold_sha256, each.scorer, each.only_sha256)]
