"""Jobs whose worker is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import kinds, queue
from evalsvc.core.jobs.lease import CRASHES_ALLOWED, reconcile
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue, request_cancel
from tests.places.postgres import in_threads


def lose() -> None:
    """Claim the due job and let its lease run out."""
    assert queue.claim("score")
    Job.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.usefixtures("changes")
class TestReconcile:
    def test_a_job_under_lease_is_left_alone(self) -> None:
        enqueue("count", 1)
        queue.claim("score")
        assert reconcile() == 0
        assert Job.objects.get().state == "running"

    def test_a_lost_job_is_queued_again_and_runs_as_the_next_attempt(self) -> None:
        enqueue("count", 1)
        lose()
        assert reconcile() == 1
        assert queue.claim("score").attempt == 2

    def test_the_third_crash_is_the_last(self, changes: list[tuple[int, str]]) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            lose()
            reconcile()
        job = Job.objects.get()
        assert (job.state, job.error_code, job.attempt) == ("failed", "worker_lost", 3)
        assert f" {CRASHES_ALLOWED} times " in job.error
        assert changes[-1] == (3, "failed")

    def test_a_retry_does_not_count_as_a_crash(self) -> None:
        enqueue("count", 1)
        Job.objects.update(attempt=7)
        lose()
        reconcile()
        assert Job.objects.get().state == "queued"

    def test_a_cancelled_job_whose_worker_died_is_cancelled(self) -> None:
        enqueue("count", 1)
        lose()
        request_cancel(Job.objects.get())
        reconcile()
        assert Job.objects.get().state == "cancelled"

    def test_a_failing_hook_does_not_stop_the_other_jobs(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(job: Job) -> None:
            if job.state == "queued" and job.attempt:
                raise ZeroDivisionError

        enqueue("count", 1, lane="a")
        monkeypatch.setitem(kinds._kinds, "broken", kinds.Kind("broken", "score", fail))
        enqueue("broken", 1, lane="b")
        lose()
        lose()
        assert reconcile() == 1
        assert dict(Job.objects.values_list("kind", "state")) == {"count": "queued", "broken": "running"}
        assert "could not be released" in caplog.text


@pytest.mark.usefixtures("changes")
def test_eight_reconcilers_at_once_release_each_job_once(either_database: str) -> None:
    for subject in range(6):
        enqueue("count", subject)
        lose()
    released = in_threads(8, lambda _: reconcile())
    assert sum(released) == 6
    assert JobEvent.objects.filter(what="lost").count() == 6
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}
