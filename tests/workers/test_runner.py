"""One job from claim to end, and every way in which an attempt can end."""

from __future__ import annotations

import logging
import resource
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from evalsvc.core import database
from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.exceptions import Cancelled, InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress, reconcile
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.core.jobs.queue import enqueue, request_cancel
from evalsvc.core.jobs.transitions import Store
from workers import runner
from workers.interruption import interruption
from workers.memory_limit import before_jobs
from workers.runner import HANDLERS

pytestmark = pytest.mark.django_db
Do = Callable[[Callable[[int, Progress], Store]], Job]
Outage = Callable[..., None]


@pytest.fixture
def do(monkeypatch: pytest.MonkeyPatch) -> Do:
    """Queue one job for the given handler, run the queue once, and return the job."""

    def run(handler: Callable[[int, Progress], Store]) -> Job:
        monkeypatch.setitem(HANDLERS, "count", handler)
        enqueue("count", 7)
        assert runner.run_next("score") is True
        return Job.objects.get()

    monkeypatch.setitem(kinds._kinds, "count", kinds.Kind("count", "score"))
    return run


def raising(error: BaseException) -> Callable[[int, Progress], Store]:
    def handler(subject: int, progress: Progress) -> Store:
        raise error

    return handler


def test_an_empty_queue_runs_nothing() -> None:
    assert runner.run_next("score") is False


def test_the_handler_gets_its_subject_and_its_result_is_stored_once(do: Do) -> None:
    stored: list[int] = []
    job = do(lambda subject, progress: lambda: stored.append(subject))
    assert (job.state, stored) == ("done", [7])


def test_bad_input_fails_at_once_with_its_code_and_reason(do: Do, caplog: pytest.LogCaptureFixture) -> None:
    job = do(raising(InputFault("empty_file", "The file holds no lines.")))
    assert (job.state, job.error_code, job.error) == ("failed", "empty_file", "The file holds no lines.")
    assert f"Job {job.pk}: failed, empty_file" in caplog.text
    assert "no lines" not in caplog.text  # a reason may quote the file


def test_a_job_cancelled_while_it_runs_has_a_line_at_its_end(
    do: Do, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        job = do(raising(Cancelled()))
    assert job.state == "cancelled"
    assert f"Job {job.pk}: cancelled" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "error",
    [
        RetryLater("no storage"),
        OperationalError("no storage"),
        ConnectionError("no storage"),
        OSError("no storage"),
    ],
)
def test_a_job_is_retried_later_after_an_infrastructure_fault(do: Do, error: Exception) -> None:
    job = do(raising(error))
    assert (job.state, JobEvent.objects.last().detail) == ("queued", "no storage")
    assert job.run_after > job.created_at


@pytest.mark.postgres
def test_a_job_is_retried_after_the_server_ended_its_idle_connection(postgres: object, do: Do) -> None:
    def handler(subject: int, progress: Progress) -> Store:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
            time.sleep(0.05)
            cursor.execute("SELECT 1")
        return lambda: None

    job = do(handler)
    assert (job.state, job.events.last().what) == ("queued", "retried")


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
    """Let the next writes of the named transition fail as without a database."""
    monkeypatch.setattr(database, "FIRST_PAUSE_SECONDS", 0)
    monkeypatch.setattr(database.connection, "close", lambda: None)  # the test's transaction is in it

    def begin(name: str, *, failures: int) -> None:
        write, left = getattr(runner.transitions, name), iter(range(failures))

        def fail_first(*args: Any, **options: Any) -> Job:
            if next(left, None) is not None:
                raise OperationalError("the database is away")
            return write(*args, **options)

        monkeypatch.setattr(runner.transitions, name, fail_first)

    return begin


@pytest.mark.parametrize(
    ("name", "error", "state"),
    [
        ("complete", None, "done"),
        ("retry", RetryLater("no storage"), "queued"),
        ("fail", InputFault("empty_file", "The file holds no lines."), "failed"),
    ],
)
def test_an_end_is_written_once_the_database_is_back(
    do: Do, outage: Outage, name: str, error: Exception | None, state: str
) -> None:
    outage(name, failures=4)
    runs: list[int] = []

    def handler(subject: int, progress: Progress) -> Store:
        runs.append(subject)
        if error:
            raise error
        return lambda: None

    assert (do(handler).state, runs) == (state, [7])


def test_a_result_that_the_database_never_takes_is_put_off(do: Do, outage: Outage) -> None:
    outage("complete", failures=runner.STORE_TRIES)
    assert do(lambda subject, progress: lambda: None).state == "queued"


def test_the_attempt_that_lost_its_lease_reports_that_it_lives(do: Do) -> None:
    def handler(subject: int, progress: Progress) -> Store:
        Job.objects.update(lease_until=Now() - timedelta(seconds=1), worker="elsewhere:1:1")
        reconcile()
        return lambda: None

    job = do(handler)
    assert (job.state, list(job.events.values_list("what", flat=True))) == (
        "queued",
        ["queued", "claimed", "lapsed"],
    )


