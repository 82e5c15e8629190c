"""Damage is found with its cure; what no row needs is removed, everything else stays."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.models import PROTECT, FileField

from annotation.testset import TestSet, TestSetRow
from evalsvc.core.accounts.models import ApiToken, Invitation
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.upkeep import registry, stored_files
from evalsvc.evaluation.models import Evaluation, PredictionFile, Submission
from tests.cast.basics import sentence
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from tests.cast.periodic import look
from tests.cast.projects import create_project, import_lines
from workers.runner import run_inline

LONG_AGO = time.time() - 7_200


def store(name: str, *, at: float = LONG_AGO) -> Path:
    path = Path(default_storage.path(default_storage.save(name, ContentFile(b"part"))))
    os.utime(path, (at, at))
    return path


def codes() -> set[str]:
    return {finding.code for finding in registry.findings()}


def doctor(*options: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("doctor", *options, stdout=out, stderr=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def stored_file(cast: BenchmarkCast) -> PredictionFile:
    cast.submit(cast.relations(), [{"id": line["id"], "label": "N/A"} for line in RELATION_GOLD])
    return PredictionFile.objects.get()


def emptied(file: PredictionFile) -> None:
    Path(default_storage.path(file.name)).write_bytes(b"")


def one_bit_flipped(file: PredictionFile) -> None:
    path = Path(default_storage.path(file.name))
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def deleted(file: PredictionFile) -> None:
    default_storage.delete(file.name)


@pytest.mark.parametrize(
    ("harm", "code"),
    [(emptied, "file_damaged"), (one_bit_flipped, "file_damaged"), (deleted, "file_missing")],
)
def test_a_damaged_file_is_found_with_its_cure(
    cast: BenchmarkCast, harm: Callable[[PredictionFile], None], code: str
) -> None:
    file = stored_file(cast)
    assert doctor()[0] == 0
    harm(file)
    exit_code, output = doctor()
    assert (exit_code, codes()) == (1, {code})
    assert f"Copy files/{file.name} of a backup" in output
    assert "submit the same file again" in output


@pytest.mark.parametrize("place", ["away", "empty"])
def test_a_storage_that_is_away_is_one_finding(cast: BenchmarkCast, settings: Any, place: str) -> None:
    benchmark = cast.relations()
    for run, label in enumerate(("N/A", "born_in")):
        lines = [{"id": line["id"], "label": label} for line in RELATION_GOLD]
        cast.submit(benchmark, lines, run=str(run))
    settings.MEDIA_ROOT = Path(settings.MEDIA_ROOT) / place
    if place == "empty":
        settings.MEDIA_ROOT.mkdir()
    assert [finding.code for finding in registry.findings()] == ["storage_away"]


def test_one_fault_behind_several_checks_is_one_finding(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(share: str) -> Iterator[registry.Finding]:
        raise OperationalError("connection refused\n\tIs the server running?")

    monkeypatch.setattr(registry, "_checks", registry._checks | {"jobs": fail, "test sets": fail})
    exit_code, output = doctor()
    assert (exit_code, codes()) == (1, {"check_failed"})
    assert "The check of jobs, test sets failed: connection refused Is the server running?\n" in output
    assert "1 finding." in output


def test_little_free_space_is_found_with_its_cure(db: None, settings: Any) -> None:
    settings.FREE_BYTES_LEAST = 10**18
    exit_code, output = doctor()
    assert (exit_code, codes()) == (1, {"low_space"})
    assert "make room" in output


def test_a_deleted_line_of_a_frozen_set_is_found(cast: BenchmarkCast) -> None:
    cast.relations()
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER frozen_lines_are_not_deleted")
    TestSetRow.objects.filter(number=1).delete()
    assert codes() == {"gold_changed"}


def test_a_job_whose_lease_ended_long_ago_is_found(cast: BenchmarkCast) -> None:
    job = enqueue("describe", 1)
    Job.objects.filter(pk=job.pk).update(state="running", lease_until="2026-01-01T00:00:00Z")
    assert codes() == {"lease_overdue"}


@pytest.mark.parametrize("folder", ["predictions", "imports"])
def test_old_files_without_a_row_are_removed(cast: BenchmarkCast, folder: str) -> None:
    file = stored_file(cast)
    orphan, new = store(f"{folder}/ab/orphan"), store(f"{folder}/ab/new", at=time.time())
    os.utime(default_storage.path(file.name), (LONG_AGO, LONG_AGO))
    assert codes() == {"orphan_files"}
    registry.sweep()
    assert (orphan.exists(), new.exists(), default_storage.exists(file.name)) == (False, True, True)
    assert not codes()


def test_files_of_another_database_are_removed_on_request_only(cast: BenchmarkCast) -> None:
    names = [store(f"predictions/{n}") for n in range(3)]
    assert stored_files.sweep_orphans(most=2) == 0
    assert all(path.exists() for path in names)
    assert doctor("--sweep")[0] == 0
    assert not any(path.exists() for path in names)


def test_temporary_files_of_killed_requests_are_removed(tmp_path: Path, settings: Any) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    old, new = tmp_path / "old.upload", tmp_path / "new.upload"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (LONG_AGO, LONG_AGO))
    assert stored_files.sweep_uploads() == 1
    assert (old.exists(), new.exists()) == (False, True)


def test_lines_of_a_failed_test_set_are_removed(cast: BenchmarkCast) -> None:
    cast.relations()
    frozen = TestSet.objects.get()
    failed = TestSet.objects.create(slug="x", name="x", version="1", state="building", by=frozen.by)
    TestSetRow.objects.create(test_set=failed, number=1, external_id="1", line="{}")
    registry.sweep()
    assert failed.lines.exists()
    TestSet.objects.filter(pk=failed.pk).update(state="failed")
    registry.sweep()
    assert not failed.lines.exists()
    frozen.verify()


def test_the_upkeep_job_sweeps_and_fails_with_the_first_cure(cast: BenchmarkCast, monkeypatch: Any) -> None:
    monkeypatch.setattr(registry, "share_of", lambda subject: "")  # everything at once
    file, orphan = stored_file(cast), store("predictions/orphan")
    assert run_inline(enqueue(registry.KIND, 0)).state == Job.State.DONE
    assert not orphan.exists()
    emptied(file)
    job = run_inline(enqueue(registry.KIND, 0))
    assert (job.state, job.error_code) == (Job.State.FAILED, "problems_found")
    assert "submit the same file again" in job.error


def test_the_upkeep_job_is_queued_once_in_its_interval(db: None, settings: Any, monkeypatch: Any) -> None:
    settings.UPKEEP_SECONDS = 60
    for _ in range(2):
        look(registry)
    assert Job.objects.filter(kind=registry.KIND).count() == 1


def test_upkeep_jobs_check_one_share_after_the_other(db: None, settings: Any, monkeypatch: Any) -> None:
    settings.UPKEEP_SECONDS = 60
    for _ in range(17):
        look(registry)
        Job.objects.update(state=Job.State.DONE, created_at="2026-01-01T00:00:00Z")
    shares = [registry.share_of(job.subject) for job in Job.objects.order_by("pk")]
    assert "".join(shares) == "0123456789abcdef0"


def test_probes_of_killed_processes_are_removed(cast: BenchmarkCast) -> None:
    old, new = store("probes/old"), store("probes/new", at=time.time())
    assert stored_files.sweep_orphans() == 1
    assert (old.exists(), new.exists()) == (False, True)


def test_a_file_stored_while_orphans_are_swept_stays(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = store("predictions/ab/cd/abcd")
    monkeypatch.setattr(stored_files, "orphans", lambda folder: iter(["predictions/ab/cd/abcd"]))
    os.utime(orphan)  # another sweep removed it, and an upload took its name
    stored_files.sweep_orphans()
    assert orphan.exists()


@pytest.mark.postgres
@pytest.mark.parametrize("either_database", ["postgres"], indirect=True)
def test_a_file_stored_between_two_sweeps_of_its_name_stays(
    either_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = store("predictions/ab/cd/abcd")
    deleting, stored, delete = Event(), Event(), default_storage.delete

    def delete_late(name: str) -> None:
        if not deleting.is_set():  # the first sweep
            deleting.set()
            stored.wait(1)
        delete(name)

    monkeypatch.setattr(default_storage, "delete", delete_late)
    first = Thread(target=lambda: (stored_files.sweep_orphans(), connection.close()))
    first.start()
    deleting.wait(30)
    stored_files.sweep_orphans()
    orphan.write_bytes(b"new")  # by an upload
    stored.set()
    first.join()
    assert orphan.exists()


@pytest.mark.postgres
def test_too_few_connections_for_the_workers_are_found(postgres: Any) -> None:
    Worker.objects.create(queue="score", name="first")
    assert not list(registry.check_connections(""))
    for queue in ("score", "ingest"):
        Worker.objects.bulk_create(Worker(queue=queue, name=str(n)) for n in range(60))
    (finding,) = registry.check_connections("")
    assert "61 worker processes" in finding.detail
    Worker.objects.update(heard_at="2026-01-01T00:00:00Z")
    assert not list(registry.check_connections(""))


@pytest.fixture
def ended(cast: BenchmarkCast) -> list[Any]:
    """A row of each kind that ended long ago, and beside each one that is needed."""
    long_ago, fields = "2020-01-01T00:00:00Z", {"queue": "heavy", "state": "done", "subject": 1}
    submission = stored_file(cast).submissions.get()
    owned = Job.objects.filter(pk=submission.job_id)
    owned.update(ended_at=long_ago, state="done")
    Job.objects.create(kind="score", queue="score", subject=submission.pk)
    replaced = Job.objects.create(kind="describe", ended_at=long_ago, **fields)
    replaced.events.create(attempt=1, what="done")
    later = "2020-01-02T00:00:00Z"
    Job.objects.create(kind="describe", claimed_at=later, ended_at=later, **fields)  # the last one
    for kind_fields in (
        fields | {"state": "failed"},
        fields,
    ):  # the second was under way when the first failed
        Job.objects.create(
            kind="recompute", claimed_at="2019-12-31T00:00:00Z", ended_at=long_ago, **kind_fields
        )
    target = {"place": "team", "subject": cast.kelpie.pk, "role": "member", "by": cast.kim}
    invitation = Invitation.objects.create(digest="a", expires_at=long_ago, **target)
    Invitation.objects.create(digest="b", expires_at="2999-01-01T00:00:00Z", **target)
    token = ApiToken.objects.create(user=cast.kim, name="a", digest="a", revoked_at=long_ago)
    ApiToken.objects.create(user=cast.kim, name="b", digest="b")
    session = Session.objects.create(session_key="a", session_data="", expire_date=long_ago)
    Session.objects.create(session_key="b", session_data="", expire_date="2999-01-01T00:00:00Z")
    return [replaced, invitation, token, session]


def remaining(rows: list[Any]) -> list[bool]:
    return [type(row).objects.filter(pk=row.pk).exists() for row in rows]


def test_rows_that_ended_long_ago_are_shown_then_removed(ended: list[Any]) -> None:
    before = {type(row): type(row).objects.count() for row in ended}
    output = doctor("--show")[1]
    assert output.count("would remove: 1 ") == len(ended)
    assert remaining(ended) == [True] * 4
    registry.sweep()
    assert remaining(ended) == [False] * 4
    assert {model: model.objects.count() + 1 for model in before} == before
    assert "would remove: 1 " not in doctor("--show")[1]


@pytest.mark.django_db
def test_what_each_sweep_would_remove_is_counted_before(tmp_path: Path, settings: Any) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    (tmp_path / "old.upload").write_bytes(b"part")
    os.utime(tmp_path / "old.upload", (LONG_AGO, LONG_AGO))
    batch = import_lines(create_project(), [sentence(1), sentence(2)])
    type(batch).objects.filter(pk=batch.pk).update(state="failed")
    PredictionFile.objects.create(
        sha256="a" * 64, size=1, name="predictions/a", kept_at="2000-01-01T00:00:00Z"
    )
    shown = dict(registry.removable())
    for name, n in (("temporary files of uploads", 1), ("staged rows", 2), ("unused files", 1)):
        assert (name, shown[name]) == (name, n)
        assert f"would remove: {n} {name}\n" in doctor("--show")[1]
    removed = registry.sweep()
    assert {name: removed[name] for name in shown} == shown
    assert set(dict(registry.removable()).values()) == {0}


def test_rows_are_kept_for_ever_where_no_days_are_set(ended: list[Any], settings: Any) -> None:
    settings.KEEP_DAYS = 0
    registry.sweep()
    assert remaining(ended) == [True, True, True, False]  # an expired session lets nobody in


@pytest.mark.django_db(transaction=True)
def test_statistics_count_every_row_of_an_index() -> None:
    """A large project among small ones, which a sample takes for small."""
    rows = [Job(kind="none", subject=max(at, 1_500), queue="score") for at in range(1_800)]
    Job.objects.bulk_create(rows)
    registry.refresh_statistics()
    with connection.cursor() as cursor:
        cursor.execute("SELECT stat FROM sqlite_stat1 WHERE idx = 'job_subject'")
        assert cursor.fetchall() == [("1800 1800 6",)]  # rows, by kind, by subject


def test_every_model_that_names_a_stored_file_is_known_to_sweeps_checks_and_backups() -> None:
    """An unknown one would have its files removed as orphans an hour after they were stored."""
    folders = {(folder.model, folder.field) for folder in stored_files._folders.values()}
    fields = {(model, field) for model in apps.get_models() for field in model._meta.concrete_fields}
    stored = {(model, field.name) for model, field in fields if isinstance(field, FileField)}
    assert stored | {(PredictionFile, "name")} == folders


def test_every_reference_to_a_prediction_file_keeps_it_from_the_sweep() -> None:
    named = {
        (relation.related_model, relation.field.name) for relation in PredictionFile._meta.related_objects
    }
    assert named == {(Submission, "file"), (Submission, "model"), (Evaluation, "file")}
    assert {relation.on_delete for relation in PredictionFile._meta.related_objects} == {PROTECT}
