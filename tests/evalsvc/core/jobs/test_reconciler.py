from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import claim, kinds
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import ask_cancel, enqueue
from evalsvc.core.jobs.reconciler import CRASHES_ALLOWED, reconcile
from tests.places.postgres import in_threads


def lose() -> None:
    """Claim the due job and let its lease run out."""
    assert claim.claim("score")
    Job.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.usefixtures("followed")
class TestReconcile:
    def test_a_job_under_lease_is_left_alone(self) -> None:
        enqueue("count", 1)
        claim.claim("score")
        assert reconcile() == 0
        assert Job.objects.get().state == "running"

    def test_a_lost_job_waits_again_and_runs_as_the_next_attempt(self) -> None:
        enqueue("count", 1)
        lose()
        assert reconcile() == 1
        assert claim.claim("score").attempt == 2

    def test_the_third_crash_is_the_last_and_says_why(self, followed: list[tuple[int, str]]) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            lose()
            reconcile()
        job = Job.objects.get()
        assert (job.state, job.error_code, job.attempt) == ("failed", "worker_lost", 3)
        assert job.error.startswith("The worker stopped 3 times while doing this")
        assert followed[-1] == (3, "failed")

    def test_being_put_off_does_not_count_as_a_crash(self) -> None:
        enqueue("count", 1)
        Job.objects.update(attempt=7)
        lose()
        reconcile()
        assert Job.objects.get().state == "queued"

    def test_a_cancelled_job_whose_worker_died_is_cancelled(self) -> None:
        enqueue("count", 1)
        lose()
        ask_cancel(Job.objects.get())
        reconcile()
        assert Job.objects.get().state == "cancelled"

    def test_a_room_that_breaks_does_not_stop_the_others(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def follow(job: Job) -> None:
            if job.state == "queued" and job.attempt:
                raise ZeroDivisionError

        enqueue("count", 1, lane="a")
        monkeypatch.setitem(kinds._kinds, "broken", kinds.Kind("broken", "score", follow))
        enqueue("broken", 1, lane="b")
        lose()
        lose()
        assert reconcile() == 1
        assert dict(Job.objects.values_list("kind", "state")) == {"count": "queued", "broken": "running"}
        assert "could not be given back" in caplog.text


@pytest.mark.usefixtures("followed")
def test_eight_reconcilers_at_once_give_each_job_back_once(either_database: str) -> None:
    for subject in range(6):
        enqueue("count", subject)
        lose()
    given_back = in_threads(8, lambda _: reconcile())
    assert sum(given_back) == 6
    assert JobEvent.objects.filter(what="lost").count() == 6
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}
