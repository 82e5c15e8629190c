"""The lease that is renewed while a handler works, and its progress."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import queue
from evalsvc.core.jobs.exceptions import Cancelled, LeaseLost
from evalsvc.core.jobs.lease import Lease, Progress, fenced
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, request_cancel
from tests.places.workers import until

pytestmark = pytest.mark.usefixtures("changes")


@pytest.fixture
def job(either_database: str) -> Job:
    enqueue("count", 1)
    claimed = queue.claim("score")
    assert claimed
    return claimed


def test_the_heartbeat_renews_the_lease_without_progress_reports(job: Job, settings) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 0.05
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    with Lease(job):
        until(lambda: Job.objects.filter(lease_until__gt=Now()).exists(), seconds=30)


def test_the_heartbeat_goes_on_after_a_moment_without_memory(
    job: Job, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit on the memory of a job holds for its whole process, and so for this thread."""
    settings.JOB_HEARTBEAT_SECONDS = 0.05
    tries: list[Lease] = []

    def write(lease: Lease, **_fields: object) -> None:
        tries.append(lease)
        if len(tries) == 1:
            raise MemoryError

    monkeypatch.setattr(Lease, "write", write)
    with Lease(job):
        until(lambda: len(tries) > 1, seconds=30)


def test_the_heartbeat_stops_with_the_work(job: Job, settings) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 0.05
    with Lease(job) as lease:
        pass
    assert not lease._thread.is_alive()


def test_progress_is_stored_at_intervals(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Progress, "EVERY_SECONDS", 3_600)
    progress = Progress(Lease(job))
    progress(1, 9, "reading")
    progress(2, 9, "reading")
    assert Job.objects.values_list("done", "total", "step").get() == (1, 9, "reading")


def test_work_on_a_lost_lease_is_stopped_and_stores_nothing(job: Job) -> None:
    Job.objects.update(attempt=2)
    with pytest.raises(LeaseLost):
        Progress(Lease(job))(5, 9)
    assert Job.objects.get().done == 0


def test_a_late_attempt_writes_nothing_in_a_fenced_transaction(job: Job) -> None:
    with Lease(job), fenced():
        Job.objects.update(step="present")
    Job.objects.update(attempt=2)
    with Lease(job), pytest.raises(LeaseLost), fenced():
        Job.objects.update(step="late")
    with fenced():  # outside of jobs
        Job.objects.update(total=5)
    assert Job.objects.values_list("step", "total").get() == ("present", 5)


def test_the_heartbeat_notices_a_lost_lease(job: Job, settings) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 0.05
    Job.objects.update(attempt=2)
    with Lease(job) as lease:
        until(lambda: lease.lost, seconds=30)


def test_cancelled_work_stops_at_its_next_report(job: Job) -> None:
    request_cancel(job)
    with pytest.raises(Cancelled):
        Progress(Lease(job))(5, 9)
