"""Fairness as a real worker has it: one job beside five hundred of another team."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue
from tests.places.workers import Worker, until

pytestmark = pytest.mark.worker


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds._kinds, "nothing", kinds.Kind("nothing", "score"))


def begun(**which: object) -> int:
    return JobEvent.objects.filter(what="claimed", **which).count()


@pytest.mark.usefixtures("nothing")
def test_one_job_is_run_before_five_hundred_queued_jobs_of_another_team(
    sqlite: None, worker: Callable[..., Worker]
) -> None:
    with transaction.atomic():
        for _ in range(500):
            enqueue("nothing", 0, lane="many")
    busy = worker("tests.workers.slow")
    until(lambda: begun(job__lane="many") >= 5, details=busy.log_text)
    one = enqueue("nothing", 0, lane="one")
    until(lambda: Job.objects.get(pk=one.pk).state == "done", seconds=60, details=busy.log_text)
    came, served = (one.events.get(what=what).pk for what in ("queued", "claimed"))
    assert begun(pk__gt=came, pk__lt=served) <= 2  # one that was being claimed just then, and one to spare
