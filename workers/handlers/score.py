"""Handlers of job kinds `score`, `check` (of dense scores) and `board`."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np

from annotation.testset import TestSet, TestSetRow, verified_batches
from evalsvc.core.formats import jsonl_items, npy
from evalsvc.core.formats.old_labels import OldLabels
from evalsvc.core.formats.problems import FileRejected, Problem, Problems
from evalsvc.core.formats.text_lines import UNLIMITED
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import contributed, file_contract, inputs, quotas, scoring_identity
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.disclosure.outcomes import pack
from evalsvc.evaluation.disclosure.split import part_of
from evalsvc.evaluation.models import Evaluation, EvaluationOutcomes, Score, Setting, Submission
from evalsvc.evaluation.submissions import dense_scores, gold_exposure
from evalsvc.evaluation.submissions.file_store import open_file
from workers.handlers import near_duplicates
from workers.metrics.report import Curve, Report
from workers.scoring.case import ScoringCase, ScoringOptions
from workers.scoring.claims import ClaimCodes, RunDigests, answers_digest, claim_codes, run_digests
from workers.scoring.composed import composed
from workers.scoring.error_counts import error_counts, relation_error_counts
from workers.scoring.gold import Gold, read_gold
from workers.scoring.outcomes import outcomes_of
from workers.scoring.prediction_files import Tick, read_predictions, uncollected
from workers.scoring.predictions import Predictions, dense_predictions
from workers.scoring.scorer import report_of

PIECE_BYTES = 1 << 18
SHARES = ("precision", "recall", "f1")


@dataclass(frozen=True, slots=True)
class SettingResult:
    """The figures of one setting, not yet stored."""

    setting: Setting
    options: dict[str, Any]
    report: Report
    detail: dict[str, Any]
    answers_sha256: str
    digests: RunDigests
    outcomes: bytes | None = None
    claims: ClaimCodes | None = None


class ScoringProgress:
    """Counts lines and rows over the job and names its step."""

    def __init__(self, progress: Progress, *, total: int) -> None:
        self.progress, self.total, self.before, self.name, self.size = progress, total, 0, "", 0

    def begin(self, name: str, size: int) -> None:
        """End the step before and begin one of this size."""
        self.before, self.name, self.size = self.before + self.size, name, size
        self.tick(0)

    def tick(self, done: int) -> None:
        self.progress(min(self.before + done, self.total), self.total, self.name)


def score(subject: int, progress: Progress) -> Store:
    """Score a submission; reuse equal evaluations."""
    related = ("benchmark", "file", "system")
    submission = Submission.objects.select_related(*related).get(pk=subject)
    contract = file_contract.of_submission(submission)
    settings = scoring_identity.fitting(submission, contract)
    existing = scoring_identity.existing(submission, contract, settings)
    lacking = _incomplete(settings, existing)
    remaining = [each for each in settings if each.pk not in existing or each.pk in lacking]
    with uncollected():
        results = list(_results(submission, contract, remaining, progress)) if remaining else []
    libraries = {"python": platform.python_version()} if results else {}
    libraries |= {name: version(name) for name in ("numpy", "scipy") if results}

    def store() -> None:
        quotas.lock(submission.system.team)  # its files are compared, also those in other benchmarks
        file_contract.lock_settings(submission.benchmark)
        quotas.lock_sender(submission.by_id)
        compared = near_duplicates.compared(submission)
        stored = [_stored(submission, result, libraries) for result in results]
        submission.evaluations.add(*existing.values(), *stored)
        for evaluation in (*stored, *existing.values()):
            near_duplicates.record(submission, evaluation, compared)
        every = file_contract.settings_of(submission.benchmark)
        gold_exposure.mark(submission, every)
        # A setting may have been added or revised in the meantime.
        row = Submission.objects.select_related("benchmark", "system").get(pk=submission.pk)
        present = contract if row.held_to else file_contract.of_submission(row)
        settings = scoring_identity.fitting(row, present, every)
        existing_now = scoring_identity.existing(row, present, settings)
        lacks = len(existing_now) < len(settings) or _incomplete(settings, existing_now)
        if row.withdrawn_at is None and lacks:
            if stored or existing:  # if under a version that was replaced meanwhile, these are shown, too
                submission_states.note_scores(row)
            submission_states.queue(row)

    return store


def _incomplete(settings: list[Setting], existing: dict[int, Evaluation]) -> set[int]:
    """Return the settings whose evaluation lacks the outcomes of items, or an admitted measure."""
    without = scoring_identity.incomplete(settings).filter(pk__in=[each.pk for each in existing.values()])
    return contributed.lacking(settings, existing) | set(without.values_list("setting", flat=True))


def check(subject: int, progress: Progress) -> Store:
    """Check every number of a dense file, then queue the scoring."""
    submission = Submission.objects.select_related("benchmark", "file", "system").get(pk=subject)
    progress(0, int(submission.counts["rows"]), "Checking the numbers")
    with open_file(submission.file) as file:
        load_dense(file_contract.of_submission(submission), submission, file.read())
    return lambda: submission_states.queue(submission)


def board(subject: int, progress: Progress) -> Store:
    """Compute a large board and store it."""
    setting = Setting.objects.select_related("benchmark", "test_set", "only").get(pk=subject)
    return leaderboard.stored_by_job(setting)


def _results(
    submission: Submission, contract: FileContract, settings: list[Setting], progress: Progress
) -> Iterator[SettingResult]:
    lines = int(submission.counts.get("lines", 0))
    steps = ScoringProgress(progress, total=lines + sum(2 * setting.test_set.rows for setting in settings))
    steps.begin("Reading predictions", lines)
    read: dict[str, Predictions] = {}  # by the old names of labels that they are mapped from
    for setting in settings:
        options = scoring_identity.options_of(contract, setting, submission)
        old = repr(options.get("old_labels"))
        if old not in read:
            read[old] = stored_predictions(submission, contract.reading(options), steps.tick)
        steps.begin(f"{setting.title}: reading the gold", setting.test_set.rows)
        gold = load_gold(setting, tick=steps.tick)
        steps.begin(f"{setting.title}: scoring", setting.test_set.rows)
        case = ScoringCase.of(gold, read[old], scoring_options(options))
        report = with_contributed(report_of(case), case, setting)
        packed = pack(outcomes_of(case))
        detail = detail_of(case, report)
        digests = answers_digest(case), run_digests(case)
        result = SettingResult(setting, options, report, detail, *digests, packed)
        if positives := near_duplicates.positives_if_hidden(setting):
            result = replace(result, claims=claim_codes(case, positives))
            steps.begin(f"{setting.title}: reading the claims of earlier files", 0)
            _keep_earlier_claims(submission, setting, gold, positives, lambda done: steps.tick(0))
        yield result


def with_contributed(report: Report, case: ScoringCase, setting: Setting) -> Report:
    """Add the figures of the measures contributed to the benchmark."""
    own = contributed.admitted(setting.benchmark, setting.kind)
    values = {key: composed(parts, report, case) for key, parts in own.items()}
    return replace(report, values=report.values | values)


def _keep_earlier_claims(
    submission: Submission, setting: Setting, gold: Gold, positives: int, tick: Tick
) -> None:
    """Store the claims of the team's runs from before the setting was hidden.

    One by one, so that a job which is stopped has less to do when it runs again.
    """
    for run, evaluation in near_duplicates.without_claims(submission, setting):
        try:
            contract = file_contract.of_submission(run).reading(evaluation.options)
            predictions = stored_predictions(run, contract, tick)
        except InputFault:  # the contract has changed since
            continue
        except RetryLater as error:
            if error.code != "file_lost":
                raise
            continue
        case = ScoringCase.of(gold, predictions, scoring_options(evaluation.options))
        near_duplicates.keep_claims(evaluation, claim_codes(case, positives))


def stored_predictions(submission: Submission, contract: FileContract, tick: Tick) -> Predictions:
    """Read the predictions of a run from its verified file."""
    with open_file(submission.file) as file:
        digest = hashlib.sha256()
        for piece in iter(lambda: file.read(PIECE_BYTES), b""):
            digest.update(piece)
        if digest.hexdigest() != submission.file_id:
            raise InputFault(
                "file_changed", "The stored file differs from the uploaded one. Submit it again."
            )
        file.seek(0)
        if submission.layout:
            return load_dense(contract, submission, file.read())
        return load_predictions(contract, file, format=submission.format, tick=tick)


def load_predictions(
    contract: FileContract, file: BinaryIO, *, format: str, tick: Tick = lambda done: None
) -> Predictions:
    """Read a stored file; reject one that no longer meets the contract."""
    try:
        return read_predictions(file, contract.check, format=format, limits=contract.limits, tick=tick)
    except FileRejected as error:
        raise InputFault(next(iter(error.problems.by_code)), error.problems.summary()) from error


def load_dense(contract: FileContract, submission: Submission, content: bytes) -> Predictions:
    """Read a dense file as predictions."""
    header = npy.read_header(content[: npy.LONGEST_HEADER + 12], Problems())
    if dense_scores.layout(contract, submission.form, rows=header.rows) != submission.layout:
        raise InputFault(
            "wrong_shape", "The items changed after the upload. Submit scores for the current inputs."
        )
    numbers = np.frombuffer(content, dtype=header.type, offset=header.begin)
    matrix = numbers.reshape(header.rows, header.columns)
    names = submission.columns or contract.labels
    if header.columns > len(names):  # from before columns were named: the negative class was last
        names = [*names, contract.benchmark.negative]
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = (int(at) for at in bad[0])
        name, value = names[column], str(matrix[row, column])
        problem = Problem("bad_score", row + 1, name, value, "a finite number in every cell")
        raise InputFault("bad_score", f"{problem.sentence()} {len(bad):,} cells have such a value.")
    keys = dense_scores.rows_of(contract, submission.form)
    old = OldLabels(contract.old_labels, contract.benchmark.negative or None, Problems())
    return dense_predictions(matrix, keys, submission.form, names=names, labels=contract.labels, old=old)


def load_gold(setting: Setting, *, tick: Tick = lambda done: None) -> Gold:
    """Read the rows of a setting; reject a set with another digest."""
    only = None
    if part := part_of(setting):
        only = inputs.ids_of_part(setting, setting.unit, part)
    elif setting.only is not None:
        rows = TestSetRow.objects.filter(test_set=setting.only)
        only = frozenset(rows.values_list("external_id", flat=True))
    try:
        return read_gold(
            partial(_ticking, setting.test_set, tick),
            setting.unit,
            format=jsonl_items.FORMAT.key,
            negatives=frozenset({setting.test_set.negative, setting.benchmark.negative}),
            only=only,
            limits=UNLIMITED,
        )
    except FileRejected:
        setting.test_set.verify()
        raise


def _ticking(test_set: TestSet, tick: Tick) -> Iterator[bytes]:
    """Yield the verified lines of a frozen set."""
    done = 0
    for lines in verified_batches(test_set):
        yield b"".join(lines)
        tick(done := done + len(lines))


def scoring_options(options: dict[str, Any]) -> ScoringOptions:
    """Return the options of a setting that the scorer reads."""
    keys = (
        "unit",
        "labels",
        "relations",
        "symmetric",
        "beta",
        "include_negative",
        "aggregate",
        "threshold",
        "casefold",
        "strip_articles",
        "grounding",
    )
    chosen = {key: options[key] for key in keys if key in options}
    return ScoringOptions(**chosen, negative=options["negative"] or None)


def _stored(submission: Submission, result: SettingResult, libraries: dict[str, str]) -> Evaluation:
    """Store the evaluation, or return the equal one of another worker."""
    evaluation, created = Evaluation.objects.get_or_create(
        file=submission.file,
        setting=result.setting,
        gold_sha256=result.setting.test_set.sha256,
        options_sha256=scoring_identity.digest(result.options),
        scorer=scoring_identity.SCORER,
        defaults={
            "options": result.options,
            "answers_sha256": result.answers_sha256,
            **result.digests._asdict(),
            "libraries": libraries,
            "classes": classes_of(result.report),
            "detail": result.detail,
        },
    )
    # those of contributed measures are added to the scores that there are
    present = set() if created else set(evaluation.scores.values_list("measure", flat=True))
    Score.objects.bulk_create(
        Score(evaluation=evaluation, measure=key, value=value, reason=reason)
        for key, (value, reason) in values_of(result.report).items()
        if key not in present
    )
    if result.outcomes is not None:  # those of scores from before there were any are added
        EvaluationOutcomes.objects.get_or_create(evaluation=evaluation, defaults={"content": result.outcomes})
    if result.claims is not None:
        near_duplicates.keep_claims(evaluation, result.claims)
    if not evaluation.claims_sha256:  # from before there were digests
        digests = {"answers_sha256": result.answers_sha256, **result.digests._asdict()}
        Evaluation.objects.filter(pk=evaluation.pk).update(**digests)
    return evaluation


# ---- what is stored of a report ----------------------------------------------------------------------
def values_of(report: Report) -> dict[str, tuple[float | None, str]]:
    """Return value and reason by measure."""
    return {key: (number(value.value), (value.reason or "")[:200]) for key, value in report.values.items()}


def classes_of(report: Report) -> list[dict[str, Any]]:
    """Return the rows per class."""
    return [
        {"family": family} | row._asdict() | {key: number(getattr(row, key)) for key in SHARES}
        for family, rows in report.classes.items()
        for row in rows
    ]


def detail_of(case: ScoringCase, report: Report) -> dict[str, Any]:
    """Return counts, errors, curve and notes."""
    return {
        "counts": {key: number(value) for key, value in (report.counts | case.counts).items()},
        "lost": error_counts(case),
        "wrong_relations": relation_error_counts(case),
        "curve": _points(report.curve),
        "notes": list(report.notes),
    }


def _points(curve: Curve | None) -> dict[str, Any] | None:
    if curve is None:
        return None
    columns = {
        key: [round(x, 6) for x in getattr(curve, key).tolist()] for key in ("recall", "precision", "score")
    }
    return columns | {"moved": curve.moved, "points_before": curve.points_before}


def number(value: float) -> float | None:
    """Return the number, or None for nan, which JSON lacks."""
    return None if math.isnan(value) else float(value)
