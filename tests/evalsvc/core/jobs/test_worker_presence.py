"""Which workers were heard of lately, queue by queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.core.jobs import claim, queue_status, worker_presence
from evalsvc.core.jobs.models import Job, Worker
from evalsvc.core.jobs.queue import enqueue
from workers import tasks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("followed")]


def silent_for(minutes: int) -> None:
    Worker.objects.update(heard_at=Now() - timedelta(minutes=minutes))


def test_a_worker_that_looks_for_work_is_heard_of_in_that_queue_alone() -> None:
    assert (worker_presence.heard_of("score"), worker_presence.last_heard("score")) == (0, None)
    tasks.run_next("score")
    found = {health.queue: health for health in queue_status.health()}
    assert {queue: health.heard_of for queue, health in found.items()} == {
        "score": 1,
        "heavy": 0,
        "ingest": 0,
    }
    assert found["score"].heard_at is not None
    assert found["heavy"].heard_at is None


def test_a_worker_that_fell_silent_is_no_longer_counted_but_was_heard() -> None:
    worker_presence.looks_for_work("score")
    silent_for(2)
    assert worker_presence.heard_of("score") == 0
    assert worker_presence.last_heard("score") is not None


def test_a_worker_in_the_middle_of_long_work_counts_while_its_lease_lasts() -> None:
    worker_presence.looks_for_work("score")
    silent_for(30)
    enqueue("count", 1)
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    assert claim.claim("score")
    assert worker_presence.heard_of("score") == 1
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert worker_presence.heard_of("score") == 0


def test_each_worker_counts_once_however_often_it_looks() -> None:
    for worker in ("here:1", "here:1", "here:2"):
        worker_presence.looks_for_work("score", worker=worker)
    assert worker_presence.heard_of("score") == 2
    silent_for(2)
    worker_presence.looks_for_work("score", worker="here:1")
    assert (worker_presence.heard_of("score"), Worker.objects.count()) == (1, 2)


def test_workers_of_another_day_are_forgotten() -> None:
    worker_presence.looks_for_work("score", worker="gone:1")
    silent_for(60 * 25)
    worker_presence.looks_for_work("score", worker="here:1")
    assert list(Worker.objects.values_list("name", flat=True)) == ["here:1"]
