"""Versions of a setting: another gold or scorer begins one.

Old scores stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Q
from django.db.models.fields.json import KeyTextTransform

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.distinct_runs import COLUMNS, Digests
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, StoredBoard, Submission
from evalsvc.evaluation.roles import ORGANISER, require

SCORER_CHANGED = "The scorer changed."
NO_FILTER = Q()
SCORED = Q(state=Submission.State.SCORED) | Q(scored_at__isnull=False)  # withdrawn runs included


def begin(setting: Setting, *, by: User | None, note: str = "") -> SettingVersion:
    """Record the present gold and scorer as a new version."""
    number = setting.versions.count() + 1
    before = shown(setting)[0].number if number > 1 else None
    Setting.objects.filter(pk=setting.pk).update(version=number)
    setting.version = number
    StoredBoard.objects.filter(setting=setting, outdated=False).update(outdated=True)
    return SettingVersion.objects.create(
        setting=setting,
        number=number,
        test_set=setting.test_set,
        only=setting.only,
        gold_sha256=setting.test_set.sha256,
        gold_salt=gold_digest.new_salt(setting, setting.test_set.sha256),
        only_sha256=setting.only_sha256,
        scorer=scoring_identity.SCORER,
        note=note,
        shown_before=before,
        by=by,
    )


def of_setting(setting: Setting, number: int | None = None) -> SettingVersion:
    """Return one version, by default the newest."""
    version = setting.versions.filter(number=number or setting.version).first()
    if version is None:
        raise _unknown_version(setting, number)
    return version


def _unknown_version(setting: Setting, number: int | None) -> DomainError:
    detail = f"“{setting.title}” has no version {number}."
    return DomainError("unknown_version", detail, hint=f"The newest is {setting.version}.", field="version")


# ---- the switch to a new version -------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Rescoring:
    """Progress of a version whose predecessor's runs are not all scored yet."""

    version: int
    scored: int
    total: int


class Run(NamedTuple):
    """Columns of a submission that boards read.

    `active` runs are scored and not withdrawn; `waiting` ones are being scored again; `dropped` ones were
    withdrawn after scoring. `known_under` are the settings under which figures were known then.
    """

    pk: int
    system_id: int
    run: str
    file_id: str
    created_at: datetime
    saw_gold: bool
    active: bool
    waiting: bool
    team_id: int = 0
    dropped: bool = False
    known_under: Sequence[int] = ()


class ScoredRun(NamedTuple):
    """Evaluation of a run.

    `digests` tell whether it equals another run; `aggregate` made bags of its sentences.
    """

    run: Run
    evaluation: int
    digests: Digests
    aggregate: str


class Shown(NamedTuple):
    """Version of a board, progress of a newer one, evaluations, oldest first.

    `withdrawn` are the runs scored under any version that were withdrawn when their figures were known;
    `withdrawn_beside` those of other settings of the benchmark whose gold may share lines with its.
    """

    version: SettingVersion
    rescoring: Rescoring | None
    runs: list[ScoredRun]
    withdrawn: Sequence[ScoredRun] = ()
    withdrawn_beside: Sequence[ScoredRun] = ()

    def limited(self, runs: Collection[int] | None) -> Shown:
        """Return it with some submissions alone; with all for None."""
        return (
            self if runs is None else self._replace(runs=[each for each in self.runs if each.run.pk in runs])
        )


def shown(setting: Setting) -> Shown:
    """Return the version shown, and the progress of a newer one."""
    return shown_by_setting([setting])[setting.pk]


def shown_by_setting(
    settings: Collection[Setting], numbers: Mapping[int, int | None] | None = None
) -> dict[int, Shown]:
    """Return the version asked for of each setting, by default the last complete.

    It switches when no run of the shown board waits for its score under the newest. Runs that come
    meanwhile were never on that board and don't delay the switch; a run that fails, is cancelled or
    withdrawn doesn't either.
    """
    if not settings:  # large boards are read as stored
        return {}
    numbered: dict[int, dict[int, SettingVersion]] = defaultdict(dict)
    read = {each.pk: each for each in settings}
    for version in SettingVersion.objects.filter(setting__in=read).select_related("test_set", "only"):
        version.setting = read[version.setting_id]
        numbered[version.setting_id][version.number] = version
    runs = _runs({each.benchmark_id for each in settings})
    scored, shown = _scored_runs(settings, runs), {}
    withdrawn = _withdrawn(scored)
    beside = _withdrawn_beside(settings, runs)
    for setting in settings:
        of_setting = numbered[setting.pk]
        newest = of_setting[setting.version]
        before = newest.number - 1 if newest.shown_before is None else newest.shown_before
        rescoring = _rescoring(scored, of_setting[before], newest) if before else None
        default = of_setting[before] if rescoring else newest
        if (number := (numbers or {}).get(setting.pk)) is not None and number not in of_setting:
            raise _unknown_version(setting, number)
        version = default if number is None else of_setting[number]
        progress = rescoring if version in (default, newest) else None
        own = withdrawn[setting.pk]
        others = [each for pk, each in beside[setting.pk].items() if pk not in own]
        shown[setting.pk] = Shown(version, progress, scored[_identity(version)], [*own.values()], others)
    return shown


