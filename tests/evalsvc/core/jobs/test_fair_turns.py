"""Fairness: teams take turns, whatever one of them has queued."""

from __future__ import annotations

from statistics import fmean

import pytest

from evalsvc.core.jobs import claim, completion, queue_status, worker_presence
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

pytestmark = [pytest.mark.usefixtures("followed"), pytest.mark.django_db]


def put(lane: str, n: int = 1) -> list[Job]:
    return [enqueue("count", subject, lane=lane) for subject in range(n)]


def take() -> Job:
    job = claim.claim("score")
    assert job is not None
    return job


def serve(workers: int, jobs: int) -> list[str]:
    """The lanes of the next jobs, in the order in which so many workers begin them."""
    order, busy = [], [take() for _ in range(workers)]
    order += [job.lane for job in busy]
    while len(order) < jobs:
        completion.complete(busy.pop(0), lambda: None)
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
    completion.complete(running, lambda: None)
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


def test_the_place_that_is_told_is_the_place_in_which_it_is_taken() -> None:
    put("a", 6)
    jobs = put("b", 3)
    told = queue_status.of_job(jobs[-1])
    assert told is not None
    order = [take().pk for _ in range(9)]
    assert order.index(jobs[-1].pk) + 1 <= told.position


def test_an_estimate_is_given_only_when_enough_is_known() -> None:
    first = put("a", 4)
    told = queue_status.of_job(first[-1])
    assert told == queue_status.Outlook(4, None)
    for _ in range(3):
        completion.complete(take(), lambda: None)
    unheard = queue_status.of_job(Job.objects.get(pk=first[-1].pk))
    assert unheard == queue_status.Outlook(1, None)  # no worker is heard of: nobody knows
    worker_presence.looks_for_work("score")
    told = queue_status.of_job(Job.objects.get(pk=first[-1].pk))
    assert told is not None
    assert told.position == 1
    assert told.seconds is not None


def test_an_ended_job_expects_nothing() -> None:
    put("a")
    assert queue_status.of_job(completion.complete(take(), lambda: None)) is None


def test_the_health_of_a_queue_counts_what_waits_runs_and_ended() -> None:
    put("a", 4)
    completion.complete(take(), lambda: None)
    completion.fail(take(), code="defect", reason="For the test.")
    take()
    found = {health.queue: health for health in queue_status.health()}["score"]
    assert (found.waiting, found.running, found.done, found.failed, found.workers) == (1, 1, 1, 1, 1)
    assert found.oldest_seconds >= 0
