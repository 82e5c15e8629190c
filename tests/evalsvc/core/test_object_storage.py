"""Files in S3 are stored, scored, mended, swept and backed up as on a disk (against moto)."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client
from moto.server import ThreadedMotoServer

from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.storage import StorageFault, open_stored
from evalsvc.core.upkeep import registry, stored_files
from evalsvc.evaluation.models import PredictionFile, Submission
from evalsvc.evaluation.submissions import file_store
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_inline

LINES = [{"id": line["id"], "label": "N/A"} for line in RELATION_GOLD]
BUCKET = {"bucket_name": "evalsvc", "access_key": "a", "secret_key": "b", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(endpoint: str, settings: Any) -> Any:
    """An empty bucket in which this installation stores its files."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    bucket = boto3.resource("s3", endpoint_url=endpoint, **keys).Bucket("evalsvc")
    bucket.create()
    bucket.objects.delete()
    use(settings, endpoint)
    return bucket


def use(settings: Any, endpoint: str) -> None:
    backend = "evalsvc.core.object_storage.ObjectStorage"
    stored = {"BACKEND": backend, "OPTIONS": {**BUCKET, "endpoint_url": endpoint}}
    settings.STORAGES = {**settings.STORAGES, "default": stored}


def submitted(cast: BenchmarkCast, **fields: Any) -> Submission:
    benchmark = fields.pop("benchmark", None) or cast.relations()
    return cast.submit(benchmark, LINES, **fields)


def scored(submission: Submission) -> Job:
    Job.objects.filter(subject=submission.pk).update(run_after="2026-01-01T00:00:00Z")
    job = Job.objects.filter(kind="score", subject=submission.pk).latest("pk")
    return run_inline(job)


def names(bucket: Any) -> list[str]:
    return sorted(item.key for item in bucket.objects.all())


def test_an_uploaded_file_is_scored_from_the_bucket(cast: BenchmarkCast, bucket: Any) -> None:
    submission = submitted(cast)
    assert names(bucket) == [submission.file.name]
    assert scored(submission).state == Job.State.DONE
    submission.refresh_from_db()
    assert submission.state == Submission.State.SCORED
    assert default_storage.size(submission.file.name) == submission.file.size


def test_a_missing_object_is_retried_and_stored_anew_by_the_same_file(
    cast: BenchmarkCast, bucket: Any
) -> None:
    submission = submitted(cast)
    default_storage.save("predictions/other", ContentFile(b"1"))
    bucket.Object(submission.file.name).delete()
    assert scored(submission).state == Job.State.QUEUED
    submitted(cast, benchmark=submission.benchmark, run="2")
    assert scored(submission).state == Job.State.DONE


def test_a_damaged_object_fails_the_job_and_is_mended_by_the_same_file(
    cast: BenchmarkCast, bucket: Any
) -> None:
    submission = submitted(cast)
    body = bucket.Object(submission.file.name).get()["Body"].read()
    bucket.Object(submission.file.name).put(Body=body[:-2] + b" \n")
    job = scored(submission)
    assert (job.state, job.error_code) == (Job.State.FAILED, "file_changed")
    assert {finding.code for finding in registry.findings()} == {"file_damaged"}
    submitted(cast, benchmark=submission.benchmark, run="2")
    assert not list(stored_files.check_files(""))


def test_an_object_that_is_there_takes_the_same_requests_as_a_new_one(
    cast: BenchmarkCast, bucket: Any
) -> None:
    requests: list[list[str]] = [[]]
    events = default_storage.connection.meta.client.meta.events  # type: ignore[attr-defined]
    events.register("before-send.s3", lambda request, **_: requests[-1].append(request.method))
    digest = hashlib.sha256(b"1").hexdigest()
    file_store.store(io.BytesIO(b"0"), sha256=hashlib.sha256(b"0").hexdigest(), size=1)  # finds the folder
    for _ in ("new", "again"):
        requests.append([])
        file_store.store(io.BytesIO(b"1"), sha256=digest, size=1)
    assert requests[1] == requests[2]
    assert {"PUT", "GET", "DELETE"} <= {*requests[1]}
    assert len(names(bucket)) == 2


def test_a_store_that_is_away_puts_the_job_off(cast: BenchmarkCast, bucket: Any, settings: Any) -> None:
    submission = submitted(cast)
    use(settings, "http://127.0.0.1:9")
    job = scored(submission)
    assert (job.state, job.attempt) == (Job.State.QUEUED, 1)
    with pytest.raises(RetryLater) as away:
        open_stored(submission.file.name, others=["predictions/other"])
    assert away.value.most is None  # not lost, however often it is tried
    assert [finding.code for finding in registry.findings()] == ["storage_away"]


@pytest.mark.usefixtures("db")
def test_readiness_names_a_store_that_is_away_without_its_address(settings: Any) -> None:
    use(settings, "http://127.0.0.1:9")
    problems = Client().get("/readyz").json()["problems"]
    assert problems["storage"] == "The check failed (StorageFault)."


def test_objects_without_a_row_are_swept(
    cast: BenchmarkCast, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = submitted(cast)
    default_storage.save("predictions/ab/cd/orphan", ContentFile(b"1"))
    assert stored_files.sweep_orphans() == 0  # an upload may be under way
    monkeypatch.setattr(stored_files, "UNNAMED_FOR", timedelta(seconds=-60))
    assert stored_files.sweep_orphans() == 1
    assert names(bucket) == [submission.file.name]


def test_a_bucket_without_the_files_of_the_rows_takes_no_new_ones(
    cast: BenchmarkCast, bucket: Any, settings: Any, endpoint: str
) -> None:
    first = submitted(cast)
    bucket.objects.delete()
    use(settings, endpoint)  # as after a restart with another bucket
    with pytest.raises(StorageFault, match="evalsvc has none of the stored files"):
        default_storage.save("predictions/new", ContentFile(b"1"))
    default_storage.save("imports/new", ContentFile(b"1"))  # no row names a file there
    bucket.put_object(Key=first.file.name, Body=b"1")
    assert default_storage.save("predictions/new", ContentFile(b"1")) == "predictions/new"


@pytest.mark.usefixtures("db")
def test_an_equal_name_does_not_replace_another_file(bucket: Any) -> None:
    first, second = (default_storage.save("imports/a", ContentFile(text)) for text in (b"1", b"2"))
    with default_storage.open(first) as file, default_storage.open(second) as other:
        assert (file.read(), other.read()) == (b"1", b"2")


def test_a_backup_has_every_object_of_a_row(cast: BenchmarkCast, bucket: Any, tmp_path: Path) -> None:
    file = submitted(cast).file
    copied: dict[str, stored_files.StoredFile] = {}
    from evalsvc.local import backup

    assert not list(backup._copy_files(tmp_path, copied))
    assert set(copied) == {file.name}
    assert (tmp_path / "files" / file.name).stat().st_size == file.size


def test_upkeep_and_doctor_read_the_bucket(cast: BenchmarkCast, bucket: Any) -> None:
    submitted(cast)
    assert run_inline(enqueue(registry.KIND, 0)).state == Job.State.DONE
    call_command("doctor", stdout=(out := io.StringIO()))
    assert "No findings" in out.getvalue()
    assert PredictionFile.objects.exists()
