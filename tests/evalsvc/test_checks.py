from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage.handler import StorageHandler

from evalsvc import checks


def ids(found: list[Any]) -> list[str]:
    return [message.id for message in found]


def test_settings_as_they_come_pass_every_check() -> None:
    from django.core.checks import run_checks

    assert run_checks() == []


@pytest.mark.parametrize(("lease", "beat", "found"), [(10, 3, []), (7, 3, []), (6, 3, ["evalsvc.E003"])])
def test_a_lease_must_outlive_a_missed_heartbeat(settings, lease: int, beat: int, found: list[str]) -> None:
    settings.JOB_LEASE_SECONDS, settings.JOB_HEARTBEAT_SECONDS = lease, beat
    assert ids(checks.a_lease_outlives_a_missed_heartbeat(None)) == found


def test_a_broker_other_than_redis_is_refused_by_name(settings) -> None:
    settings.CELERY_BROKER_URL = "amqp://localhost"
    (error,) = checks.the_broker_is_a_redis(None)
    assert "'amqp'" in error.msg
    assert "REDIS_URL" in error.hint


def test_a_data_folder_that_is_not_there_is_refused_by_name(settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "gone"
    (error,) = checks.the_data_folder_can_be_written(None)
    assert str(tmp_path / "gone") in error.msg


def test_limits_that_contradict_each_other_are_refused(settings) -> None:
    settings.UPLOAD_MAX_LINE_BYTES = settings.UPLOAD_MAX_BYTES + 1
    assert ids(checks.upload_limits_fit_together(None)) == ["evalsvc.E004"]


def test_production_on_sqlite_without_a_broker_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REDIS_URL", "BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    assert ids(checks.production_stores_in_postgres(None)) == ["evalsvc.W001"]
    assert ids(checks.production_has_a_broker_of_its_own(None)) == ["evalsvc.W002"]


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        ("storages.backends.nowhere.Storage", {}, "storages.backends.nowhere.Storage can't be had"),
        ("django.core.files.storage.FileSystemStorage", {"bucket_name": "b"}, "bucket_name"),
    ],
)
def test_a_storage_that_cannot_be_had_is_named(
    settings, monkeypatch: pytest.MonkeyPatch, backend: str, options: dict[str, str], said: str
) -> None:
    told = settings.STORAGES | {"default": {"BACKEND": backend, "OPTIONS": options}}
    settings.STORAGES = told
    monkeypatch.setattr(checks, "storages", StorageHandler(told))
    (error,) = checks.the_storage_of_files_can_be_had(None)
    assert error.id == "evalsvc.E005"
    assert said in error.msg
    assert "STORAGE_BACKEND" in error.hint


def test_the_storage_as_it_comes_passes() -> None:
    assert checks.the_storage_of_files_can_be_had(None) == []
