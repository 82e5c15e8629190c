"""Versions of a setting: another gold or scorer begins one.

Old scores stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, Submission

SCORER_CHANGED = "The scorer changed."


def begin(setting: Setting, *, by: User | None, note: str = "") -> SettingVersion:
    """Record the present gold and scorer as a new version."""
    number = setting.versions.count() + 1
    before = shown(setting)[0].number if number > 1 else None
    Setting.objects.filter(pk=setting.pk).update(version=number)
    setting.version = number
    return SettingVersion.objects.create(
        setting=setting,
        number=number,
        test_set=setting.test_set,
        only=setting.only,
        gold_sha256=setting.test_set.sha256,
        only_sha256=setting.only.sha256 if setting.only else "",
        scorer=scoring_identity.SCORER,
        note=note,
        shown_before=before,
        by=by,
    )


def of_setting(setting: Setting, number: int | None = None) -> SettingVersion:
    """Return one version, by default the newest."""
    version = setting.versions.filter(number=number or setting.version).first()
    if version is None:
        raise DomainError(
            "unknown_version", f"“{setting.title}” has no version {number}.",
            hint=f"The newest is {setting.version}.", field="version",
        )  # fmt: skip
    return version


# ---- the switch to a new version -------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Rescoring:
    """Progress of a version whose predecessor's runs are not all scored yet."""

    version: int
    scored: int
    total: int


def shown(setting: Setting) -> tuple[SettingVersion, Rescoring | None]:
    """Return the version shown, and the progress of a newer one.

    It switches when no run of the shown board waits for its score under the newest. Runs that come
    meanwhile were never on that board and don't delay the switch; a run that fails, is cancelled or
    withdrawn doesn't either.
    """
    newest = of_setting(setting)
    before = newest.number - 1 if newest.shown_before is None else newest.shown_before
    if not before:
        return newest, None
    earlier = of_setting(setting, before)
    rescoring = _rescoring(setting, earlier, newest)
    return (earlier, rescoring) if rescoring else (newest, None)


def _rescoring(setting: Setting, earlier: SettingVersion, newest: SettingVersion) -> Rescoring | None:
    on_board = Submission.objects.filter(
        pk__in=_scored_under(setting, earlier), scored_at__isnull=False, withdrawn_at=None
    )
    done = _scored_under(setting, newest)
    waiting = on_board.exclude(pk__in=done).exclude(state__in=submission_states.ENDED).count()
    if not waiting:
        return None
    scored = on_board.filter(pk__in=done).count()
    return Rescoring(newest.number, scored, scored + waiting)


def _scored_under(setting: Setting, version: SettingVersion) -> QuerySet[Submission, int]:
    return Submission.objects.filter(under(setting, version, prefix="evaluations__")).values_list(
        "pk", flat=True
    )


def under(setting: Setting, version: SettingVersion, *, prefix: str = "") -> Q:
    """Filter evaluations with the gold and scorer of a version."""
    conditions = {"setting": setting, "gold_sha256": version.gold_sha256, "scorer": version.scorer}
    if version.only_sha256:
        conditions["options__only"] = version.only_sha256
    else:
        conditions["options__only__isnull"] = True
    return Q(**{prefix + key: value for key, value in conditions.items()})


def require_version(benchmark: Benchmark, number: int) -> None:
    """Reject a number above the newest version of every setting."""
    most = max(benchmark.settings.values_list("version", flat=True), default=0)
    if number > most:
        detail = f"Version {number} does not exist."
        raise DomainError("unknown_version", detail, hint=f"The newest is {most}.", field="version")


def keep_up(benchmark: Benchmark) -> None:
    """Begin a version of settings whose newest has an older scorer."""
    newest = SettingVersion.objects.filter(setting__benchmark=benchmark, number=F("setting__version"))
    for outdated in newest.exclude(scorer=scoring_identity.SCORER).select_related("setting"):
        with transaction.atomic():
            row = locked(outdated.setting)
            if of_setting(row).scorer != scoring_identity.SCORER:
                begin(row, by=None, note=SCORER_CHANGED)
                score_anew(row)


def locked(setting: Setting) -> Setting:
    """Lock a setting and read it again."""
    file_contract.lock_settings(setting.benchmark)
    rows = Setting.objects.select_related("benchmark", "test_set", "only")
    return rows.select_for_update(of=("self",)).get(pk=setting.pk)


def score_anew(setting: Setting) -> None:
    """Queue the scored runs that this setting accepts.

    Their unchanged scores are reused.
    """
    covered: dict[tuple[Any, str], bool] = {}  # many runs share one contract
    runs = setting.benchmark.submissions.filter(withdrawn_at=None, state=Submission.State.SCORED)
    for submission in runs.select_related("benchmark", "system"):
        contract = file_contract.of_submission(submission)
        if not scoring_identity.concerned(submission, contract, [setting]):
            continue
        key = (tuple(submission.held_to), submission.form)
        if key not in covered:
            covered[key] = contract.covers(setting, submission.form)
        if covered[key]:
            submission_states.score_again(submission)
