"""Claims: the fairest due job, under a lease, by one worker only."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from tests.places.postgres import in_threads

pytestmark = pytest.mark.usefixtures("changes")


def put(lane: str, n: int = 1, *, kind: str = "count") -> list[int]:
    return [enqueue(kind, subject, lane=lane).pk for subject in range(n)]


@pytest.mark.django_db
def test_an_empty_queue_gives_nothing() -> None:
    assert queue.claim("score") is None


@pytest.mark.django_db
def test_a_claim_counts_the_attempt_and_sets_a_lease(settings) -> None:
    settings.JOB_LEASE_SECONDS = 10
    put("a")
    job = queue.claim("score", worker="me:1")
    assert job
    assert (job.state, job.attempt, job.worker) == ("running", 1, "me:1")
    assert timedelta(seconds=9) < job.lease_until - job.started_at < timedelta(seconds=11)


@pytest.mark.django_db
def test_a_team_with_a_thousand_queued_jobs_does_not_block_the_next_team() -> None:
    many, one = put("greedy", 30), put("patient")
    first, second = queue.claim("score"), queue.claim("score")
    assert (first.pk, second.pk) == (many[0], one[0])


@pytest.mark.django_db
def test_among_equals_the_longest_waiting_goes_first() -> None:
    pks = put("a") + put("b") + put("c")
    assert [queue.claim("score").pk for _ in pks] == pks


@pytest.mark.django_db
def test_a_job_to_be_retried_later_is_not_due() -> None:
    (pk,) = put("a")
    Job.objects.update(run_after=Now() + timedelta(seconds=60))
    assert queue.claim("score") is None
    Job.objects.update(run_after=Now() - timedelta(seconds=1))
    assert queue.claim("score").pk == pk


@pytest.mark.django_db
def test_queues_do_not_take_from_each_other() -> None:
    put("a")
    assert queue.claim("heavy") is None


@pytest.mark.django_db
def test_a_given_job_is_claimed_only_once() -> None:
    put("a", 2)
    last = Job.objects.last()
    assert queue.claim_job(last).pk == last.pk
    assert queue.claim_job(last) is None


def test_sixteen_claimers_take_each_job_exactly_once(either_database: str) -> None:
    n = 48 if either_database == "postgres" else 24
    put("a", n // 2)
    put("b", n // 2)

    def take_all(_: int) -> list[int]:
        taken = []
        while job := queue.claim("score"):
            taken.append(job.pk)
        return taken

    taken = [pk for some in in_threads(16, take_all) for pk in some]
    assert sorted(taken) == sorted(Job.objects.values_list("pk", flat=True))
    assert set(Job.objects.values_list("state", "attempt")) == {("running", 1)}
    assert len(taken) == n


@pytest.mark.django_db
def test_during_a_drain_running_jobs_end_and_none_is_started() -> None:
    running, waiting = put("a"), put("b")
    assert queue.claim("score").pk == running[0]
    queue.start_drain("New disks.")
    queue.start_drain("New disks, longer.")  # said again
    assert queue.claim("score") is None
    assert str(queue.current_drain()) == "New disks, longer."
    queue.end_drain()
    assert queue.claim("score").pk == waiting[0]


@pytest.mark.django_db
def test_the_drain_command_waits_for_running_jobs_and_says_when_they_last_longer() -> None:
    put("a")
    call_command("jobs", "drain", "--wait", "1", stdout=(out := io.StringIO()))
    assert "0 running, 1 waiting" in out.getvalue()
    call_command("jobs", "resume", stdout=io.StringIO())
    assert queue.claim("score")
    with pytest.raises(CommandError, match=r"Still running after 1 s: 1 job\."):
        call_command("jobs", "drain", "--wait", "1", stdout=io.StringIO())
