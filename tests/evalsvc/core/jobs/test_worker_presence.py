"""Active workers, queue by queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import queue, queue_status
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.queue import enqueue
from workers.runner import run_next_task

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("changes")]


def silent_for(minutes: int) -> None:
    Worker.objects.update(heard_at=Now() - timedelta(minutes=minutes))


def test_a_worker_that_asks_for_work_is_active_in_that_queue_alone() -> None:
    assert {health.last_seen_at for health in queue_status.queue_health()} == {None}
    assert queue_status.active_workers("score") == 0
    run_next_task("score")
    queues = {health.queue: health for health in queue_status.queue_health()}
    assert {queue: health.active_workers for queue, health in queues.items()} == {
        "score": 1,
        "heavy": 0,
        "ingest": 0,
    }
    assert queues["score"].last_seen_at is not None
    assert queues["heavy"].last_seen_at is None


def test_a_silent_worker_is_not_active_but_was_seen() -> None:
    queue_status.record_seen("score")
    silent_for(2)
    score = next(each for each in queue_status.queue_health() if each.queue == "score")
    assert (score.active_workers, queue_status.active_workers("score")) == (0, 0)
    assert score.last_seen_at is not None


def test_a_worker_at_long_work_is_active_while_its_lease_lasts() -> None:
    queue_status.record_seen("score")
    silent_for(30)
    enqueue("count", 1)
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    assert queue.claim("score")
    assert queue_status.active_workers("score") == 1
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert queue_status.active_workers("score") == 0


def test_each_worker_counts_once() -> None:
    for worker in ("here:1", "here:1", "here:2"):
        queue_status.record_seen("score", worker=worker)
    assert queue_status.active_workers("score") == 2
    silent_for(2)
    queue_status.record_seen("score", worker="here:1")
    assert (queue_status.active_workers("score"), Worker.objects.count()) == (1, 2)


def test_workers_not_seen_for_a_day_are_deleted() -> None:
    queue_status.record_seen("score", worker="gone:1")
    silent_for(60 * 25)
    queue_status.record_seen("score", worker="here:1")
    assert list(Worker.objects.values_list("name", flat=True)) == ["here:1"]
