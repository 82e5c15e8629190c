"""Uploads while no file can be stored: 503, in the API and on pages, and nothing is stored."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.models import PredictionFile, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast

LINES = jsonl({"id": line["id"], "label": "born_in"} for line in RELATION_GOLD)


@pytest.fixture(params=["away", "full"])
def broken_storage(request: Any, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    cast.submit(cast.relations(), [{"id": line["id"], "label": "N/A"} for line in RELATION_GOLD])
    files = Path(default_storage.path(""))
    if request.param == "full":
        monkeypatch.setattr(FileSystemStorage, "_save", full)
        yield request.param
        return
    away = files.rename(files.with_name("away"))
    yield request.param
    shutil.rmtree(files, ignore_errors=True)
    away.rename(files)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_upload_is_asked_to_come_back(broken_storage: str, cast: BenchmarkCast) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(cast.kim)
    before = PredictionFile.objects.count(), Submission.objects.count()
    sent = {"system": "Net", "run": "1", "file": SimpleUploadedFile("net.jsonl", LINES)}
    answer = client.post(reverse("api-submissions", args=["rel"]), sent)
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert answer.json()["code"] == "storage_away"
    sent["file"] = SimpleUploadedFile("net.jsonl", LINES)
    page = client.post(reverse("submit", args=["rel"]), sent)
    assert page.status_code == 503
    assert "cannot store files at the moment" in page.content.decode()
    assert (PredictionFile.objects.count(), Submission.objects.count()) == before
