from __future__ import annotations

from itertools import product

import pytest

from evalsvc.jobs import claiming, ending
from evalsvc.jobs.faults import IllegalMove, LeaseLost
from evalsvc.jobs.models import Job, JobEvent
from evalsvc.jobs.moves import MOVES, move
from evalsvc.jobs.queueing import ask_cancel, enqueue

LEGAL = {
    ("queued", "running"),
    ("queued", "cancelled"),
    ("running", "done"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "queued"),
}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("followed")]


@pytest.mark.parametrize(("at", "to"), list(product(Job.State.values, repeat=2)))
def test_a_job_moves_only_as_the_table_says(at: str, to: str) -> None:
    job = enqueue("count", 1)
    Job.objects.update(state=at)
    job.refresh_from_db()
    if (at, to) in LEGAL:
        assert move(job, to, what="moved").state == to
    else:
        with pytest.raises(IllegalMove, match=f"from {at} to {to}"):
            move(job, to, what="moved")
        job.refresh_from_db()
        assert job.state == at


def test_an_ended_job_stays_as_it_ended() -> None:
    assert {state for state, onward in MOVES.items() if not onward} == set(Job.ENDED)


def test_every_change_is_told_to_the_room_and_to_the_timeline(followed: list[tuple[int, str]]) -> None:
    enqueue("count", 1)
    ending.complete(claiming.claim("score", worker="w"), store=lambda: None)
    assert followed == [(0, "queued"), (1, "running"), (1, "done")]
    assert list(JobEvent.objects.values_list("what", "attempt")) == [
        ("queued", 0),
        ("claimed", 1),
        ("done", 1),
    ]


def test_a_late_worker_may_not_store_what_it_found() -> None:
    enqueue("count", 1)
    late = claiming.claim("score")
    Job.objects.update(attempt=2)
    stored: list[str] = []
    for end in (
        lambda: ending.complete(late, store=lambda: stored.append("late")),
        lambda: ending.fail(late, code="x", reason="y"),
        lambda: ending.cancel(late),
        lambda: ending.retry(late, reason="y"),
    ):
        with pytest.raises(LeaseLost):
            end()
    assert stored == []
    assert Job.objects.get().state == "running"


def test_when_storing_breaks_the_job_is_not_done() -> None:
    enqueue("count", 1)
    job = claiming.claim("score")

    def store() -> None:
        JobEvent.objects.create(job=job, attempt=1, what="half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ending.complete(job, store=store)
    assert Job.objects.get().state == "running"
    assert not JobEvent.objects.filter(what="half").exists()


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job = enqueue("count", 1)
    ask_cancel(job)
    assert Job.objects.get().state == "cancelled"
    assert claiming.claim("score") is None


def test_a_running_job_is_only_asked_to_stop_and_that_once() -> None:
    enqueue("count", 1)
    job = claiming.claim("score")
    ask_cancel(job)
    ask_cancel(job)
    assert Job.objects.values_list("state", "cancel_asked").get() == ("running", True)
    assert JobEvent.objects.filter(what="cancel asked").count() == 1


def test_cancelling_what_has_ended_changes_nothing(followed: list[tuple[int, str]]) -> None:
    enqueue("count", 1)
    job = ending.complete(claiming.claim("score"), store=lambda: None)
    followed.clear()
    ask_cancel(job)
    assert (Job.objects.get().state, followed) == ("done", [])
