"""The handler of kind `score`: one submission under each setting that its form fits."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, BinaryIO

from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity, versions
from evalsvc.evaluation.models import Evaluation, Score, Setting, Submission
from evalsvc.evaluation.submissions import gold_exposure
from evalsvc.evaluation.submissions.file_store import open_file
from workers.handlers.dense_scores import load_dense
from workers.metrics.report import ClassRow, Curve
from workers.scoring.column_reader import uncollected
from workers.scoring.frozen_gold import Predictions, load_gold, load_predictions
from workers.scoring.scorer import Served, serve

STEP = 1 << 18


@dataclass(frozen=True, slots=True)
class Scored:
    """What one setting's scoring found, not yet stored."""

    setting: Setting
    options: dict[str, Any]
    served: Served


class Steps:
    """Counts lines and rows over the whole job, and says what is being done."""

    def __init__(self, progress: Progress, *, total: int) -> None:
        self.progress, self.total, self.before, self.name = progress, total, 0, ""

    def begin(self, name: str) -> None:
        self.name = name
        self.tick(0)

    def tick(self, done: int) -> None:
        self.progress(min(self.before + done, self.total), self.total, self.name)

    def end(self, size: int) -> None:
        self.before += size
        self.tick(0)


def score(subject: int, progress: Progress) -> Store:
    """Score a submission; what was scored the same way before is taken over."""
    related = ("benchmark", "file", "system")
    submission = Submission.objects.select_related(*related).get(pk=subject)
    settings = scoring_identity.fitting(submission)
    existing = scoring_identity.existing(submission, settings)
    todo = [setting for setting in settings if setting.pk not in existing]
    with uncollected():
        fresh = list(_scored(submission, todo, progress)) if todo else []
    libraries = _libraries() if fresh else {}

    def store() -> None:
        versions.lock_settings(submission.benchmark)
        stored = [_stored(submission, scored, libraries) for scored in fresh]
        submission.evaluations.add(*existing.values(), *stored)
        gold_exposure.mark(submission)
        _ask_again(submission)

    return store


def _ask_again(submission: Submission) -> None:
    """Where a setting was added or revised while this was scored, score it once more."""
    row = Submission.objects.select_related("benchmark", "system").get(pk=submission.pk)
    settings = scoring_identity.fitting(row)
    if row.withdrawn_at is None and len(scoring_identity.existing(row, settings)) < len(settings):
        submission_states.queue(row)


def _scored(submission: Submission, settings: list[Setting], progress: Progress) -> Iterator[Scored]:
    lines = int(submission.counts.get("lines", 0))
    steps = Steps(progress, total=lines + sum(2 * setting.test_set.rows for setting in settings))
    steps.begin("Reading predictions")
    predictions = _predictions(submission, steps)
    steps.end(lines)
    for setting in settings:
        yield _under(setting, submission, predictions, steps)


def _predictions(submission: Submission, steps: Steps) -> Predictions:
    try:
        file = open_file(submission.file)
    except FileNotFoundError as error:
        raise InputFault("file_lost", "The stored file is gone. Submit it again.") from error
    with file:
        _require_unchanged(file, submission)
        contract = file_contract.of_submission(submission)
        if submission.layout:
            return load_dense(contract, submission, file.read())
        return load_predictions(contract, file, format=submission.format, tick=steps.tick)


def _require_unchanged(file: BinaryIO, submission: Submission) -> None:
    digest = hashlib.sha256()
    for piece in iter(lambda: file.read(STEP), b""):
        digest.update(piece)
    if digest.hexdigest() != submission.file_id:
        raise InputFault("file_changed", "The stored file is not what was sent. Submit it again.")
    file.seek(0)


def _under(setting: Setting, submission: Submission, predictions: Predictions, steps: Steps) -> Scored:
    rows = setting.test_set.rows
    steps.begin(f"{setting.title}: reading the gold")
    gold = load_gold(setting, tick=steps.tick)
    steps.end(rows)
    steps.begin(f"{setting.title}: scoring")
    options = scoring_identity.options_of(setting, submission)
    served = serve(setting.unit, options, gold, predictions)
    steps.end(rows)
    return Scored(setting, options, served)


def _libraries() -> dict[str, str]:
    found = {name: version(name) for name in ("numpy", "scipy")}
    return {"python": platform.python_version()} | found


def _stored(submission: Submission, scored: Scored, libraries: dict[str, str]) -> Evaluation:
    """The evaluation with its scores; one that another worker stored meanwhile is as good."""
    served = scored.served
    evaluation, made = Evaluation.objects.get_or_create(
        file=submission.file,
        setting=scored.setting,
        gold_sha256=scored.setting.test_set.sha256,
        options_sha256=scoring_identity.digest(scored.options),
        scorer=scoring_identity.SCORER,
        defaults={
            "options": scored.options,
            "libraries": libraries,
            "classes": [row for family, rows in served.tables.items() for row in _rows(family, rows)],
            "detail": _detail(served),
        },
    )
    if made:
        Score.objects.bulk_create(
            Score(
                evaluation=evaluation,
                measure=key,
                value=number(value.value),
                reason=(value.reason or "")[:200],
            )
            for key, value in served.values.items()
        )
    return evaluation


def _detail(served: Served) -> dict[str, Any]:
    return {
        "counts": {key: number(value) for key, value in served.counts.items()},
        "lost": served.lost,
        "curve": _points(served.curve),
        "notes": served.notes,
    }


def _rows(family: str, rows: tuple[ClassRow, ...]) -> list[dict[str, Any]]:
    shares = ("precision", "recall", "f1")
    return [
        {"family": family} | row._asdict() | {key: number(getattr(row, key)) for key in shares}
        for row in rows
    ]


def _points(curve: Curve | None) -> dict[str, Any] | None:
    if curve is None:
        return None
    columns = {
        key: [round(x, 6) for x in getattr(curve, key).tolist()] for key in ("recall", "precision", "score")
    }
    return columns | {"moved": curve.moved, "points_before": curve.points_before}


def number(value: float) -> float | None:
    """JSON and the database know no nan."""
    return None if math.isnan(value) else float(value)
