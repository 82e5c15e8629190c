"""The self-test of the sandbox at a worker's start."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError

from evalsvc.core import database
from evalsvc.evaluation.models import ModelHost
from evalsvc.evaluation.submissions import model_intake
from workers.sandbox import readiness
from workers.sandbox.readiness import Readiness


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> SimpleNamespace:
    """A worker of the queue of models whose `manage.py` waits until it is stopped."""
    settings.MODEL_UPLOADS = "auto"
    settings.BASE_DIR = tmp_path
    (tmp_path / "manage.py").write_text(
        "import sys, time; assert sys.argv[1:] == ['try_models']; time.sleep(60)"
    )
    return SimpleNamespace(
        app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=["heavy"]))),
        timer=SimpleNamespace(call_repeatedly=lambda seconds, poll: None),
    )


def test_the_self_test_runs_in_a_process_and_starts_no_thread(
    parent: SimpleNamespace,
) -> None:
    before = threading.active_count()
    step = readiness.ModelSelfTest(parent)
    step.start(parent)
    assert step.process is not None
    assert step.process.poll() is None
    assert threading.active_count() == before
    step.stop(parent)
    assert step.process.returncode != 0


def test_the_ended_self_test_does_not_stay_as_a_zombie(parent: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text("")
    polls: list[Callable[[], object]] = []
    parent.timer.call_repeatedly = lambda seconds, poll: polls.append(poll)
    step = readiness.ModelSelfTest(parent)
    step.start(parent)
    assert step.process is not None
    os.waitid(os.P_PID, step.process.pid, os.WEXITED | os.WNOWAIT)  # it ended, and nobody waited for it
    polls[0]()
    assert not Path(f"/proc/{step.process.pid}").exists()


def test_a_worker_without_the_queue_of_models_runs_no_self_test(parent: SimpleNamespace) -> None:
    parent.app.amqp.queues.consume_from = ["score"]
    step = readiness.ModelSelfTest(parent)
    step.start(parent)
    assert step.process is None
    step.stop(parent)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (Readiness("", "Landlock 4."), "Landlock 4."),
        (Readiness("The kernel has no Landlock."), "The kernel has no Landlock."),
    ],
)
def test_the_command_prints_and_records_the_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], result: Readiness, message: str
) -> None:
    monkeypatch.setattr(readiness, "readiness", lambda: result)
    call_command("try_models")
    assert capsys.readouterr().err.strip().endswith(message)
    assert ModelHost.objects.get(name=platform.node()).why_not == result.reason


@pytest.mark.django_db
@pytest.mark.parametrize("failing", [1, 2])
def test_the_result_is_recorded_when_the_database_was_away_for_a_while(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Else models would be refused until the self-test is run again, minutes later."""
    record, calls = model_intake.record_self_test, count(1)

    def with_an_outage(name: str, *, why_not: str) -> None:
        if next(calls) == failing:
            raise OperationalError("the database is away")
        record(name, why_not=why_not)

    monkeypatch.setattr(readiness, "readiness", lambda: Readiness(""))
    monkeypatch.setattr(model_intake, "record_self_test", with_an_outage)
    monkeypatch.setattr(database, "FIRST_PAUSE_SECONDS", 0)
    monkeypatch.setattr(database.connection, "close", lambda: None)  # the test's transaction is in it
    call_command("try_models")
    assert ModelHost.objects.get(name=platform.node()).why_not == ""
