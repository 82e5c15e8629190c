"""What makes two scorings the same: file, setting, gold, options and scorer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db.models import F, Q

from evalsvc.evaluation.benchmarks import file_contract, phases
from evalsvc.evaluation.measures.options import effective
from evalsvc.evaluation.models import Evaluation, Setting, SettingVersion, Submission

# Raised by hand whenever a figure may come out differently than before.
SCORER = "1.0"

FITTING: dict[str, frozenset[str]] = {
    Setting.Unit.SENTENCE: frozenset({"label", "labels", "scores"}),
    Setting.Unit.BAG: frozenset({"label", "labels", "scores", "bag"}),
    Setting.Unit.DOCUMENT: frozenset({"spans", "tags"}),
}


def concerned(submission: Submission) -> list[Setting]:
    """The settings it was sent to, and those added since that take it, where they take its form."""
    taking = Q(pk__in=[setting.pk for setting in phases.of_submission(submission)])
    sent_to = Q(pk__in=SettingVersion.objects.filter(pk__in=submission.held_to).values("setting"))
    settings = submission.benchmark.settings.filter(taking | sent_to)
    settings = settings.select_related("test_set", "only", "benchmark")
    return [setting for setting in settings if submission.form in FITTING[setting.unit]]


def fitting(submission: Submission) -> list[Setting]:
    """The settings that it can be scored under: what came after its file was sent, the file may lack."""
    held = file_contract.of_submission(submission)
    return [setting for setting in concerned(submission) if held.cover(setting, submission.form)]


def not_covered(submission: Submission) -> list[Setting]:
    """The settings whose present gold a scored submission was not sent to."""
    if submission.state != Submission.State.SCORED:
        return []
    made = submission.evaluations.values_list("setting_id", "gold_sha256", "options__only", "scorer")
    under = {(setting, gold, only or "", scorer) for setting, gold, only, scorer in made}
    newest = SettingVersion.objects.filter(
        setting__benchmark=submission.benchmark, number=F("setting__version")
    )
    asked = newest.values_list("setting_id", "gold_sha256", "only_sha256", "scorer")
    lacking = {version[0] for version in asked if version not in under}
    return [setting for setting in concerned(submission) if setting.pk in lacking]


def options_of(setting: Setting, submission: Submission) -> dict[str, Any]:
    """Everything but the file and the gold that changes a number."""
    benchmark = setting.benchmark
    chosen = effective(benchmark.options, task=benchmark.task)
    options = {
        "task": benchmark.task,
        "unit": setting.unit,
        "form": submission.form,
        "labels": [label["name"] for label in benchmark.labels],
        "negative": benchmark.negative,
        "missing": benchmark.missing,
        "beta": chosen["beta"],
    }
    if setting.only:
        options["only"] = setting.only.sha256
    return options | _of_form(chosen, setting, submission)


def _of_form(chosen: dict[str, Any], setting: Setting, submission: Submission) -> dict[str, Any]:
    """The options that matter to this unit and form only, so that others do not hinder reuse."""
    if setting.unit == Setting.Unit.DOCUMENT:
        tags = {key: chosen[key] for key in ("scheme", "repair")} if submission.form == "tags" else {}
        return {"casefold": chosen["casefold"]} | tags
    scored = submission.form in ("scores", "bag")
    found = {"threshold": chosen["threshold"]} if scored else {}
    if setting.unit == Setting.Unit.BAG and submission.form == "scores":
        found["aggregate"] = submission.aggregate
    if setting.unit == Setting.Unit.SENTENCE and submission.form == "label":
        found["include_negative"] = chosen["include_negative"]
    return found


def digest(options: dict[str, Any]) -> str:
    canonical = json.dumps(options, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def existing(setting: Setting, submission: Submission) -> Evaluation | None:
    """The evaluation of the same file under the same gold, options and scorer, if there is one."""
    return Evaluation.objects.filter(
        file_id=submission.file_id,
        setting=setting,
        gold_sha256=setting.test_set.sha256,
        options_sha256=digest(options_of(setting, submission)),
        scorer=SCORER,
    ).first()
