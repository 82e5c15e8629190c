"""What the queues' health costs: it is looked up in an index, however many jobs there ever were."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.models import Job

pytestmark = pytest.mark.usefixtures("followed")
ENDED = 3_000


def ended_jobs() -> None:
    now = timezone.now()
    told = {"kind": "count", "queue": "score", "state": "done", "attempt": 1, "started_at": now}
    Job.objects.bulk_create(Job(subject=n, ended_at=now, **told) for n in range(ENDED))


def looked_at(plan: dict[str, Any]) -> int:
    """Rows that a plan goes through in the table of jobs."""
    here = plan["Actual Rows"] * plan["Actual Loops"] if plan.get("Relation Name") == "jobs_job" else 0
    return here + plan.get("Rows Removed by Filter", 0) + sum(map(looked_at, plan.get("Plans", ())))


@pytest.mark.postgres
@pytest.mark.parametrize("ask", [queue_status.durations, queue_status.last_ended])
def test_what_ended_last_is_found_without_going_through_all_that_ever_ended(postgres: Any, ask: Any) -> None:
    ended_jobs()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    with CaptureQueriesContext(connection) as asked:
        assert ask("score")
    assert asked.captured_queries
    for query in asked.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query['sql']}")
            (plan,) = cursor.fetchone()
        plan = json.loads(plan) if isinstance(plan, str) else plan
        assert looked_at(plan[0]["Plan"]) <= queue_status.RECENT


@pytest.mark.django_db
def test_the_last_end_is_that_of_any_job_of_the_queue() -> None:
    assert queue_status.last_ended("score") is None
    first, last = timezone.now() - timedelta(hours=2), timezone.now()
    for state, at, queue in [("done", first, "score"), ("failed", last, "score"), ("done", None, "score")]:
        Job.objects.create(kind="count", queue=queue, subject=1, state=state, ended_at=at)
    found = queue_status.last_ended("score")
    assert found is not None
    assert abs((found - last).total_seconds()) < 0.01
    assert queue_status.last_ended("heavy") is None


# ---- what a running job may still take -----------------------------------------------------------
def running(*, begun: float, done: int = 0, total: int = 0, first: float = 0) -> Job:
    """A job whose last attempt began so many seconds ago, and its first one maybe long before."""
    now = timezone.now()
    for n in range(3):
        Job.objects.create(
            kind="count", queue="score", subject=n, state="done", attempt=1,
            started_at=now - timedelta(seconds=10_000), ended_at=now,
        )  # fmt: skip
    job = Job.objects.create(
        kind="count", queue="score", subject=9, state="running", attempt=2 if first else 1,
        started_at=now - timedelta(seconds=first or begun), done=done, total=total,
    )  # fmt: skip
    if first:
        job.events.create(attempt=1, what="claimed", at=now - timedelta(seconds=first))
    job.events.create(attempt=job.attempt, what="claimed", at=now - timedelta(seconds=begun))
    return job


def seconds_of(job: Job) -> float | None:
    told = queue_status.of_job(job)
    assert told is not None
    assert told.position == 0
    return told.seconds


@pytest.mark.django_db
def test_what_runs_takes_as_long_as_others_did_counted_from_its_last_attempt() -> None:
    assert seconds_of(running(begun=3_000)) == pytest.approx(7_000, rel=0.1)
    Job.objects.all().delete()
    assert seconds_of(running(begun=3_000, first=90_000)) == pytest.approx(7_000, rel=0.1)


@pytest.mark.django_db
def test_what_runs_longer_than_others_did_is_reckoned_by_how_far_it_has_come() -> None:
    assert seconds_of(running(begun=20_000, done=250, total=1_000)) == pytest.approx(60_000, rel=0.1)


@pytest.mark.django_db
def test_of_what_runs_longer_and_tells_nothing_nobody_says_that_it_ends_at_once() -> None:
    assert seconds_of(running(begun=20_000)) is None
