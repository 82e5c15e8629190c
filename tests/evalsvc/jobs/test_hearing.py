"""Which workers were heard of lately, queue by queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from evalsvc.jobs import claiming, hearing, outlook
from evalsvc.jobs.models import Job, Worker
from evalsvc.jobs.queueing import enqueue
from workers import tasks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("followed")]


def silent_for(minutes: int) -> None:
    Worker.objects.update(heard_at=Now() - timedelta(minutes=minutes))


def test_a_worker_that_looks_for_work_is_heard_of_in_that_queue_alone() -> None:
    assert (hearing.heard_of("score"), hearing.last_heard("score")) == (0, None)
    tasks.run_next("score")
    found = {health.queue: health for health in outlook.health()}
    assert {queue: health.heard_of for queue, health in found.items()} == {
        "score": 1,
        "heavy": 0,
        "ingest": 0,
    }
    assert found["score"].heard_at is not None
    assert found["heavy"].heard_at is None


def test_a_worker_that_fell_silent_is_no_longer_counted_but_was_heard() -> None:
    hearing.looks_for_work("score")
    silent_for(2)
    assert hearing.heard_of("score") == 0
    assert hearing.last_heard("score") is not None


def test_a_worker_in_the_middle_of_long_work_counts_while_its_lease_lasts() -> None:
    hearing.looks_for_work("score")
    silent_for(30)
    enqueue("count", 1)
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    assert claiming.claim("score")
    assert hearing.heard_of("score") == 1
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert hearing.heard_of("score") == 0


def test_each_worker_counts_once_however_often_it_looks() -> None:
    for worker in ("here:1", "here:1", "here:2"):
        hearing.looks_for_work("score", worker=worker)
    assert hearing.heard_of("score") == 2
    silent_for(2)
    hearing.looks_for_work("score", worker="here:1")
    assert (hearing.heard_of("score"), Worker.objects.count()) == (1, 2)


def test_workers_of_another_day_are_forgotten() -> None:
    hearing.looks_for_work("score", worker="gone:1")
    silent_for(60 * 25)
    hearing.looks_for_work("score", worker="here:1")
    assert list(Worker.objects.values_list("name", flat=True)) == ["here:1"]
