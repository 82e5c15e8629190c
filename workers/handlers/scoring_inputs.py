"""The service's sources: frozen gold and a stored prediction file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from annotation.testset import TestSet, TestSetRow, export_batches
from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.models import Setting
from workers.scoring.column_reader import Tick
from workers.scoring.gold import Gold, read_gold
from workers.scoring.predictions import Predictions, read_predictions
from workers.scoring.scorer import ScoringOptions

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
    try:
        return read_gold(
            lambda: _verified(setting.test_set, tick),
            setting.unit,
            format=jsonl_items.FORMAT.key,
            negatives=frozenset({setting.test_set.negative, setting.benchmark.negative}),
            only=only,
            limits=UNLIMITED,
        )
    except FileRejected as error:
        raise InputFault("gold_changed", f"{setting.test_set}: {error.problems.summary()}") from error


def _verified(test_set: TestSet, tick: Tick) -> Iterator[bytes]:
    """Yield the lines of a frozen set, then verify their digest."""
    digest, done = hashlib.sha256(), 0
    for lines in export_batches(test_set):
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
    """Read a stored file; reject one that no longer meets the contract."""
    try:
        return read_predictions(file, contract.check, format=format, limits=contract.limits, tick=tick)
    except FileRejected as error:
        raise InputFault(next(iter(error.problems.by_code)), error.problems.summary()) from error
