"""Versions of a setting: another gold or scorer begins one.

Old scores stay.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, Submission

SCORER_CHANGED = "The scorer changed."


def begin(setting: Setting, *, by: User | None, note: str = "") -> SettingVersion:
    """Record the present gold and scorer as a new version."""
    number = setting.versions.count() + 1
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
