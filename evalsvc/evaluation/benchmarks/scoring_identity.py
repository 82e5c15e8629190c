"""Identity of a scoring: file, setting, gold, options and scorer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.measures.computation import FORMS_OF_KIND, SCORER
from evalsvc.evaluation.models import Evaluation, Setting, SettingVersion, Submission


def concerned(
    submission: Submission, contract: FileContract | None = None, settings: list[Setting] | None = None
) -> list[Setting]:
    """Return settings that concern a run: its own and later ones.

    They accept its form, and the later ones its phase and time.
    """
    contract = contract or file_contract.of_submission(submission)
    sent_to = {setting.pk for setting in contract.settings}
    return [
        setting
        for setting in (file_contract.settings_of(submission.benchmark) if settings is None else settings)
        if submission.form in FORMS_OF_KIND[setting.kind]
        and (setting.pk in sent_to or file_contract.accepts(setting, submission.phase, submission.created_at))
    ]


def fitting(
    submission: Submission, contract: FileContract | None = None, settings: list[Setting] | None = None
) -> list[Setting]:
    """Return the settings whose items the run's file covers.

    Items added later may be missing in the file.
    """
    contract = contract or file_contract.of_submission(submission)
    return [
        setting
        for setting in concerned(submission, contract, settings)
        if contract.covers(setting, submission.form)
    ]


def not_covered(submission: Submission) -> list[Setting]:
    """Return settings for whose present gold a submission lacks a score."""
    if submission.state != Submission.State.SCORED:
        return []
    scored = submission.evaluations.values_list("setting_id", "gold_sha256", "options__only", "scorer")
    under = {(setting, gold, only or "", scorer) for setting, gold, only, scorer in scored}
    newest = SettingVersion.objects.filter(
        setting__benchmark=submission.benchmark, number=F("setting__version")
    )
    present = newest.values_list("setting_id", "gold_sha256", "only_sha256", "scorer")
    lacking = {version[0] for version in present if version not in under}
    return [setting for setting in concerned(submission) if setting.pk in lacking] if lacking else []


def options_of(contract: FileContract, setting: Setting, submission: Submission) -> dict[str, Any]:
    """Return all options that change a figure, but for file and gold."""
    benchmark, chosen = contract.benchmark, contract.options
    options = {
        "task": benchmark.task,
        "unit": setting.unit,
        "form": submission.form,
        "labels": contract.labels,
        "negative": benchmark.negative,
        "missing": benchmark.missing,
        "beta": chosen["beta"],
    }
    if setting.only:
        options["only"] = setting.only.sha256
    if contract.relations:
        symmetric = [label["name"] for label in contract.relations if label.get("symmetric")]
        options |= {"relations": [label["name"] for label in contract.relations], "symmetric": symmetric}
    if old := contract.old_labels_of(setting):
        options["old_labels"] = old
    if submission.columns:
        options["columns"] = submission.columns
    return options | _of_form(chosen, setting, submission)


def _of_form(chosen: dict[str, Any], setting: Setting, submission: Submission) -> dict[str, Any]:
    """Return the options of this unit and form.

    Others must not prevent reuse.
    """
    if setting.unit == Setting.Unit.DOCUMENT:
        of_form = {
            "tags": ("scheme", "repair"),
            "entity_texts": ("strip_articles", "grounding"),
            "triple_texts": ("strip_articles",),
        }
        return {key: chosen[key] for key in ("casefold", *of_form.get(submission.form, ()))}
    scored = submission.form in ("scores", "bag")
    options = {"threshold": chosen["threshold"]} if scored else {}
    if setting.unit == Setting.Unit.BAG and submission.form == "scores":
        options["aggregate"] = submission.aggregate
    if setting.unit == Setting.Unit.SENTENCE and submission.form == "label":
        options["include_negative"] = chosen["include_negative"]
    return options


def digest(options: dict[str, Any]) -> str:
    """Return the SHA-256 of the options as canonical JSON."""
    canonical = json.dumps(options, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def existing(
    submission: Submission, contract: FileContract, settings: Iterable[Setting]
) -> dict[int, Evaluation]:
    """Return the team's earlier identical evaluations of this file, by setting.

    Those of other teams are computed again, so that nothing tells their files from new ones.
    """
    wanted = {
        (setting.pk, setting.test_set.sha256, digest(options_of(contract, setting, submission)))
        for setting in settings
    }
    own = Submission.objects.filter(evaluations=OuterRef("pk"), system__team=submission.system.team_id)
    scored = Evaluation.objects.filter(
        Exists(own), file_id=submission.file_id, setting__in={pk for pk, _, _ in wanted}, scorer=SCORER
    )
    return {
        each.setting_id: each
        for each in scored.only("file", "setting", "gold_sha256", "options_sha256")
        if (each.setting_id, each.gold_sha256, each.options_sha256) in wanted
    }


def incomplete(settings: Iterable[Setting]) -> QuerySet[Evaluation]:
    """Return evaluations on the present gold that lack outcomes of items or digests of claims."""
    old = Q(outcomes=None) | Q(claims_sha256="")
    stored = Evaluation.objects.filter(old, setting__in=[each.pk for each in settings])
    return stored.filter(gold_sha256=F("setting__test_set__sha256"), scorer=SCORER)