def _withdrawn(
    scored: Mapping[tuple[int, str, str, str], list[ScoredRun]],
) -> defaultdict[int, dict[int, ScoredRun]]:
    """Return the scored runs that were withdrawn when their figures were known, by setting."""
    found = defaultdict[int, dict[int, ScoredRun]](dict)
    for (setting, *_), runs in scored.items():
        found[setting] |= {each.run.pk: each for each in runs if setting in each.run.known_under}
    return found


def _withdrawn_beside(
    settings: Collection[Setting], runs: Mapping[int, Run]
) -> defaultdict[int, dict[int, ScoredRun]]:
    """Return such runs of the other settings of a benchmark on the gold of each; few boards have any."""
    found = defaultdict[int, dict[int, ScoredRun]](dict)
    if any(run.known_under for run in runs.values()):
        shared = gold_digest.on_shared_gold({each.benchmark_id for each in settings})
        others = Setting.objects.filter(pk__in=set().union(*(shared[each.pk] for each in settings)))
        withdrawn = Q(submission__withdrawn_at__isnull=False)
        of_others = _withdrawn(_scored_runs(others, runs, withdrawn))
        for each in settings:
            for other in shared[each.pk]:
                found[each.pk] |= of_others[other]
    return found


def of_systems(version: SettingVersion, systems: Collection[int]) -> Shown:
    """Return the evaluations of some systems under a version, without reading the whole board."""
    setting = version.setting
    runs = _runs({setting.benchmark_id}, systems)
    scored = _scored_runs([setting], runs, Q(submission__system__in=systems))
    return Shown(version, None, scored[_identity(version)])


def runs_of(versions: Sequence[SettingVersion]) -> list[dict[int, Run]]:
    """Return the runs scored under each version of a setting, by submission."""
    setting = versions[0].setting
    scored = _scored_runs([setting], _runs({setting.benchmark_id}))
    return [{each.run.pk: each.run for each in scored[_identity(version)]} for version in versions]


def _identity(version: SettingVersion) -> tuple[int, str, str, str]:
    return version.setting_id, version.gold_sha256, version.scorer, version.only_sha256


def _scored_runs(
    settings: Collection[Setting], submissions: Mapping[int, Run], where: Q = NO_FILTER
) -> dict[tuple[int, str, str, str], list[ScoredRun]]:
    """Return the evaluations of runs, of all submissions or some, by setting, gold, scorer and limiting set.

    States are read before scores: a run that is scored in between counts as scored. The other way round it
    would neither wait nor have a score, and a new version would be shown without it.
    """
    links = Submission.evaluations.through.objects.filter(where, evaluation__setting__in=settings)
    identity = [f"evaluation__{field}" for field in ("setting_id", "gold_sha256", "scorer")]
    columns = ("submission_id", "evaluation_id", *(f"evaluation__{column}" for column in COLUMNS))
    options = [KeyTextTransform(key, "evaluation__options") for key in ("only", "aggregate")]
    rows = list(links.order_by("evaluation_id").values_list(*identity, *options, *columns))
    runs: dict[tuple[int, str, str, str], list[ScoredRun]] = defaultdict(list)
    for setting, gold, scorer, limit, aggregate, pk, evaluation, *digests in rows:
        if pk not in submissions:  # it came in between
            continue
        scored = ScoredRun(submissions[pk], evaluation, Digests(*digests), aggregate or "")
        runs[setting, gold, scorer, limit or ""].append(scored)
    return runs


