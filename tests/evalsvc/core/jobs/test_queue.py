"""Queued jobs, the message that wakes a worker, and registered kinds."""

from __future__ import annotations

import logging

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import TimeoutError as RedisTimeout

from evalsvc.celery import app
from evalsvc.core.jobs import kinds, queue
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

pytestmark = pytest.mark.usefixtures("changes")


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], str]]:
    sent: list[tuple[str, tuple[str, ...], str]] = []

    def send_task(name: str, args: tuple[str, ...], *rest: object, **options: object) -> None:
        sent.append((name, tuple(args), str(options["queue"])))

    monkeypatch.setattr(app, "send_task", send_task)
    return sent


def test_the_message_has_the_task_and_the_queue_and_nothing_else(
    transactional_db: None, published: list
) -> None:
    enqueue("count", 42, lane="team 1")
    assert published == [("workers.run_next", ("score",), "score")]


def test_the_message_goes_out_only_after_the_commit(transactional_db: None, published: list) -> None:
    with transaction.atomic():
        enqueue("count", 1)
        assert published == []
    assert len(published) == 1


def test_a_rollback_leaves_neither_job_nor_message(transactional_db: None, published: list) -> None:
    with transaction.atomic():
        enqueue("count", 1)
        transaction.set_rollback(True)
    assert (Job.objects.count(), published) == (0, [])


def test_a_message_that_cannot_be_sent_is_logged_and_the_job_waits(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def send_task(*words: object, **options: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(app, "send_task", send_task)
    with caplog.at_level(logging.ERROR):
        enqueue("count", 1)
    assert Job.objects.get().state == "queued"
    assert "no broker" in caplog.text


def test_a_broker_that_hangs_delays_one_request_not_each(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def send_task(*words: object, **options: object) -> None:
        tried.append(words)
        raise OperationalError("timed out") from RedisTimeout("Timeout reading from socket")

    monkeypatch.setattr(app, "send_task", send_task)
    monkeypatch.setattr(queue, "_silent_until", 0.0)
    for subject in (1, 2):
        enqueue("count", subject)
    assert (len(tried), Job.objects.filter(state="queued").count()) == (1, 2)
    monkeypatch.setattr(queue, "_silent_until", 0.0)
    enqueue("count", 3)
    assert len(tried) == 2


@pytest.mark.django_db
def test_an_unregistered_kind_is_rejected_by_name() -> None:
    with pytest.raises(LookupError, match="'unknown'"):
        enqueue("unknown", 1)


def test_only_the_same_kind_may_be_registered_again() -> None:
    same = kinds.get("count")
    kinds.register(same)
    with pytest.raises(ValueError, match="'count'"):
        kinds.register(kinds.Kind("count", "heavy"))
