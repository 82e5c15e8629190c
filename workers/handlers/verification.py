"""Recomputation of stored scores from their parts: file, gold, options, scorer.

What a release computes in addition, without another figure, needs no new scorer: families of measures or
classes that were not computed at the time are not missed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
from django.db.models import QuerySet

from annotation.testset import GoldChanged
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity
from evalsvc.evaluation.disclosure.outcomes import pack, unpack
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Evaluation, EvaluationOutcomes, SettingVersion, Submission
from workers.handlers import score
from workers.scoring.case import ScoringCase
from workers.scoring.claims import RunDigests, answers_digest, run_digests
from workers.scoring.gold import Gold
from workers.scoring.outcomes import outcomes_of
from workers.scoring.prediction_files import uncollected
from workers.scoring.predictions import Predictions
from workers.scoring.scorer import report_of

GOLDS = 4  # of the versions read last


@dataclass
class Verified:
    """Evaluation with what differs; `skipped` is the reason if it was not recomputed."""

    submission: Submission
    evaluation: Evaluation
    scores: int = 0
    differences: list[str] = field(default_factory=list)
    skipped: str = ""


def verify(submissions: QuerySet[Submission], *, setting: str = "") -> Iterator[Verified]:
    """Recompute every evaluation of submissions once, those of one setting if it is named.

    Yields
    ------
    Verified
        In the order of submissions, then of evaluations.
    """
    gold_of = lru_cache(GOLDS)(_gold)
    done: set[int] = set()
    related = submissions.select_related("benchmark", "file", "system").order_by("benchmark", "pk")
    for submission in related.iterator(chunk_size=100):
        rows = submission.evaluations.select_related("setting__benchmark").order_by("pk")
        of_setting = rows.filter(setting__key=setting) if setting else rows
        read: dict[str, Predictions] = {}  # by the old names of labels that they are mapped from
        for evaluation in of_setting.prefetch_related("scores"):
            if evaluation.pk in done:  # equal files share them
                continue
            done.add(evaluation.pk)
            verified = Verified(submission, evaluation)
            if evaluation.scorer != scoring_identity.SCORER:
                verified.skipped = f"scored by {evaluation.scorer}; this build has {scoring_identity.SCORER}"
            else:
                try:
                    with uncollected():
                        old = repr(evaluation.options.get("old_labels"))
                        read[old] = read.get(old) or _predictions(submission, evaluation)
                        _compare(verified, gold_of(_version(evaluation)), read[old])
                except (InputFault, RetryLater, GoldChanged) as error:
                    verified.differences.append(str(error))
            yield verified


def _predictions(submission: Submission, evaluation: Evaluation) -> Predictions:
    contract = file_contract.of_submission(submission).reading(evaluation.options)
    return score.stored_predictions(submission, contract, lambda done: None)


def _version(evaluation: Evaluation) -> int:
    """Return the version of the setting that has the gold of an evaluation."""
    only = evaluation.options.get("only", "")
    versions = SettingVersion.objects.filter(setting=evaluation.setting, gold_sha256=evaluation.gold_sha256)
    pk = versions.filter(only_sha256=only).order_by("-number").values_list("pk", flat=True).first()
    if pk is None:
        raise InputFault("gold_changed", "No version of the setting has the gold that was scored against.")
    return pk


def _gold(version: int) -> Gold:
    related = ("setting__benchmark", "test_set", "only")
    row = SettingVersion.objects.select_related(*related).get(pk=version)
    return score.load_gold(file_contract.as_of(row))


def _compare(verified: Verified, gold: Gold, predictions: Predictions) -> None:
    """Score again with the stored options, and note each stored figure that differs."""
    evaluation, differ = verified.evaluation, verified.differences
    if scoring_identity.digest(evaluation.options) != evaluation.options_sha256:
        differ.append("options: the stored digest is that of other options")
    case = ScoringCase.of(gold, predictions, score.scoring_options(evaluation.options))
    report = score.with_contributed(report_of(case), case, evaluation.setting)
    again = score.values_of(report)
    # contributed measures are added to stored scores one by one
    known = MENU.keys() | again.keys()
    stored = {row.measure: (row.value, row.reason) for row in evaluation.scores.all() if row.measure in known}
    verified.scores = len(stored)
    families = {MENU[key].family for key in stored if key in MENU}
    expected = {key for key in again.keys() & MENU.keys() if not stored or MENU[key].family in families}
    for key in sorted(stored.keys() | expected):
        before, after = stored.get(key), again.get(key)
        if before is None or after is None:
            differ.append(f"{key}: {'not stored' if before is None else 'stored, but not computed again'}")
        elif _bits(before[0]) != _bits(after[0]) or before[1] != after[1]:
            differ.append(f"{key}: stored {_text(*before)}, recomputed {_text(*after)}")
    if evaluation.answers_sha256 not in ("", answers_digest(case)):
        differ.append("answers: the stored digest is that of other answers")
    stored_digests = RunDigests(evaluation.claims_sha256, evaluation.order_sha256)
    if evaluation.claims_sha256 and stored_digests != run_digests(case):
        differ.append("claims: the stored digests are those of other claims")
    if not _same_outcomes(evaluation, case):
        differ.append("outcomes of items: differ")
    differ += _classes(evaluation.classes, _as_stored(score.classes_of(report)))
    detail = _as_stored(score.detail_of(case, report))
    differ += [f"{key}: differs" for key, part in evaluation.detail.items() if part != detail.get(key)]


def _same_outcomes(evaluation: Evaluation, case: ScoringCase) -> bool:
    """True if the outcomes of items are equal, or none were stored at the time."""
    rows = EvaluationOutcomes.objects.filter(evaluation=evaluation).values_list("content", flat=True)
    again = unpack(pack(outcomes_of(case)))
    try:
        return all(unpack(content) == again for content in rows)
    except (zlib.error, msgspec.DecodeError):
        return False


def _classes(stored: list[dict[str, Any]], again: list[dict[str, Any]]) -> list[str]:
    """Name the classes whose rows differ, in families that are stored."""
    families = {row["family"] for row in stored or again}
    rows = [
        {(row["family"], row["label"]): row for row in side if row["family"] in families}
        for side in (stored, again)
    ]
    keys = sorted(rows[0].keys() | rows[1].keys())
    return [
        f"class {label} ({family}): differs" for family, label in keys if not _same(rows, (family, label))
    ]


def _same(sides: list[dict[tuple[str, str], dict[str, Any]]], key: tuple[str, str]) -> bool:
    """True if a row has the values that are stored of it."""
    before, after = (side.get(key) for side in sides)
    return before is not None and after is not None and all(after.get(n) == v for n, v in before.items())


def _bits(value: float | None) -> str:
    return "" if value is None else float(value).hex()


def _text(value: float | None, reason: str) -> str:
    return f"undefined ({reason})" if value is None else repr(value)


def _as_stored(parts: Any) -> Any:
    return json.loads(json.dumps(parts))
