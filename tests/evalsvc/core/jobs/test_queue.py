from __future__ import annotations

import logging

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError

from evalsvc.celery import app
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

pytestmark = pytest.mark.usefixtures("followed")


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], str]]:
    sent: list[tuple[str, tuple[str, ...], str]] = []

    def send_task(name: str, args: tuple[str, ...], *rest: object, **options: object) -> None:
        sent.append((name, tuple(args), str(options["queue"])))

    monkeypatch.setattr(app, "send_task", send_task)
    return sent


def test_the_hint_names_the_task_and_the_queue_and_nothing_else(
    transactional_db: None, published: list
) -> None:
    enqueue("count", 42, lane="team 1")
    assert published == [("workers.run_next", ("score",), "score")]


def test_the_hint_goes_out_only_after_the_commit(transactional_db: None, published: list) -> None:
    with transaction.atomic():
        enqueue("count", 1)
        assert published == []
    assert len(published) == 1


def test_what_is_rolled_back_leaves_neither_job_nor_hint(transactional_db: None, published: list) -> None:
    with transaction.atomic():
        enqueue("count", 1)
        transaction.set_rollback(True)
    assert (Job.objects.count(), published) == (0, [])


def test_a_hint_that_cannot_be_sent_is_logged_and_the_job_waits(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def send_task(*words: object, **options: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(app, "send_task", send_task)
    with caplog.at_level(logging.ERROR):
        enqueue("count", 1)
    assert Job.objects.get().state == "queued"
    assert "no broker" in caplog.text


@pytest.mark.django_db
def test_a_kind_nobody_registered_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="'unheard of'"):
        enqueue("unheard of", 1)


def test_registering_a_kind_again_is_fine_only_when_it_is_the_same() -> None:
    same = kinds.get("count")
    kinds.register(same)
    with pytest.raises(ValueError, match="registered twice"):
        kinds.register(kinds.Kind("count", "heavy"))