def test_a_stopped_process_hands_its_job_back(do: Do) -> None:
    def handler(subject: int, progress: Progress) -> Store:
        interruption()  # as the signal does
        return lambda: None

    try:
        job = do(handler)
    finally:
        interruption.asked = False
    assert (job.state, job.events.last().what) == ("queued", "returned")


def test_an_interrupted_command_hands_its_job_back(do: Do) -> None:
    with pytest.raises(KeyboardInterrupt):
        do(raising(KeyboardInterrupt()))
    assert JobEvent.objects.last().what == "returned"


def test_a_signal_between_claim_and_work_hands_the_job_back(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    job = enqueue("count", 1)
    claimed = runner.job_queue.claim_job(job)
    with interruption.delayed():
        interruption()
        try:
            runner.run(claimed)
        finally:
            interruption.asked = False
    assert JobEvent.objects.last().what == "returned"


def test_a_defect_fails_the_job_and_is_logged_but_not_shown(do: Do, caplog: pytest.LogCaptureFixture) -> None:
    job = do(raising(KeyError("secret gold")))
    assert (job.state, job.error_code) == ("failed", "defect")
    assert "secret" not in job.error
    assert "KeyError: 'secret gold'" in caplog.text


def test_a_statement_beyond_the_limits_of_the_database_is_a_defect(
    either_database: str, do: Do, caplog: pytest.LogCaptureFixture
) -> None:
    def ask_too_much(subject: int, progress: Progress) -> Store:
        limits = {"sqlite": "(" * 2_000 + "1" + ")" * 2_000, "postgres": ", ".join(["1"] * 2_000)}
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {limits[either_database]}")
        raise AssertionError("The statement was run.")

    job = do(ask_too_much)
    assert (job.state, job.error_code) == ("failed", "defect")
    assert "OperationalError" in caplog.text


def test_a_defect_while_storing_fails_the_job_too(do: Do) -> None:
    def store() -> None:
        raise ZeroDivisionError

    assert do(lambda subject, progress: store).error_code == "defect"


def test_a_kind_without_a_handler_is_a_defect(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds._kinds, "orphan", kinds.Kind("orphan", "score"))
    enqueue("orphan", 1)
    runner.run_next("score")
    assert Job.objects.get().error_code == "defect"


def test_work_beyond_the_time_limit_fails_with_its_code(do: Do) -> None:
    assert do(raising(SoftTimeLimitExceeded())).error_code == "time_limit"


def test_work_beyond_the_memory_limit_fails_with_its_code(do: Do, settings: Any) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    settings.JOB_MEMORY_BYTES = 400_000_000
    before_jobs.cache_clear()

    def handler(subject: int, progress: Progress) -> Store:
        bytearray(10_000_000)
        bytearray(500_000_000)
        raise AssertionError("The memory was given.")

    job = do(handler)
    assert (job.state, job.error_code) == ("failed", "memory_limit")
    assert "more than 400 MB" in job.error
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_work_cancelled_while_running_stores_nothing(do: Do) -> None:
    stored: list[int] = []

    def handler(subject: int, progress: Progress) -> Store:
        request_cancel(Job.objects.get())
        progress(1, 2)
        return lambda: stored.append(subject)

    assert (do(handler).state, stored) == ("cancelled", [])


def test_a_cancellation_at_the_last_moment_stores_nothing(do: Do) -> None:
    stored: list[int] = []

    def handler(subject: int, progress: Progress) -> Store:
        request_cancel(Job.objects.get())  # and no report of progress after it
        return lambda: stored.append(subject)

    assert (do(handler).state, stored) == ("cancelled", [])


def test_the_result_of_a_late_worker_is_discarded(do: Do) -> None:
    stored: list[int] = []

    def handler(subject: int, progress: Progress) -> Store:
        Job.objects.update(attempt=F("attempt") + 1)  # the lease ran out and another attempt began
        return lambda: stored.append(subject)

    assert (do(handler).state, stored) == ("running", [])


def test_more_jobs_in_the_queue_wake_another_worker(
    do: Do, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Callable
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(runner.job_queue, "wake_worker", messages.append)
    monkeypatch.setitem(HANDLERS, "count", lambda subject, progress: lambda: None)
    enqueue("count", 1)
    enqueue("count", 2)
    runner.run_next("score")
    assert messages == ["score"]
    runner.run_next("score")
    assert messages == ["score"]


def test_a_given_job_can_be_run_in_this_process(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, "count", lambda subject, progress: lambda: None)
    first, second = enqueue("count", 1), enqueue("count", 2)
    assert runner.run_inline(second).state == "done"
    assert Job.objects.get(pk=first.pk).state == "queued"


def test_a_job_of_another_worker_is_left_to_it(do: Do) -> None:
    job = enqueue("count", 1)
    Job.objects.update(state="running", attempt=1)
    assert runner.run_inline(job).attempt == 1
