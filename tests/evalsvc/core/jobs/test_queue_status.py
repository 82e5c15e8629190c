"""Cost of the queue health, and the remaining time of a running job."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.models import Job

pytestmark = pytest.mark.usefixtures("changes")
ENDED = 3_000


def ended_jobs() -> None:
    now = timezone.now()
    fields = {"kind": "count", "queue": "score", "state": "done", "attempt": 1, "started_at": now}
    Job.objects.bulk_create(Job(subject=n, ended_at=now, **fields) for n in range(ENDED))


def rows_read(plan: dict[str, Any]) -> int:
    """Count the rows of the job table that a plan reads."""
    here = plan["Actual Rows"] * plan["Actual Loops"] if plan.get("Relation Name") == "jobs_job" else 0
    return here + plan.get("Rows Removed by Filter", 0) + sum(map(rows_read, plan.get("Plans", ())))


@pytest.mark.postgres
@pytest.mark.parametrize("query", [lambda: queue_status.durations("score"), queue_status.queue_health])
def test_the_last_ended_jobs_are_looked_up_in_an_index(postgres: Any, query: Any) -> None:
    ended_jobs()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    with CaptureQueriesContext(connection) as captured:
        assert query()
    assert captured.captured_queries
    for each in captured.captured_queries:
        if "GROUP BY" in each["sql"]:  # counts the jobs of the last hour
            continue
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {each['sql']}")
            (plan,) = cursor.fetchone()
        plan = json.loads(plan) if isinstance(plan, str) else plan
        assert rows_read(plan[0]["Plan"]) <= 3 * queue_status.RECENT


@pytest.mark.django_db
def test_the_last_end_is_that_of_any_job_of_the_queue() -> None:
    def last_end(queue: str) -> datetime | None:
        return next(each for each in queue_status.queue_health() if each.queue == queue).last_ended_at

    assert last_end("score") is None
    first, last = timezone.now() - timedelta(hours=2), timezone.now()
    for state, at, queue in [("done", first, "score"), ("failed", last, "score"), ("done", None, "score")]:
        Job.objects.create(kind="count", queue=queue, subject=1, state=state, ended_at=at)
    ended = last_end("score")
    assert ended is not None
    assert abs((ended - last).total_seconds()) < 0.01
    assert last_end("heavy") is None


@pytest.mark.django_db
@pytest.mark.parametrize("queues", [("score",), ("score", "heavy", "ingest")])
def test_the_health_of_any_number_of_queues_takes_five_queries(
    settings: Any, django_assert_num_queries: Any, queues: tuple[str, ...]
) -> None:
    settings.JOB_QUEUES = queues
    with django_assert_num_queries(5):
        assert [each.queue for each in queue_status.queue_health()] == list(queues)


# ---- remaining time ------------------------------------------------------------------------------
def running(*, begun: float, done: int = 0, total: int = 0, first: float = 0) -> Job:
    """Create a job whose last attempt began so many seconds ago, its first one possibly long before."""
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
    expected = queue_status.forecast(job)
    assert expected is not None
    assert expected.position == 0
    return expected.seconds


@pytest.mark.django_db
def test_a_running_job_takes_the_mean_time_from_its_last_attempt_on() -> None:
    assert seconds_of(running(begun=3_000)) == pytest.approx(7_000, rel=0.1)
    Job.objects.all().delete()
    assert seconds_of(running(begun=3_000, first=90_000)) == pytest.approx(7_000, rel=0.1)


@pytest.mark.django_db
def test_a_job_past_the_mean_is_estimated_by_its_steps() -> None:
    assert seconds_of(running(begun=20_000, done=250, total=1_000)) == pytest.approx(60_000, rel=0.1)


@pytest.mark.django_db
def test_a_job_past_the_mean_without_steps_has_no_estimate() -> None:
    assert seconds_of(running(begun=20_000)) is None
