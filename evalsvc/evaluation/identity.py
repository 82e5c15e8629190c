"""What makes two scorings the same: file, setting, gold, options and scorer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from evalsvc.evaluation import phases
from evalsvc.evaluation.models import Evaluation, Setting, Submission
from evalsvc.evaluation.options import effective

# Raised by hand whenever a figure may come out differently than before.
SCORER = "1.0"

FITTING: dict[str, frozenset[str]] = {
    Setting.Unit.SENTENCE: frozenset({"label", "labels", "scores"}),
    Setting.Unit.BAG: frozenset({"label", "labels", "scores", "bag"}),
    Setting.Unit.DOCUMENT: frozenset({"spans", "tags"}),
}


def fitting(submission: Submission) -> list[Setting]:
    """The settings that this form of predictions can be scored under."""
    return [
        setting for setting in phases.of_submission(submission) if submission.form in FITTING[setting.unit]
    ]


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