def _runs(benchmarks: Collection[int], systems: Collection[int] | None = None) -> dict[int, Run]:
    """Return the submissions of benchmarks, withdrawn ones included."""
    active = Q(withdrawn_at=None) & SCORED
    waiting = active & ~Q(state__in=submission_states.ENDED)
    flags = {"active": active, "waiting": waiting, "dropped": Q(withdrawn_at__gt=F("scored_at"))}
    rows = Submission.objects.filter(benchmark__in=benchmarks).annotate(
        team_id=F("system__team"),
        **{name: ExpressionWrapper(q, BooleanField()) for name, q in flags.items()},
    )
    if systems is not None:
        rows = rows.filter(system__in=systems)
    return {pk: Run(pk, *columns) for pk, *columns in rows.values_list(*Run._fields).order_by()}


def _rescoring(
    scored: Mapping[tuple[int, str, str, str], list[ScoredRun]],
    earlier: SettingVersion,
    newest: SettingVersion,
) -> Rescoring | None:
    done = {scored_run.run.pk for scored_run in scored[_identity(newest)]}
    on_board = {each.run.pk: each.run for each in scored[_identity(earlier)] if each.run.active}
    waiting = sum(run.waiting for pk, run in on_board.items() if pk not in done)
    if not waiting:
        return None
    complete = len(done & on_board.keys())
    return Rescoring(newest.number, complete, complete + waiting)


def require_version(benchmark: Benchmark, number: int) -> None:
    """Reject a number above the newest version of every setting."""
    most = max(benchmark.settings.values_list("version", flat=True), default=0)
    if number > most:
        detail = f"Version {number} does not exist."
        raise DomainError("unknown_version", detail, hint=f"The newest is {most}.", field="version")


def keep_up(newest: Iterable[SettingVersion]) -> bool:
    """Begin a version of settings whose newest has an older scorer; True if there are any."""
    old = [each for each in newest if each.scorer != scoring_identity.SCORER]
    for outdated in old:
        with transaction.atomic():
            row = locked(outdated.setting)
            if of_setting(row).scorer != scoring_identity.SCORER:
                begin(row, by=None, note=SCORER_CHANGED)
                score_anew(row)
    return bool(old)


def locked(setting: Setting) -> Setting:
    """Lock a setting and read it again."""
    file_contract.lock_settings(setting.benchmark)
    rows = Setting.objects.select_related("benchmark", "test_set", "only")
    return rows.select_for_update(of=("self",)).get(pk=setting.pk)


def fill_outcomes(setting: Setting, *, by: User | None) -> int:
    """Queue the runs whose scores lack outcomes of items or digests, and return their number.

    Their scores stay as they are. Without `by`, the operator of the service asks.
    """
    if by is not None:
        require(setting.benchmark, by, ORGANISER)
    with transaction.atomic():
        row = locked(setting)
        links = Submission.evaluations.through.objects
        lacking = links.filter(evaluation__in=scoring_identity.incomplete([row]).values("pk"))
        return score_anew(row, pk__in=lacking.values("submission"))


def score_anew(setting: Setting, **only: Any) -> int:
    """Queue the scored runs that this setting accepts, and return their number.

    Their unchanged scores are reused; `only` filters the runs.
    """
    return submission_states.score_all_again(accepted(setting, **only))


def accepted(setting: Setting, **only: Any) -> list[Submission]:
    """Return the scored runs that a setting accepts and covers, as it is in memory."""
    # many runs share one contract
    contracts: dict[tuple[tuple[int, ...], str], FileContract] = {}
    covered: dict[tuple[tuple[int, ...], str], bool] = {}
    runs = setting.benchmark.submissions.filter(withdrawn_at=None, state=Submission.State.SCORED)
    found = []
    for submission in runs.filter(**only).select_related("benchmark", "system").order_by("scored_at", "pk"):
        held_to = tuple(submission.held_to)
        contract = contracts.get((held_to, submission.phase))
        if contract is None:  # a run that is held to no version predicts for any gold
            own = file_contract.of_submission(submission) if held_to else None
            contract = own or FileContract(submission.benchmark, [], submission.phase)
        contracts[held_to, submission.phase] = contract
        if not scoring_identity.concerned(submission, contract, [setting]):
            continue
        key = (held_to, submission.form)
        if key not in covered:
            covered[key] = not held_to or contract.covers(setting, submission.form)
        if covered[key]:
            found.append(submission)
    return found
