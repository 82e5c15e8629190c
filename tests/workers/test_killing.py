"""A real worker on a real Valkey, and with `FULL=1` on RabbitMQ, killed and cut off."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from evalsvc.core.accounts.models import Team
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue, request_cancel
from evalsvc.local.embedded_broker import EmbeddedBroker
from tests.places.extent import FULL
from tests.places.rabbitmq import RabbitMQ
from tests.places.workers import Worker, until

pytestmark = [pytest.mark.worker, pytest.mark.usefixtures("quick")]
SLOW = "tests.workers.slow"
# Both databases with `FULL=1`; the other tests of this file run on SQLite.
ON_DATABASES = pytest.mark.parametrize(
    "either_database",
    [*(["sqlite"] if FULL else []), pytest.param("postgres", marks=pytest.mark.postgres)],
    indirect=True,
)
QUICK = {"JOB_LEASE_SECONDS": "5", "JOB_HEARTBEAT_SECONDS": "1", "JOB_RECONCILE_SECONDS": "1"}
STEADY = QUICK | {"JOB_LEASE_SECONDS": "300"}  # keeps its jobs on a busy machine


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own kinds, known to this process too."""
    for name in ("slow", "deadly", "nothing"):
        monkeypatch.setitem(kinds._kinds, name, kinds.Kind(name, "score"))


@pytest.fixture(scope="module")
def steady(
    running_broker: EmbeddedBroker | RabbitMQ, tmp_path_factory: pytest.TempPathFactory, django_db_setup: None
) -> Iterator[Worker]:
    """A worker on SQLite for the tests at the end of this file, which leave it running.

    Those before start workers of their own, and this one would take their jobs.
    """
    log = tmp_path_factory.mktemp("steady") / "worker.log"
    started = Worker(SLOW, broker_url=running_broker.url, log=log, **QUICK)
    yield started.wait_until_ready()
    started.kill()


def state(job: Job) -> str:
    return Job.objects.values_list("state", flat=True).get(pk=job.pk)


def story(job: Job) -> list[tuple[str, int]]:
    return list(job.events.values_list("what", "attempt"))


@ON_DATABASES
def test_a_job_whose_worker_is_killed_is_done_once_by_the_next(
    either_database: str, worker: Callable[..., Worker]
) -> None:
    victim = worker(SLOW, **QUICK)
    job = enqueue("slow", 40)
    until(lambda: state(job) == "running", details=victim.log_text)
    victim.kill()
    rescuer = worker(SLOW, **STEADY)
    until(lambda: state(job) == "done", details=rescuer.log_text)
    assert story(job) == [("queued", 0), ("claimed", 1), ("lost", 1), ("claimed", 2), ("done", 2)]
    assert Team.objects.count() == 1


@ON_DATABASES
def test_a_worker_that_resumes_after_its_lease_cannot_store(
    either_database: str, worker: Callable[..., Worker]
) -> None:
    sleeper = worker(SLOW, **QUICK)
    job = enqueue("slow", 20)
    until(lambda: state(job) == "running", details=sleeper.log_text)
    os.killpg(sleeper.process.pid, signal.SIGSTOP)
    other = worker(SLOW, **STEADY)
    until(lambda: state(job) == "done", details=other.log_text)
    os.killpg(sleeper.process.pid, signal.SIGCONT)
    until(lambda: ("lapsed", 1) in story(job), details=sleeper.log_text)  # no crash
    assert "is discarded" in sleeper.log_text()
    assert Team.objects.count() == 1


def test_a_stopped_worker_hands_its_job_back_at_once_and_uncounted(
    sqlite: None, worker: Callable[..., Worker]
) -> None:
    one = worker(SLOW, **STEADY)
    job = enqueue("slow", 600)
    until(lambda: state(job) == "running", details=one.log_text)
    one.process.terminate()
    assert one.process.wait(120) == 0, one.log_text()
    assert story(job) == [("queued", 0), ("claimed", 1), ("returned", 1)], one.log_text()
    assert state(job) == "queued"


def test_a_job_that_kills_its_worker_fails_after_three_attempts_and_takes_no_other_with_it(
    sqlite: None, broker: EmbeddedBroker | RabbitMQ, steady: Worker
) -> None:
    """A library that aborts on a damaged file ends its process."""
    job, *others = (enqueue(kind, 1) for kind in ("deadly", "nothing", "nothing"))
    until(lambda: state(job) == "failed", seconds=300, details=steady.log_text)
    job.refresh_from_db()
    assert (job.error_code, job.attempt) == ("worker_lost", 3)
    assert "the file may be damaged" in job.error
    until(lambda: all(state(other) == "done" for other in others), details=steady.log_text)
    assert set(Job.objects.exclude(pk=job.pk).values_list("attempt", flat=True)) == {1}


def test_a_running_job_can_be_cancelled_from_outside(
    sqlite: None, broker: EmbeddedBroker | RabbitMQ, steady: Worker
) -> None:
    job = enqueue("slow", 600)
    until(lambda: state(job) == "running", details=steady.log_text)
    request_cancel(job)
    until(lambda: state(job) == "cancelled", details=steady.log_text)
    assert Team.objects.count() == 0


def test_jobs_are_accepted_without_a_broker_and_run_when_it_returns(
    sqlite: None, broker: EmbeddedBroker | RabbitMQ, steady: Worker
) -> None:
    broker.stop()
    job = enqueue("slow", 1)  # comes back, though no worker gets the message
    assert state(job) == "queued"
    broker.start()
    until(lambda: state(job) == "done", details=steady.log_text)
    assert Team.objects.count() == 1


def test_a_lost_message_only_delays_a_job(
    sqlite: None, broker: EmbeddedBroker | RabbitMQ, steady: Worker
) -> None:
    job = Job.objects.create(kind="slow", queue="score", subject=1)  # no message was ever sent
    until(lambda: state(job) == "done", details=steady.log_text)


def test_queues_of_rabbitmq_are_replicated(broker: EmbeddedBroker | RabbitMQ, steady: Worker) -> None:
    if isinstance(broker, EmbeddedBroker):
        pytest.skip("Valkey has one kind of queue; FULL=1 runs this on RabbitMQ")
    types = broker.queue_types()
    assert {name: types.get(name) for name in settings.JOB_QUEUES} == dict.fromkeys(
        settings.JOB_QUEUES, "quorum"
    )
