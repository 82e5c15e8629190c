"""Long polling of a submission, limited threads, and the public state of queues."""

from __future__ import annotations

import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.exceptions import IllegalTransition
from evalsvc.core.web import places
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.submissions import long_poll
from evalsvc.local.supervisor import commands
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]


def status(client: Client, submission: Submission, **query: str) -> Any:
    return client.get(f"/api/v1/submissions/{submission.pk}", query)


def test_a_wait_ends_when_the_state_changes(either_database: str, tmp_path: Any, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    submission = cast.submit(cast.relations(), LINES)
    found: list[bool] = []

    def wait() -> None:
        found.append(long_poll.wait_for_change(submission, 60))
        connection.close()

    waiting = Thread(target=wait)
    waiting.start()
    run_next("score")
    waiting.join(60)
    assert found == [True]


def test_waiting_for_an_ended_submission_returns_at_once(
    cast: BenchmarkCast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = cast.submit(cast.relations(), LINES)
    run_next("score")
    client.force_login(cast.kim)
    monkeypatch.setattr(long_poll, "wait_for_change", None)  # would break if it were asked
    assert status(client, submission, wait="20").json()["state"] == "scored"


@pytest.mark.parametrize("ends", ["token", "session", "account", "membership"])
def test_a_wait_answers_nothing_once_the_right_to_it_has_ended(
    cast: BenchmarkCast, client: Client, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    submission = cast.submit(cast.relations(), LINES)
    token, secret = tokens.issue(cast.kim, name="t")
    headers = {} if ends == "session" else {"Authorization": f"Bearer {secret}"}
    client.force_login(cast.kim)

    def end(*args: object) -> bool:
        if ends == "token":
            tokens.revoke(token, by=cast.kim)
        elif ends == "session":
            client.session.flush()
        elif ends == "account":
            User.objects.filter(pk=cast.kim.pk).update(is_active=False)
        else:
            cast.kelpie.members.filter(user=cast.kim).delete()
        return True

    monkeypatch.setattr(long_poll, "wait_for_change", end)
    answer = client.get(f"/api/v1/submissions/{submission.pk}?wait=20", headers=headers)
    assert answer.status_code == (404 if ends == "membership" else 401)
    assert "state" not in answer.json()


def test_no_more_than_a_quarter_of_the_threads_wait(
    cast: BenchmarkCast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = cast.submit(cast.relations(), LINES)
    client.force_login(cast.kim)
    assert places.polls.most == django_settings.WEB_THREADS // 4
    with monkeypatch.context() as others_wait:
        others_wait.setattr(places.polls, "holders", ["another"] * places.polls.most)
        answer = status(client, submission, wait="20")
    assert (answer.status_code, answer.json()["state"]) == (200, "queued")
    assert int(answer["Retry-After"]) > 0
    assert "Retry-After" not in status(client, submission, wait="0")


def test_a_poll_gives_way_to_a_file(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = cast.submit(cast.relations(), LINES)

    def sleep(seconds: float) -> None:
        monkeypatch.setattr(places.files, "holders", [cast.kim.pk, cast.lars.pk])

    monkeypatch.setattr(long_poll, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    assert not long_poll.wait_for_change(submission, 20)


def test_a_change_since_the_last_request_returns_at_once(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = cast.submit(cast.relations(), LINES)
    seen = Submission.objects.select_related("job").get(pk=submission.pk)
    run_next("score")
    monkeypatch.setattr(long_poll, "time", SimpleNamespace(monotonic=time.monotonic))  # no sleep
    assert long_poll.wait_for_change(seen, 20)


def test_the_thread_limit_is_that_of_the_web_server() -> None:
    command = commands(host="127.0.0.1", port=8000)["web"]
    assert command[command.index("--threads") + 1] == str(django_settings.WEB_THREADS)


@pytest.mark.parametrize("wait", ["soon", "-1", "1e3", "", "٣"])
def test_a_wait_that_is_not_whole_seconds_is_rejected(cast: BenchmarkCast, client: Client, wait: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    client.force_login(cast.kim)
    answer = status(client, submission, wait=wait)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_wait")
    submission_states.cancel(submission, by=cast.kim)
    answer = status(client, submission, wait=wait)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_wait")


def test_a_wait_is_capped_at_the_limit() -> None:
    assert long_poll.seconds_of("999") == django_settings.WAIT_MAX_SECONDS == 20


def test_the_status_has_position_attempt_and_timeline(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    submission = cast.submit(benchmark, LINES, run="2")
    client.force_login(cast.kim)
    body = status(client, submission).json()
    assert body["outlook"] == {"position": 2, "seconds": None}
    assert body["progress"]["attempt"] == 0
    assert [step["title"] for step in body["timeline"]] == ["Received", "Checked", "Waiting for a worker"]
    assert "outlook" in body
    run_next("score")
    run_next("score")
    body = status(client, submission).json()
    assert (body["state"], body["outlook"], body["progress"]["attempt"]) == ("scored", None, 1)


# ---- ending --------------------------------------------------------------------------------------
def test_a_waiting_run_is_cancelled_at_once(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    submission_states.cancel(submission, by=cast.kim)
    submission.refresh_from_db()
    assert submission.state == "cancelled"


@pytest.mark.parametrize("state", ["scored", "invalid", "failed", "cancelled"])
def test_cancelling_an_ended_submission_names_its_state(cast: BenchmarkCast, state: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    Submission.objects.filter(pk=submission.pk).update(state=state)
    submission.refresh_from_db()
    with pytest.raises(Conflict) as caught:
        submission_states.cancel(submission, by=cast.kim)
    assert caught.value.code == "ended"
    assert state in caught.value.detail


@pytest.mark.parametrize("to", ["received", "queued", "running", "scored", "failed"])
def test_a_cancelled_or_invalid_submission_has_no_further_steps(cast: BenchmarkCast, to: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    for state in ("cancelled", "invalid"):
        submission.state = state
        with pytest.raises(IllegalTransition):
            submission_states.move(submission, to)


# ---- the queues ----------------------------------------------------------------------------------
def test_the_status_shows_queues_without_names(cast: BenchmarkCast, client: Client) -> None:
    cast.submit(cast.relations(), LINES, system="canary-net")
    body = client.get("/api/v1/status").json()
    assert {each["queue"]: each["waiting"] for each in body["queues"]} == {
        "score": 1,
        "heavy": 0,
        "ingest": 0,
    }
    page = client.get("/status/")
    assert page.status_code == 200
    main = page.content.decode().partition("<main")[2]  # a random token stands before it
    assert "1 waiting" in main
    for name in ("canary-net", "Kelpie", "kelpie", "kim"):
        assert name not in main + str(body)


def test_queues_report_no_worker_until_one_is_seen(cast: BenchmarkCast, client: Client) -> None:
    cast.submit(cast.relations(), LINES)
    assert len(client.get("/status/").context["idle"]) == len(django_settings.JOB_QUEUES)
    client.force_login(cast.kim)
    own = reverse("submission", args=[Submission.objects.get().pk])
    waiting = client.get(own).context["waiting"]
    for queue in django_settings.JOB_QUEUES:
        queue_status.record_seen(queue, worker="canary-host:17")
    assert client.get(own).context["waiting"] != waiting
    page = client.get("/status/")
    assert page.context["idle"] == []
    body = client.get("/api/v1/status").json()
    assert [each["heard_of"] for each in body["queues"]] == [1, 1, 1]
    assert "canary-host" not in page.content.decode() + str(body)
