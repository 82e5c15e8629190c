"""Changes of state: the table, the fence and the events."""

from __future__ import annotations

from itertools import product

import pytest

from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.exceptions import IllegalTransition, LeaseLost
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue, request_cancel
from evalsvc.core.jobs.transitions import TRANSITIONS, change_state

LEGAL = {
    ("queued", "running"),
    ("queued", "cancelled"),
    ("running", "done"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "queued"),
    ("failed", "queued"),
}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("changes")]


@pytest.mark.parametrize(("at", "to"), list(product(Job.State.values, repeat=2)))
def test_a_job_changes_state_only_as_the_table_allows(at: str, to: str) -> None:
    job = enqueue("count", 1)
    Job.objects.update(state=at)
    job.refresh_from_db()
    if (at, to) in LEGAL:
        assert change_state(job, to, event="moved").state == to
    else:
        with pytest.raises(IllegalTransition, match=f"from {at} to {to}"):
            change_state(job, to, event="moved")
        job.refresh_from_db()
        assert job.state == at


def test_an_ended_job_stays_as_it_ended_unless_it_failed() -> None:
    onward = {state: TRANSITIONS[state] for state in Job.ENDED}
    assert onward == {"done": frozenset(), "failed": {"queued"}, "cancelled": frozenset()}


def test_every_change_calls_the_hook_and_writes_an_event(changes: list[tuple[int, str]]) -> None:
    enqueue("count", 1)
    transitions.complete(queue.claim("score", worker="w"), store=lambda: None)
    assert changes == [(0, "queued"), (1, "running"), (1, "done")]
    assert list(JobEvent.objects.values_list("what", "attempt")) == [
        ("queued", 0),
        ("claimed", 1),
        ("done", 1),
    ]


def test_a_late_worker_may_not_store_its_result() -> None:
    enqueue("count", 1)
    late = queue.claim("score")
    Job.objects.update(attempt=2)
    stored: list[str] = []
    for end in (
        lambda: transitions.complete(late, store=lambda: stored.append("late")),
        lambda: transitions.fail(late, code="x", reason="y"),
        lambda: transitions.cancel(late),
        lambda: transitions.retry(late, reason="y"),
    ):
        with pytest.raises(LeaseLost):
            end()
    assert stored == []
    assert Job.objects.get().state == "running"


def test_a_job_whose_storing_fails_is_not_done() -> None:
    enqueue("count", 1)
    job = queue.claim("score")

    def store() -> None:
        JobEvent.objects.create(job=job, attempt=1, what="half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transitions.complete(job, store=store)
    assert Job.objects.get().state == "running"
    assert not JobEvent.objects.filter(what="half").exists()


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job = enqueue("count", 1)
    request_cancel(job)
    assert Job.objects.get().state == "cancelled"
    assert queue.claim("score") is None


def test_a_running_job_is_asked_to_stop_once() -> None:
    enqueue("count", 1)
    job = queue.claim("score")
    request_cancel(job)
    request_cancel(job)
    assert Job.objects.values_list("state", "cancel_asked").get() == ("running", True)
    assert JobEvent.objects.filter(what="cancel asked").count() == 1


def test_cancelling_an_ended_job_changes_nothing(changes: list[tuple[int, str]]) -> None:
    enqueue("count", 1)
    job = transitions.complete(queue.claim("score"), store=lambda: None)
    changes.clear()
    request_cancel(job)
    assert (Job.objects.get().state, changes) == ("done", [])
