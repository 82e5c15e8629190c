"""The self-test of the sandbox at a worker's start."""

from __future__ import annotations

import platform
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command

from evalsvc.evaluation.models import ModelHost
from workers.sandbox import startup_check
from workers.sandbox.readiness import Readiness


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> SimpleNamespace:
    """A worker of the queue for models whose `manage.py` waits until it is ended."""
    settings.MODEL_UPLOADS = "auto"
    settings.BASE_DIR = tmp_path
    (tmp_path / "manage.py").write_text(
        "import sys, time; assert sys.argv[1:] == ['try_models']; time.sleep(60)"
    )
    return SimpleNamespace(
        app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=["heavy"])))
    )


def test_the_self_test_is_a_process_and_no_thread_that_would_start_programs_while_the_pool_forks(
    parent: SimpleNamespace,
) -> None:
    before = threading.active_count()
    step = startup_check.ModelSelfTest(parent)
    step.start(parent)
    assert step.process is not None
    assert step.process.poll() is None
    assert threading.active_count() == before
    step.stop(parent)
    assert step.process.returncode != 0


def test_a_worker_without_the_queue_for_models_tries_nothing(parent: SimpleNamespace) -> None:
    parent.app.amqp.queues.consume_from = ["score"]
    step = startup_check.ModelSelfTest(parent)
    step.start(parent)
    assert step.process is None
    step.stop(parent)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Readiness("", "Landlock 4."), "Models can run here. Landlock 4."),
        (Readiness("The kernel has no Landlock."), "Models can't run here: The kernel has no Landlock."),
    ],
)
def test_trying_by_hand_says_what_was_found_and_tells_the_web(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: Readiness, says: str
) -> None:
    monkeypatch.setattr(startup_check, "readiness", lambda: found)
    call_command("try_models")
    assert capsys.readouterr().err.strip() == says
    assert ModelHost.objects.get(name=platform.node()).why_not == found.why_not
