"""Beat wakes the workers often while there are jobs, and seldom while there are none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery.beat import PersistentScheduler
from django.conf import settings
from django.db import OperationalError

from evalsvc.core.jobs.models import Job
from workers import beat

pytestmark = pytest.mark.django_db


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run beat for a minute with a tick due every 3 s; return the ticks sent to each queue.

    It has run for some time, unless `restarted`.
    """
    sent: Counter[str] = Counter()
    clock = iter(range(1_000, 1_060, 3))
    monkeypatch.setattr(
        PersistentScheduler, "apply_entry", lambda _, entry, producer: sent.update(entry.args)
    )
    monkeypatch.setattr(beat, "close_old_connections", lambda: None)  # the test's transaction is in it

    monkeypatch.setattr(PersistentScheduler, "__init__", lambda _: None)

    def run(*, restarted: bool = False) -> Counter[str]:
        started = 1_000 if restarted else 0
        monkeypatch.setattr(beat, "time", SimpleNamespace(monotonic=lambda: started))
        scheduler = beat.TickScheduler()
        for now in clock:
            monkeypatch.setattr(beat, "time", SimpleNamespace(monotonic=lambda now=now: now))
            for name in ("score", "heavy"):
                scheduler.apply_entry(SimpleNamespace(args=(name,)))
        return sent

    return run


def test_an_idle_queue_gets_a_tick_every_half_minute(ticks: Any) -> None:
    assert ticks() == {"score": 2, "heavy": 2}


def test_every_tick_is_sent_for_a_minute_after_beat_started(ticks: Any) -> None:
    """Until then, boards of jobs that ended shortly before would wait for half a minute."""
    assert ticks(restarted=True) == {"score": 20, "heavy": 20}


@pytest.mark.parametrize("state", [Job.State.QUEUED, Job.State.RUNNING])
def test_every_tick_is_sent_while_there_are_jobs(ticks: Any, state: str) -> None:
    Job.objects.create(kind="score", subject=1, queue="score", state=state)
    assert ticks() == {"score": 20, "heavy": 20}


def test_every_tick_is_sent_for_a_minute_after_the_last_job(
    ticks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([True])
    monkeypatch.setattr(beat, "has_jobs", lambda: next(looks, False))
    assert ticks() == {"score": 20, "heavy": 20}


def test_every_tick_is_sent_while_the_database_is_away(ticks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> bool:
        raise OperationalError("the database is away")

    monkeypatch.setattr(beat, "has_jobs", away)
    assert ticks() == {"score": 20, "heavy": 20}


def test_beat_stores_its_clock_in_the_data_folder_and_not_where_it_was_started() -> None:
    assert beat.app.conf.beat_schedule_filename == str(settings.DATA_DIR / "beat")


def test_the_schedule_has_ticks_of_queues_alone(tmp_path: Path) -> None:
    """Celery would add its nightly removal of results, of which there are none."""
    scheduler = PersistentScheduler(beat.app, schedule_filename=str(tmp_path / "schedule"))
    entries = [*scheduler.schedule.values()]
    scheduler.close()
    assert {entry.task for entry in entries} == {"workers.run_next"}
    assert {entry.args[0] for entry in entries} == {*settings.JOB_QUEUES}
