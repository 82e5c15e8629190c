"""Jobs whose worker is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import kinds, queue, transitions
from evalsvc.core.jobs.lease import hand_back, reconcile
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.processes import is_alive, process_name
from evalsvc.core.jobs.queue import enqueue, request_cancel
from evalsvc.core.jobs.transitions import CRASHES_ALLOWED
from tests.places.postgres import in_threads

GONE = f"{process_name()}0"  # started at another time


def lose(worker: str = GONE) -> Job:
    """Claim the due job and let its lease run out."""
    job = queue.claim("score", worker=worker)
    assert job
    Job.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    return job


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

    def test_the_third_crash_is_the_last(
        self, changes: list[tuple[int, str]], caplog: pytest.LogCaptureFixture
    ) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            lose()
            reconcile()
        job = Job.objects.get()
        assert (job.state, job.error_code, job.attempt) == ("failed", "worker_lost", 3)
        assert f" {CRASHES_ALLOWED} times " in job.error
        assert changes[-1] == (3, "failed")
        assert caplog.text.count("queued again") == CRASHES_ALLOWED - 1
        assert f"Job {job.pk}: failed, worker_lost" in caplog.text

    def test_a_lease_that_runs_out_while_its_process_lives_never_counts(self) -> None:
        job = enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED + 2):
            lose(process_name())
            reconcile()
        lose()
        reconcile()
        assert Job.objects.get(pk=job.pk).state == "queued"

    def test_a_process_elsewhere_withdraws_the_loss_once_it_can_write(self) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            job = lose("elsewhere:1:1")
            reconcile()
            transitions.report_alive(job)
        job = Job.objects.get()
        assert (job.state, set(job.events.filter(attempt__gt=0).values_list("what", flat=True))) == (
            "queued",
            {"claimed", "lapsed"},
        )

    def test_a_living_process_restarts_the_job_that_its_loss_failed(self) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            job = lose("elsewhere:1:1")
            reconcile()
        assert Job.objects.get().state == "failed"
        transitions.report_alive(job)
        job = Job.objects.get()
        assert (job.state, job.error_code, job.error, job.ended_at) == ("queued", "", "", None)

    def test_a_job_handed_back_is_due_at_once_and_counts_nothing(self) -> None:
        enqueue("count", 1)
        for attempt in range(1, CRASHES_ALLOWED + 2):
            job = queue.claim("score")
            assert job
            assert (job.attempt, hand_back(job).state) == (attempt, "queued")
        lose()
        reconcile()
        assert Job.objects.get().state == "queued"

    def test_a_job_to_be_cancelled_is_not_handed_back(self) -> None:
        enqueue("count", 1)
        job = queue.claim("score")
        request_cancel(job)
        assert hand_back(job).state == "cancelled"

    def test_crashes_before_a_restart_do_not_count(self) -> None:
        enqueue("count", 1)
        for _ in range(CRASHES_ALLOWED):
            lose()
            reconcile()
        queue.restart(Job.objects.get(), by="olga")
        lose()
        reconcile()
        assert Job.objects.get().state == "queued"

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


def test_a_process_is_told_from_a_later_one_with_its_number() -> None:
    name = process_name()
    assert is_alive(name)
    assert not is_alive(f"{name}0")
    assert not is_alive(name.rpartition(":")[0])
    assert not is_alive("elsewhere:1:1")
