"""An accepted submission is scored once, whatever process dies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.models import Evaluation, Score, Submission
from evalsvc.evaluation.submissions.timeline import timeline
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast
from tests.places.workers import until
from tests.workers.handlers.test_score import LABEL_LINES

if TYPE_CHECKING:
    from evalsvc.local.embedded_broker import EmbeddedBroker
    from tests.conftest import StartWorker

pytestmark = pytest.mark.worker


def submit(live: str) -> Submission:
    """Submit a file by API."""
    cast = BenchmarkCast.create()
    cast.relations(title="Port news")
    _, token = issue(cast.kim, name="cluster", team=cast.kelpie)
    address = f"{live}/api/v1/benchmarks/rel/submissions?system=Net&run=1"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    with urlopen(Request(address, data=jsonl(LABEL_LINES), headers=headers)) as response:
        assert response.status == 202
        return Submission.objects.get(pk=json.load(response)["id"])


def in_state(submission: Submission, state: str) -> bool:
    submission.refresh_from_db()
    return submission.state == state


def assert_scored_once(submission: Submission) -> None:
    assert submission.evaluations.count() == 1
    assert Evaluation.objects.count() == 1
    assert Score.objects.get(measure="micro_f1").value == pytest.approx(0.5)


def test_a_submission_is_scored_once_when_its_worker_is_killed_while_scoring(
    live: str, worker: StartWorker
) -> None:
    doomed = worker("tests.workers.dawdling")
    submission = submit(live)
    until(lambda: submission.job and type(submission.job).objects.filter(step="thinking").exists())
    assert in_state(submission, "running")
    doomed.kill()
    worker()
    until(lambda: in_state(submission, "scored"), seconds=120)
    assert_scored_once(submission)
    submission.job.refresh_from_db()
    assert submission.job.attempt == 2
    assert [step.kind for step in timeline(submission)].count("slip") == 1


def test_a_submission_sent_while_the_broker_is_down_is_scored_after_it_returns(
    live: str, broker: EmbeddedBroker, worker: StartWorker
) -> None:
    broker.stop()
    submission = submit(live)
    assert submission.state == "queued"
    broker.start()
    worker()
    until(lambda: in_state(submission, "scored"), seconds=120)
    assert_scored_once(submission)
