"""Unused files are removed after a while; all others stay."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.core.storage import StorageFault, StoredFile, WholeFileStorage
from evalsvc.evaluation.models import PredictionFile
from evalsvc.evaluation.submissions import file_store
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
LONG_AGO = timedelta(hours=2)


def kept(content: bytes = b"bytes") -> PredictionFile:
    digest = hashlib.sha256(content).hexdigest()
    return file_store.store(io.BytesIO(content), sha256=digest, size=len(content))


def aged() -> None:
    PredictionFile.objects.update(kept_at=timezone.now() - LONG_AGO)


def test_the_file_of_a_rejected_submission_is_removed_after_an_hour(cast: BenchmarkCast) -> None:
    file = kept()
    file_store.sweep()
    assert default_storage.exists(file.name)
    aged()
    assert file_store.sweep() == 1
    assert not default_storage.exists(file.name)
    assert not PredictionFile.objects.exists()


def test_a_file_that_a_submission_uses_stays(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    aged()
    assert file_store.sweep() == 0
    assert default_storage.exists(submission.file.name)


def test_a_file_stored_again_just_now_stays(cast: BenchmarkCast) -> None:
    kept()
    aged()
    file = kept()
    assert file_store.sweep() == 0
    assert default_storage.exists(file.name)


def test_a_removed_file_is_stored_again_when_resent(cast: BenchmarkCast) -> None:
    kept()
    aged()
    file_store.sweep()
    with file_store.open_file(kept()) as again:
        assert again.read() == b"bytes"


@pytest.mark.parametrize("damaged", [b"bytez", b"byt", b"", None])
def test_a_damaged_or_missing_file_is_stored_anew_when_resent(
    cast: BenchmarkCast, damaged: bytes | None
) -> None:
    path = Path(default_storage.path(kept().name))
    path.unlink() if damaged is None else path.write_bytes(damaged)
    row = kept()
    files = Path(default_storage.path("predictions")).rglob("*")
    assert [Path(default_storage.path(row.name))] == [each for each in files if each.is_file()]
    with file_store.open_file(PredictionFile.objects.get()) as file:
        assert file.read() == b"bytes"


def test_the_same_work_is_done_for_bytes_that_another_team_sent_as_for_new_ones(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    work: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        usual = getattr(owner, name)

        def counted(*args: Any, **options: Any) -> Any:
            work[name] += 1
            return usual(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    count(os, "fsync")
    for name in ("_save", "_open", "exists", "delete"):
        count(WholeFileStorage, name)
    count(StoredFile, "difference")
    kept(b"others")  # makes the folder
    done = []
    for _ in ("new", "again"):
        work.clear()
        with CaptureQueriesContext(connection) as statements:
            kept()
        done.append(dict(work) | {"statements": len(statements)})
    assert done[0] == done[1]
    assert (done[0]["fsync"], done[0]["difference"]) == (2, 1)


@pytest.mark.parametrize("mount_point", [True, False])
def test_no_file_is_taken_while_the_storage_is_away(cast: BenchmarkCast, mount_point: bool) -> None:
    kept()
    files = Path(default_storage.path(""))
    away = files.rename(files.with_name("away"))
    if mount_point:
        files.mkdir()
    with pytest.raises(StorageFault, match="Check that it is mounted"):
        kept(b"others")
    assert not files.exists() or not any(files.iterdir())
    shutil.rmtree(files, ignore_errors=True)
    away.rename(files)
    assert default_storage.exists(kept(b"others").name)


@pytest.mark.django_db
def test_workers_look_for_such_files_every_few_minutes(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_store, "_next_sweep", 0.0)
    kept()
    aged()
    run_next("score")
    assert not PredictionFile.objects.exists()
    kept()
    aged()
    run_next("score")
    assert PredictionFile.objects.exists()
