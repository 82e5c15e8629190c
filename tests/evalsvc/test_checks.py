from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage.handler import StorageHandler

from evalsvc import checks


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


def test_default_settings_pass_every_check() -> None:
    from django.core.checks import run_checks

    assert run_checks() == []


@pytest.mark.parametrize(("lease", "beat", "expected"), [(10, 3, []), (7, 3, []), (6, 3, ["evalsvc.E003"])])
def test_a_lease_must_outlive_a_missed_heartbeat(
    settings, lease: int, beat: int, expected: list[str]
) -> None:
    settings.JOB_LEASE_SECONDS, settings.JOB_HEARTBEAT_SECONDS = lease, beat
    assert ids(checks.job_lease_outlives_a_missed_heartbeat(None)) == expected


def test_a_broker_other_than_redis_and_rabbitmq_is_rejected_by_name(settings) -> None:
    settings.CELERY_BROKER_URL = "sqs://localhost"
    (error,) = checks.broker_is_supported(None)
    assert "'sqs'" in error.msg
    assert "BROKER_URL" in error.hint


def test_a_missing_data_folder_is_named(settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "gone"
    (error,) = checks.data_folder_is_writable(None)
    assert str(tmp_path / "gone") in error.msg


def test_inconsistent_limits_are_rejected(settings) -> None:
    settings.UPLOAD_MAX_LINE_BYTES = settings.UPLOAD_MAX_BYTES + 1
    assert ids(checks.upload_limits_are_consistent(None)) == ["evalsvc.E004"]


def test_production_on_sqlite_without_a_broker_gives_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REDIS_URL", "BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    assert ids(checks.production_uses_postgres(None)) == ["evalsvc.W001"]
    assert ids(checks.production_configures_a_broker(None)) == ["evalsvc.W002"]


@pytest.mark.parametrize(
    ("https", "proxies", "expected"), [(True, 0, ["evalsvc.W004"]), (True, 1, []), (False, 0, [])]
)
def test_https_without_trusted_proxies_gives_a_warning(
    settings, https: bool, proxies: int, expected: list[str]
) -> None:
    settings.HTTPS, settings.TRUSTED_PROXIES = https, proxies
    assert ids(checks.visitors_differ_behind_a_proxy(None)) == expected


@pytest.mark.parametrize(
    ("https", "origins", "expected"),
    [
        (True, [], ["evalsvc.W005"]),
        (True, ["https://*.example.org"], ["evalsvc.W005"]),
        (True, ["https://*.example.org", "https://example.org"], []),
        (False, [], []),
    ],
)
def test_https_without_a_trusted_origin_gives_a_warning(
    settings, https: bool, origins: list[str], expected: list[str]
) -> None:
    settings.HTTPS, settings.CSRF_TRUSTED_ORIGINS = https, origins
    assert ids(checks.links_in_mails_have_a_host(None)) == expected


@pytest.mark.parametrize(
    ("backend", "options", "name"),
    [
        ("storages.backends.nowhere.Storage", {}, "storages.backends.nowhere.Storage"),
        ("django.core.files.storage.FileSystemStorage", {"bucket_name": "b"}, "bucket_name"),
    ],
)
def test_an_unavailable_storage_is_named(
    settings, monkeypatch: pytest.MonkeyPatch, backend: str, options: dict[str, str], name: str
) -> None:
    storages = settings.STORAGES | {"default": {"BACKEND": backend, "OPTIONS": options}}
    settings.STORAGES = storages
    monkeypatch.setattr(checks, "storages", StorageHandler(storages))
    (error,) = checks.file_storage_is_available(None)
    assert error.id == "evalsvc.E005"
    assert name in error.msg
    assert "STORAGE_BACKEND" in error.hint


def test_the_default_storage_passes() -> None:
    assert checks.file_storage_is_available(None) == []


def test_any_host_is_an_error_in_production(settings) -> None:
    settings.ALLOWED_HOSTS = ["evalsvc.example.org"]
    assert checks.hosts_are_named(None) == []
    settings.ALLOWED_HOSTS = ["evalsvc.example.org", "*"]
    (error,) = checks.hosts_are_named(None)
    assert error.is_serious()


def test_a_data_folder_open_to_others_is_reported(settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    tmp_path.chmod(0o700)
    assert checks.data_folder_is_private(None) == []
    tmp_path.chmod(0o750)
    (warning,) = checks.data_folder_is_private(None)
    assert f"chmod 700 {tmp_path}" in warning.hint
