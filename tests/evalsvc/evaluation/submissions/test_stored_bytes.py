"""Bytes that a person's files take in a day, and those that stay free."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.db.models import F

from annotation.imports import batches
from evalsvc.core.errors.exceptions import Conflict, QuotaExceeded, StorageFault
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation.models import PredictionFile, StoredBytes
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.errors import code


def padded(label: str, size: int = 1_000) -> bytes:
    """A file of a hundred bytes or so that unpacks to ten times as many."""
    lines = jsonl([{"id": line["id"], "label": label} for line in RELATION_GOLD])
    return gzip.compress(lines[:-2] + b" " * (size - len(lines)) + lines[-2:])


@pytest.fixture(autouse=True)
def day(settings: Any) -> None:
    settings.UPLOAD_DAY_BYTES = 2_500


def test_files_of_a_person_take_so_many_bytes_a_day_unpacked(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    setting = ("main", benchmark.settings.get().test_set, "sentence", "micro_f1")
    other = cast.benchmark("other", settings=[setting])
    cast.submit(benchmark, padded("born_in"))
    cast.submit(benchmark, padded("works_for"), run="2")
    with pytest.raises(QuotaExceeded, check=code("quota_bytes")) as rejected:
        cast.submit(other, padded("part_of"))
    assert 0 < rejected.value.retry_after <= 86_401
    assert PredictionFile.objects.count() == 2
    cast.submit(benchmark, padded("part_of"), run="4", team=cast.lugworm, by=cast.lars)
    StoredBytes.objects.update(day=F("day") - timedelta(days=1))
    cast.submit(benchmark, padded("N/A"), run="4")


def test_files_of_rejected_runs_take_bytes_as_well(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, padded("born_in"))
    with pytest.raises(Conflict, check=code("run_taken")):
        cast.submit(benchmark, padded("works_for"))
    with pytest.raises(QuotaExceeded, check=code("quota_bytes")):
        cast.submit(benchmark, padded("part_of"))
    assert PredictionFile.objects.count() == 2


def test_rejected_files_take_bytes_until_none_is_read(cast: BenchmarkCast) -> None:
    """They take the time of a valid file."""
    benchmark = cast.relations()
    for _ in range(2):
        with pytest.raises(FileRejected):
            cast.submit(benchmark, padded("unknown"))
    for _ in range(2):
        with pytest.raises(QuotaExceeded, check=code("quota_bytes")):
            cast.submit(benchmark, padded("unknown"))
    with pytest.raises(QuotaExceeded, check=code("quota_bytes")):
        intake.receive(benchmark, chunks=unread(), system="Net", run="1", team=cast.kelpie, by=cast.kim)


def unread() -> Iterator[bytes]:
    yield from ()
    raise AssertionError("the file was read")


def test_no_file_is_stored_where_less_than_is_kept_free_would_be_left(
    cast: BenchmarkCast, settings: Any
) -> None:
    settings.FREE_BYTES_LEAST = 10**18
    with pytest.raises(StorageFault, match="bytes are free"):
        cast.submit(cast.relations(), padded("born_in"))
    assert not PredictionFile.objects.exists()
    lines = BytesIO(jsonl(RELATION_GOLD))
    with pytest.raises(StorageFault, match="bytes are free"):
        batches.receive(content="gold", upload=lines, filename="gold.jsonl", by=cast.olga)
