"""The service's sources: frozen gold and a stored prediction file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.submissions.file_check import read_claims
from workers.scoring import column_reader
from workers.scoring.column_reader import Tick
from workers.scoring.gold import Gold, relation_columns
from workers.scoring.predictions import Collector, Expected, Predictions
from workers.scoring.scorer import ScoringOptions

STEP = 2_000
UNLIMITED = Limits(1 << 60, 1 << 60, 1 << 60)


def scoring_options(options: dict[str, Any]) -> ScoringOptions:
    """Return the options of a setting that the scorer reads."""
    keys = ("unit", "labels", "beta", "include_negative", "aggregate", "threshold", "casefold")
    chosen = {key: options[key] for key in keys if key in options}
    return ScoringOptions(**chosen, negative=options["negative"] or None)


def load_gold(setting: Setting, *, tick: Tick = lambda done: None) -> Gold:
    """Read the rows of a setting; reject a set with another digest."""
    only = None
    if setting.only is not None:
        rows = TestSetRow.objects.filter(test_set=setting.only)
        only = frozenset(rows.values_list("external_id", flat=True))
    negatives = frozenset({setting.test_set.negative, setting.benchmark.negative})
    by_document, gold = setting.unit == Setting.Unit.DOCUMENT, None
    if not by_document:
        lines = _verified(setting.test_set, tick)
        gold = relation_columns(lines, setting.unit, negatives=negatives, only=only, limits=UNLIMITED)
    if gold is None:
        gold, problems, lines = Gold(), Problems(), _verified(setting.test_set, tick)
        items = (
            jsonl_items.read_items(lines, problems=problems, limits=UNLIMITED, require_text=False)
            if by_document
            else jsonl_items.read_gold(lines, problems=problems, limits=UNLIMITED)
        )
        try:
            for _, item in items:
                if only is None or item.id in only:
                    gold.add(item, setting.unit, negatives)
            problems.raise_if_any()
        except FileRejected as error:
            raise InputFault("gold_changed", f"{setting.test_set}: {error.problems.summary()}") from error
    return gold


def _verified(test_set: TestSet, tick: Tick) -> Iterator[bytes]:
    """Yield the lines of a frozen set, then verify their digest."""
    digest, done, rows = hashlib.sha256(), 0, export_lines(test_set)
    while lines := list(islice(rows, STEP)):
        digest.update(piece := b"".join(lines))
        yield piece
        tick(done := done + len(lines))
    if test_set.state != TestSet.State.FROZEN or digest.hexdigest() != test_set.sha256:
        raise InputFault(
            "gold_changed",
            f"{test_set} was changed after it was frozen: its lines no longer have the digest "
            f"{test_set.sha256[:12]}. The organisers must restore it; nothing is wrong with the predictions.",
        )


def load_predictions(
    contract: FileContract, file: BinaryIO, *, format: str, tick: Tick = lambda done: None
) -> Predictions:
    """Read a stored file by columns, else line by line."""
    expected = expected_of(contract)
    if column_reader.can_read(format):
        predictions = column_reader.read_columns(file, expected, limits=contract.limits, tick=tick)
        if predictions is not None:
            return predictions
        file.seek(0)
    return _by_line(contract, expected, file, format, tick)


def expected_of(contract: FileContract) -> Expected:
    """Return the names and forms of a file under this contract."""
    benchmark = contract.benchmark
    return Expected(
        ids=list(contract.expected.ids),
        pairs=contract.expected.pairs,
        labels=contract.labels,
        negative=benchmark.negative or None,
        forms=contract.forms,
        lengths=contract.expected.lengths,
        missing_allowed=benchmark.missing == Benchmark.Missing.WRONG,
    )


def _by_line(
    contract: FileContract, expected: Expected, file: BinaryIO, format: str, tick: Tick
) -> Predictions:
    problems = Problems()
    check, collector = contract.check(problems), Collector(expected.codes)
    try:
        for number, claim in enumerate(read_claims(contract, file, format=format, check=check), 1):
            collector.add(check.form or "", claim)
            if number % STEP == 0:
                tick(number)
        problems.raise_if_any()
    except FileRejected as error:
        raise InputFault(next(iter(error.problems.by_code)), error.problems.summary()) from error
    return collector.predictions(check.form or "")
