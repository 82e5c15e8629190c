"""Ends of an attempt: done, failed, cancelled, retried later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue, request_cancel

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("changes")]


def claimed() -> Job:
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    job = queue.claim("score")
    assert job
    return job


def test_the_waits_double_up_to_five_minutes() -> None:
    assert [transitions.wait_seconds(n) for n in range(10)] == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_a_retried_job_waits_and_is_not_counted_as_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "FIRST_WAIT_SECONDS", 200)
    made = enqueue("count", 1)
    job = transitions.retry(claimed(), reason="no storage")
    assert (job.state, job.lease_until, job.attempt) == ("queued", None, 1)
    assert job.run_after - made.created_at >= timedelta(seconds=200)
    assert queue.claim("score") is None
    assert not JobEvent.objects.filter(what="lost").exists()


def test_the_start_of_a_retried_job_stays_that_of_its_first_attempt() -> None:
    enqueue("count", 1)
    first = claimed()
    transitions.retry(first, reason="no storage")
    assert Job.objects.get().started_at == first.started_at
    second = claimed()
    assert (second.attempt, second.started_at) == (2, first.started_at)
    ended = transitions.complete(second, lambda: None)
    assert ended.started_at == first.started_at <= ended.ended_at
    begun = JobEvent.objects.filter(what="claimed").order_by("pk").values_list("attempt", "at")
    assert [attempt for attempt, _ in begun] == [1, 2]
    assert begun[1][1] > begun[0][1]


def test_faults_of_the_infrastructure_never_end_a_job() -> None:
    enqueue("count", 1)
    for _ in range(30):
        assert transitions.retry(claimed(), reason="no storage").state == "queued"


def test_a_bounded_retry_ends_after_as_many_for_its_own_reason() -> None:
    enqueue("count", 1)
    for reason in ("no storage", "no storage", "no file", "no storage", "no file"):
        transitions.retry(claimed(), reason=reason, most=2, code="file_lost")
        Job.objects.filter(state="failed").update(state="queued")
    job = transitions.retry(claimed(), reason="no file", most=2, code="file_lost")
    assert (job.state, job.error_code) == ("failed", "file_lost")
    assert "3 attempts" in job.error
    assert "no file" in job.error


def test_a_cancelled_job_is_not_retried() -> None:
    enqueue("count", 1)
    job = claimed()
    request_cancel(job)
    assert transitions.retry(job, reason="no storage").state == "cancelled"


def test_a_failure_has_code_and_reason_on_the_job_and_in_its_event() -> None:
    enqueue("count", 1)
    job = transitions.fail(claimed(), code="bad_gold", reason="The gold has no lines.")
    assert (job.state, job.error_code, job.error) == ("failed", "bad_gold", "The gold has no lines.")
    assert job.ended_at is not None
    assert JobEvent.objects.last().detail == "bad_gold: The gold has no lines."


@pytest.mark.parametrize(("done", "total", "ended"), [(0, 12, (12, 12)), (5, 12, (12, 12)), (0, 0, (1, 1))])
def test_a_finished_job_has_all_steps_done(done: int, total: int, ended: tuple[int, int]) -> None:
    enqueue("count", 1)
    job = claimed()
    Job.objects.update(done=done, total=total)
    job = transitions.complete(job, lambda: None)
    assert (job.done, job.total) == ended
