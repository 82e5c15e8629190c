"""Fairness: teams take turns, whatever one of them has queued."""

from __future__ import annotations

from datetime import timedelta
from statistics import fmean

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.jobs import queue, queue_status, transitions
from evalsvc.core.jobs.lease import hand_back
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

pytestmark = [pytest.mark.usefixtures("changes"), pytest.mark.django_db]


def put(lane: str, n: int = 1) -> list[Job]:
    return [enqueue("count", subject, lane=lane) for subject in range(n)]


def take() -> Job:
    job = queue.claim("score")
    assert job is not None
    return job


def serve(workers: int, jobs: int) -> list[str]:
    """Return the lanes of the next jobs in the order in which the workers begin them."""
    order, busy = [], [take() for _ in range(workers)]
    order += [job.lane for job in busy]
    while len(order) < jobs:
        transitions.complete(busy.pop(0), lambda: None)
        busy.append(take())
        order.append(busy[-1].lane)
    return order


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_one_job_waits_at_most_twice_the_mean_beside_five_hundred(workers: int) -> None:
    put("many", 500)
    put("one")
    order = serve(workers, 60)
    # Every job is as long as the next: a wait is counted in jobs that began before, per worker.
    waits = [at // workers for at in range(len(order))]
    assert waits[order.index("one")] <= 2 * fmean(waits)
    assert order.index("one") <= workers


def test_one_job_that_comes_later_is_next_when_a_worker_is_free() -> None:
    put("many", 20)
    running = take()
    put("one")
    transitions.complete(running, lambda: None)
    assert take().lane == "one"


def test_two_teams_with_many_take_turns_on_one_worker() -> None:
    put("a", 10)
    put("b", 10)
    assert serve(1, 6) == ["a", "b", "a", "b", "a", "b"]


def test_a_team_is_not_served_twice_before_another_is_served_once() -> None:
    put("a", 10)
    put("b", 1)
    put("c", 1)
    assert sorted(serve(1, 3)) == ["a", "b", "c"]


def put_later(lane: str, n: int = 1) -> list[Job]:
    return [enqueue("count later", subject, lane=lane) for subject in range(n)]


def test_jobs_that_let_others_come_first_do_so_in_whatever_lane() -> None:
    put_later("a", 2)
    put_later("b")
    put("a")
    put("c", 2)
    assert serve(1, 6) == ["a", "c", "c", "b", "a", "a"]


def test_whoever_has_let_others_come_first_for_long_takes_turns_with_them() -> None:
    [old, _] = put_later("b", 2)
    Job.objects.filter(pk=old.pk).update(run_after=Now() - queue.LONG_WAIT * 1.1)
    put("a", 3)
    assert serve(1, 5) == ["b", "a", "a", "a", "b"]


def test_a_long_job_that_hands_its_turn_over_is_not_next_before_the_others() -> None:
    put("long")
    put("a", 2)
    put("b")
    order: list[str] = []
    begun = timezone.now() - timedelta(minutes=1)
    while True:
        job = queue.claim("score")
        if job is None:
            break
        order.append(job.lane)
        at = begun + timedelta(seconds=len(order))  # on a fast machine all would be at one time
        Job.objects.filter(pk=job.pk).update(claimed_at=at)
        if job.lane == "long" and order.count("long") < 4:
            hand_back(job, event="turn over")
        else:
            transitions.complete(job, lambda: None)
    assert order == ["long", "a", "b", "long", "a", "long", "long"]


def test_it_is_the_turn_of_others_if_another_lane_or_an_earlier_kind_waits() -> None:
    put_later("a", 3)
    running = take()
    assert not queue.is_turn_of_others(running)
    [job] = put("a")
    assert queue.is_turn_of_others(running)
    queue.request_cancel(job)
    put_later("b")
    assert queue.is_turn_of_others(running)


def test_a_job_that_lets_others_come_first_is_forecast_behind_them() -> None:
    jobs = put_later("a", 2)
    put("a", 2)
    put("b", 5)
    expected = queue_status.forecast(jobs[-1])
    assert expected == queue_status.JobForecast(9, None)
    order = [take().pk for _ in range(9)]
    assert order.index(jobs[-1].pk) + 1 == 9


def test_a_job_is_claimed_at_its_forecast_position() -> None:
    put("a", 6)
    jobs = put("b", 3)
    expected = queue_status.forecast(jobs[-1])
    assert expected is not None
    order = [take().pk for _ in range(9)]
    assert order.index(jobs[-1].pk) + 1 <= expected.position


def test_a_time_is_forecast_only_with_enough_jobs_and_a_worker() -> None:
    first = put("a", 4)
    assert queue_status.forecast(first[-1]) == queue_status.JobForecast(4, None)
    for _ in range(3):
        transitions.complete(take(), lambda: None)
    without_worker = queue_status.forecast(Job.objects.get(pk=first[-1].pk))
    assert without_worker == queue_status.JobForecast(1, None)
    queue_status.record_seen("score")
    expected = queue_status.forecast(Job.objects.get(pk=first[-1].pk))
    assert expected is not None
    assert expected.position == 1
    assert expected.seconds is not None


def test_an_ended_job_has_no_forecast() -> None:
    put("a")
    assert queue_status.forecast(transitions.complete(take(), lambda: None)) is None


def test_the_health_of_a_queue_counts_waiting_running_and_ended_jobs() -> None:
    put("a", 6)
    transitions.complete(take(), lambda: None)
    transitions.fail(take(), code="defect", reason="For the test.")
    for _ in range(2):
        transitions.fail(take(), code="refused", reason="For the test.")
    take()
    Job.objects.filter(state="queued").update(run_after=Now() - timedelta(minutes=1))
    score = {health.queue: health for health in queue_status.queue_health()}["score"]
    assert (score.waiting, score.running, score.done, score.failed, score.workers) == (1, 1, 1, 1, 1)
    assert score.refused == 2, "no failed jobs: the alert counts those"
    assert 60 <= score.oldest_seconds < 3_600
