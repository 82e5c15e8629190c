from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import claim, completion
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import ask_cancel, enqueue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("followed")]


def claimed() -> Job:
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    job = claim.claim("score")
    assert job
    return job


def test_the_pauses_double_up_to_five_minutes() -> None:
    assert [completion.wait_seconds(n) for n in range(10)] == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_a_job_put_off_waits_its_pause_and_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "FIRST_WAIT_SECONDS", 200)
    made = enqueue("count", 1)
    job = completion.retry(claimed(), reason="no storage")
    assert (job.state, job.lease_until, job.attempt) == ("queued", None, 1)
    assert job.run_after - made.created_at >= timedelta(seconds=200)
    assert claim.claim("score") is None
    assert not JobEvent.objects.filter(what="lost").exists()


def test_surroundings_that_stay_broken_end_the_job_with_the_last_reason(settings) -> None:
    enqueue("count", 1)
    for _ in range(completion.RETRIES):
        completion.retry(claimed(), reason="no storage")
    job = completion.retry(claimed(), reason="still no storage")
    assert (job.state, job.error_code) == ("failed", "unavailable")
    assert job.error == "Tried 21 times. The last time: still no storage"


def test_a_job_somebody_cancelled_is_not_put_off() -> None:
    enqueue("count", 1)
    job = claimed()
    ask_cancel(job)
    assert completion.retry(job, reason="no storage").state == "cancelled"


def test_a_failure_says_code_and_reason_on_the_job_and_the_timeline() -> None:
    enqueue("count", 1)
    job = completion.fail(claimed(), code="bad_gold", reason="The gold has no lines.")
    assert (job.state, job.error_code, job.error) == ("failed", "bad_gold", "The gold has no lines.")
    assert job.ended_at is not None
    assert JobEvent.objects.last().detail == "bad_gold: The gold has no lines."


@pytest.mark.parametrize(("done", "total", "told"), [(0, 12, (12, 12)), (5, 12, (12, 12)), (0, 0, (1, 1))])
def test_a_job_that_is_done_has_done_every_step(done: int, total: int, told: tuple[int, int]) -> None:
    enqueue("count", 1)
    job = claimed()
    Job.objects.update(done=done, total=total)
    ended = completion.complete(job, lambda: None)
    assert (ended.done, ended.total) == told
