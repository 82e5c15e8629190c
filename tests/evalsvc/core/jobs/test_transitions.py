from __future__ import annotations

from itertools import product

import pytest

from evalsvc.core.jobs import claim, completion
from evalsvc.core.jobs.exceptions import IllegalMove, LeaseLost
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import ask_cancel, enqueue
from evalsvc.core.jobs.transitions import MOVES, move

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
    completion.complete(claim.claim("score", worker="w"), store=lambda: None)
    assert followed == [(0, "queued"), (1, "running"), (1, "done")]
    assert list(JobEvent.objects.values_list("what", "attempt")) == [
        ("queued", 0),
        ("claimed", 1),
        ("done", 1),
    ]


def test_a_late_worker_may_not_store_what_it_found() -> None:
    enqueue("count", 1)
    late = claim.claim("score")
    Job.objects.update(attempt=2)
    stored: list[str] = []
    for end in (
        lambda: completion.complete(late, store=lambda: stored.append("late")),
        lambda: completion.fail(late, code="x", reason="y"),
        lambda: completion.cancel(late),
        lambda: completion.retry(late, reason="y"),
    ):
        with pytest.raises(LeaseLost):
            end()
    assert stored == []
    assert Job.objects.get().state == "running"


def test_when_storing_breaks_the_job_is_not_done() -> None:
    enqueue("count", 1)
    job = claim.claim("score")

    def store() -> None:
        JobEvent.objects.create(job=job, attempt=1, what="half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        completion.complete(job, store=store)
    assert Job.objects.get().state == "running"
    assert not JobEvent.objects.filter(what="half").exists()


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job = enqueue("count", 1)
    ask_cancel(job)
    assert Job.objects.get().state == "cancelled"
    assert claim.claim("score") is None


def test_a_running_job_is_only_asked_to_stop_and_that_once() -> None:
    enqueue("count", 1)
    job = claim.claim("score")
    ask_cancel(job)
    ask_cancel(job)
    assert Job.objects.values_list("state", "cancel_asked").get() == ("running", True)
    assert JobEvent.objects.filter(what="cancel asked").count() == 1


def test_cancelling_what_has_ended_changes_nothing(followed: list[tuple[int, str]]) -> None:
    enqueue("count", 1)
    job = completion.complete(claim.claim("score"), store=lambda: None)
    followed.clear()
    ask_cancel(job)
    assert (Job.objects.get().state, followed) == ("done", [])
