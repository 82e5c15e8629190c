"""Readiness names each part that fails; metrics are off unless set, and match their alert rules."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from django.core.files.storage import FileSystemStorage
from django.db.models.functions import Now
from django.test import Client

from evalsvc import health
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.queue import enqueue, start_drain
from evalsvc.serving import gunicorn_settings
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import answers
from tests.places.workers import ROOT

READY = {"status": "ready", "problems": {}, "draining": False}


@pytest.fixture
def ready(db: None, settings: Any, tmp_path: Path) -> None:
    """Storage, space, and an active worker for every queue."""
    settings.MEDIA_ROOT, settings.FREE_BYTES_LEAST = tmp_path, 1
    Worker.objects.bulk_create(Worker(queue=queue, name="w") for queue in settings.JOB_QUEUES)


def test_an_installation_whose_parts_work_is_ready(ready: None, client: Client) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (200, READY)


def test_a_storage_that_hangs_is_named_without_waiting_for_it(
    ready: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, looks = Event(), []
    monkeypatch.setattr(health, "STORAGE_SECONDS", 0.05)
    monkeypatch.setattr(FileSystemStorage, "listdir", lambda *_: (looks.append(1), answers.wait(60)))
    for _ in range(3):
        assert client.get("/readyz").json()["problems"] == {"storage": "No response within 0.05 s."}
    assert len(looks) == 1
    answers.set()
    assert health.StorageProbe.latest
    health.StorageProbe.latest.join(60)
    monkeypatch.setattr(health, "STORAGE_SECONDS", 60)
    assert client.get("/readyz").json() == READY


def lose_a_worker(settings: Any) -> None:
    Worker.objects.filter(queue="heavy").delete()


def lose_the_storage(settings: Any) -> None:
    settings.MEDIA_ROOT = settings.MEDIA_ROOT / "away"


def fill_the_disk(settings: Any) -> None:
    settings.FREE_BYTES_LEAST = 10**18


def leave_an_empty_mount_point(settings: Any) -> None:
    cast = BenchmarkCast.create()
    cast.submit(cast.relations(), answers(3))
    settings.MEDIA_ROOT = settings.MEDIA_ROOT / "empty"
    settings.MEDIA_ROOT.mkdir()


def fill_the_disk_of_stored_files(settings: Any) -> None:
    settings.MEDIA_ROOT = "/proc"  # a mount of its own, on which no byte is free


def stop_the_broker(settings: Any) -> None:
    health.CHECKS["broker"] = _unreachable


def stall_a_queue(settings: Any) -> None:
    Job.objects.filter(pk=enqueue("describe", 1).pk).update(run_after="2026-01-01T00:00:00Z")


def _unreachable() -> str:
    raise ConnectionRefusedError("redis://:password@host")


@pytest.mark.parametrize(
    ("harm", "part"),
    [
        (lose_a_worker, "workers"),
        (lose_the_storage, "storage"),
        (leave_an_empty_mount_point, "storage"),
        (fill_the_disk, "free space"),
        (fill_the_disk_of_stored_files, "free space"),
        (stop_the_broker, "broker"),
        (stall_a_queue, "progress"),
    ],
)
def test_a_part_that_fails_is_named_without_addresses(
    ready: None, client: Client, settings: Any, monkeypatch: Any, harm: Any, part: str
) -> None:
    monkeypatch.setattr(health, "CHECKS", dict(health.CHECKS))
    harm(settings)
    response = client.get("/readyz")
    assert (response.status_code, set(response.json()["problems"])) == (503, {part})
    assert "password" not in response.text


def test_a_drain_is_shown_and_is_no_alarm(ready: None, client: Client, cast: BenchmarkCast) -> None:
    start_drain("New disks.")
    submission = cast.submit(cast.relations(), answers(3))
    Job.objects.update(run_after=Now() - timedelta(hours=1))
    response = client.get("/readyz")
    assert (response.status_code, response.json()["draining"]) == (200, True)
    assert client.get("/api/v1/status").json()["drain"]["reason"] == "New disks."
    assert "New disks." in client.get("/status/").content.decode()
    client.force_login(cast.kim)
    assert "New disks." in client.get(f"/submissions/{submission.pk}/").content.decode()


def test_metrics_are_off_unless_set(db: None, client: Client) -> None:
    assert client.get("/metrics").status_code == 404


def test_every_metric_of_the_alert_rules_is_served(ready: None, client: Client, settings: Any) -> None:
    settings.METRICS = True
    enqueue("describe", 1)
    text = client.get("/metrics").text
    served = set(re.findall(r"^(evalsvc_\w+)", text, re.MULTILINE))
    rules = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"][0]["rules"]
    assert {name for rule in rules for name in re.findall(r"evalsvc_\w+", rule["expr"])} <= served
    assert 'evalsvc_jobs_waiting{queue="heavy"} 1\n' in text


def test_the_manual_has_a_cure_for_every_alert() -> None:
    rules = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"][0]["rules"]
    manual = (ROOT / "docs" / "operations.md").read_text()
    assert not [rule["alert"] for rule in rules if f"| `{rule['alert']}` |" not in manual]


def test_a_request_waits_two_seconds_for_a_broker_that_hangs(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.core.database.held_open", str)
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 30, "max_retries": 1}
    gunicorn_settings.post_worker_init(None)
    assert settings.CELERY_BROKER_TRANSPORT_OPTIONS == {"socket_timeout": 2, "max_retries": 1}
