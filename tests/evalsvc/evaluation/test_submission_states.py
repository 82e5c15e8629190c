"""States of a submission, its transitions and its timeline."""

from __future__ import annotations

import io
from contextlib import nullcontext
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import Http404
from django.test import Client
from django.utils import timezone

from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import kinds, queue, transitions
from evalsvc.core.jobs.exceptions import IllegalTransition
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation, final_entries
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.submissions.timeline import timeline
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.cast.replay import replayed
from tests.errors import code
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "N/A"} for line in RELATION_GOLD]
STATES = list(Submission.State)


def fresh(submission: Submission) -> Submission:
    return Submission.objects.get(pk=submission.pk)


@pytest.mark.parametrize(("start", "to"), list(product(STATES, STATES)))
def test_only_listed_state_transitions_are_accepted(cast: BenchmarkCast, start: str, to: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    Submission.objects.filter(pk=submission.pk).update(state=start)
    submission = fresh(submission)
    if to in submission_states.MOVES[start]:
        submission_states.move(submission, to)
        assert fresh(submission).state == to
    else:
        with pytest.raises(IllegalTransition):
            submission_states.move(submission, to)
        assert fresh(submission).state == start


def test_every_state_has_its_moves() -> None:
    assert set(submission_states.MOVES) == set(STATES)


def test_a_transition_from_an_outdated_state_is_rejected(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    stale = fresh(submission)
    submission_states.move(submission, "running")
    with pytest.raises(Conflict):
        submission_states.move(stale, "cancelled")


def test_the_submission_mirrors_its_job(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    job = queue.claim("score")
    assert fresh(submission).state == "running"
    assert job is not None
    transitions.retry(job, reason="The disk is away.")
    assert fresh(submission).state == "queued"


@pytest.mark.parametrize(("code", "state"), [("unknown_id", "invalid"), ("worker_lost", "failed")])
def test_a_fault_of_the_file_is_invalid_and_any_other_failed(
    cast: BenchmarkCast, code: str, state: str
) -> None:
    submission = cast.submit(cast.relations(), LINES)
    job = queue.claim("score")
    assert job is not None
    transitions.fail(job, code=code, reason="As it is.")
    updated = fresh(submission)
    assert (updated.state, updated.reason_code, updated.reason) == (state, code, "As it is.")
    assert updated.ended_at is not None


def test_the_kind_is_registered_with_its_follower() -> None:
    assert kinds.get("score").on_change is submission_states.follow


def test_cancelling_while_it_waits_ends_it_at_once(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    submission_states.cancel(submission, by=cast.kim)
    assert fresh(submission).state == "cancelled"
    assert not run_next("score")


def test_cancelling_a_running_job_is_requested_of_the_worker(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    queue.claim("score")
    submission_states.cancel(fresh(submission), by=cast.kim)
    assert Job.objects.get(pk=submission.job_id).cancel_asked


def test_an_ended_submission_cannot_be_cancelled(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    run_next("score")
    with pytest.raises(Conflict) as error:
        submission_states.cancel(fresh(submission), by=cast.kim)
    assert error.value.code == "ended"


def test_withdrawing_stops_the_work_and_keeps_the_record(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    submission_states.withdraw(submission, by=cast.kim)
    updated = fresh(submission)
    assert updated.withdrawn_at is not None
    assert updated.state == "cancelled"


def test_a_submission_is_withdrawn_once(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    run_next("score")
    submission_states.withdraw(fresh(submission), by=cast.olga)
    with pytest.raises(Conflict) as error:
        submission_states.withdraw(fresh(submission), by=cast.kim)
    assert error.value.code == "withdrawn"


def test_another_team_can_neither_cancel_nor_withdraw(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    for act in (submission_states.cancel, submission_states.withdraw):
        with pytest.raises(Http404):
            act(submission, by=cast.lars)


def test_the_timeline_lists_every_attempt(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    job = queue.claim("score")
    assert job is not None
    Job.objects.filter(pk=job.pk).update(lease_until=job.created_at)
    run_next("score")
    steps = [(step.title, step.kind) for step in timeline(fresh(submission))]
    assert steps == [
        ("Received", ""),
        ("Checked", ""),
        ("Waiting for a worker", ""),
        ("Attempt 1 started", ""),
        ("Attempt 1 lost its worker", "slip"),
        ("Attempt 2 started", ""),
        ("Attempt 2 scored", "good"),
    ]


def test_the_timeline_lists_a_models_run_then_its_scoring(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    Submission.objects.filter(pk=submission.pk).update(model=submission.file)
    Job.objects.update(kind="predict")
    job = queue.claim("score")
    assert job is not None
    transitions.complete(job, lambda: submission_states.queue(fresh(submission)))
    run_next("score")
    steps = [(step.title, step.detail) for step in timeline(fresh(submission))]
    assert steps[1:] == [
        ("Checked", "valid pipeline"),
        ("Waiting for a worker", ""),
        ("Attempt 1 started", ""),
        ("Attempt 1 ran the model", ""),
        ("Waiting for a worker", ""),
        ("Attempt 1 started", ""),
        ("Attempt 1 scored", ""),
    ]


def test_the_timeline_lists_reused_scores(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    run_next("score")
    steps = timeline(cast.submit(benchmark, LINES, run="2"))
    assert [step.title for step in steps] == ["Received", "Checked", "Scored"]


# ---- a phase that has ended -----------------------------------------------------------------------
def sealed_run(cast: BenchmarkCast, **held_back: Any) -> Submission:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LINES)
    run_next("score")
    closes_at = timezone.now() - timedelta(days=1)
    benchmark.settings.update(closes_at=closes_at, **held_back or {"sealed": True})
    return fresh(submission)


def with_dev(benchmark: Benchmark, cast: BenchmarkCast) -> Benchmark:
    """Add an open setting."""
    dev = freeze("dev", RELATION_GOLD[::-1], by=cast.olga)
    fields: dict[str, Any] = {"title": "dev", "unit": "sentence", "main": "micro_f1"}
    creation.add_setting(benchmark, key="dev", test_set=dev, by=cast.olga, **fields)
    return benchmark


@pytest.mark.parametrize("shown", [{"sealed": True}, {"disclosure": "hidden"}, {"disclosure": "open"}])
def test_a_team_that_knows_its_final_scores_withdraws_no_run(
    cast: BenchmarkCast, client: Client, shown: dict[str, Any]
) -> None:
    submission = sealed_run(cast, **shown)
    client.force_login(cast.kim)
    answer = client.post(f"/api/v1/submissions/{submission.pk}/withdraw")
    assert (answer.status_code, answer.json()["code"]) == (409, "phase_ended")
    assert "it ended on" in answer.json()["detail"]
    assert client.post(f"/submissions/{submission.pk}/withdraw/").status_code == 409
    assert fresh(submission).withdrawn_at is None
    page = client.get(f"/submissions/{submission.pk}/").content.decode()
    assert "its runs are final" in page
    assert "Withdraw run" not in page


@pytest.mark.parametrize(
    ("held_back", "change"),
    [
        ({"disclosure": "hidden"}, {"disclosure": "open"}),
        ({"row_rule": "final"}, {"closes_at": timezone.now() + timedelta(days=3)}),
    ],
)
def test_runs_of_an_ended_phase_stay_final_whatever_it_becomes(
    cast: BenchmarkCast, held_back: dict[str, Any], change: dict[str, Any]
) -> None:
    """A team withdrew its worst run once the disclosure of the ended phase was changed."""
    submission = sealed_run(cast, **held_back)
    sent = timezone.now() - timedelta(days=2)
    Submission.objects.update(created_at=sent)
    for fields in (change, {"title": "Renamed"}):
        creation.change_setting(submission.benchmark.settings.get(), by=cast.olga, **fields)
    with pytest.raises(Conflict, match="final: it ended on"):
        submission_states.withdraw(fresh(submission), by=cast.kim)
    if "closes_at" in change:
        assert final_entries.choosable(fresh(submission)) == []
        Submission.objects.update(created_at=timezone.now())
        assert final_entries.choosable(fresh(submission)) != []
        submission_states.withdraw(fresh(submission), by=cast.kim)


@pytest.mark.parametrize("ended", [False, True])
def test_a_team_that_knows_exact_scores_chooses_none_of_its_runs_that_still_wait_or_failed(
    cast: BenchmarkCast, client: Client, ended: bool
) -> None:
    """It scored them itself by the open errors, cancelled the bad ones, and retried the good ones alone."""
    benchmark = cast.relations()
    submission, page = cast.submit(benchmark, LINES), f"/submissions/{Submission.objects.get().pk}/"
    closes_at = timezone.now() + timedelta(days=-1 if ended else 1)
    benchmark.settings.update(disclosure="hidden", closes_at=closes_at)
    client.force_login(cast.kim)
    for act, state in ((submission_states.cancel, None), (submission_states.retry, "failed")):
        if state:
            Job.objects.update(state=state)
            Submission.objects.update(state=state)
        assert ("Retry run" in client.get(page).content.decode()) == bool(state and not ended)
        with pytest.raises(Conflict, match="are final") if ended else nullcontext():
            act(fresh(submission), by=cast.kim)
    if ended:
        submission_states.retry(fresh(submission), by=cast.olga)
    assert fresh(submission).state == "queued"


def test_what_a_team_declared_of_a_system_with_final_runs_stays(cast: BenchmarkCast) -> None:
    """By the same file once more, it took back on the ended board that it had used extra data."""
    submission = sealed_run(cast)
    benchmark = with_dev(submission.benchmark, cast)
    Submission.objects.update(tags={"extra data": True, "paper": "https://example.org/first"})
    links = {"code": "https://example.org/net", "paper": "https://example.org/other"}
    cast.submit(benchmark, LINES, run="2", tags={"extra data": "none"} | links)
    while run_next("score"):
        pass
    [row] = leaderboard.board(benchmark.settings.exclude(key="dev").get()).rows
    assert row.declared.tags == {
        "code": links["code"], "extra data": True, "paper": "https://example.org/first"
    }  # fmt: skip


def test_runs_stay_final_that_were_sent_after_the_end_that_organisers_set_later(cast: BenchmarkCast) -> None:
    """All their figures were shown; a new end made them as free as runs of the new time."""
    submission = sealed_run(cast)
    for days in (-3, 3):
        closes_at = timezone.now() + timedelta(days=days)
        creation.change_setting(submission.benchmark.settings.get(), by=cast.olga, closes_at=closes_at)
    with pytest.raises(Conflict, match="final: it ended on"):
        submission_states.withdraw(fresh(submission), by=cast.kim)


def test_after_the_end_a_team_retries_no_scoring_under_a_new_version_that_failed(
    cast: BenchmarkCast, client: Client
) -> None:
    """Of those that failed, it retried the good ones alone."""
    submission = sealed_run(cast)
    submission_states.score_again(submission)
    job = queue.claim("score")
    assert job
    transitions.fail(job, code="worker_lost", reason="The worker process ended.")
    assert submission_states.can_be_retried(fresh(submission))
    client.force_login(cast.kim)
    assert "Retry run" not in client.get(f"/submissions/{submission.pk}/").content.decode()
    with pytest.raises(Conflict, match="are final"):
        submission_states.retry(fresh(submission), by=cast.kim)
    submission_states.retry(fresh(submission), by=cast.olga)


def test_organisers_withdraw_a_run_after_a_sealed_phase(cast: BenchmarkCast) -> None:
    submission_states.withdraw(sealed_run(cast), by=cast.olga)
    assert Submission.objects.get().withdrawn_at is not None


def test_a_team_cannot_keep_a_run_off_a_new_version_by_cancelling(cast: BenchmarkCast) -> None:
    submission = sealed_run(cast)
    submission_states.score_again(submission)
    with pytest.raises(Conflict) as caught:
        submission_states.cancel(fresh(submission), by=cast.kim)
    assert caught.value.code == "phase_ended"


def test_a_team_cannot_keep_a_scored_run_off_a_new_version_by_cancelling(
    cast: BenchmarkCast, client: Client
) -> None:
    """Of ten equal runs it would leave the best three, and be ahead."""
    submission = cast.submit(cast.relations(), LINES)
    run_next("score")
    submission_states.score_again(submission)
    page = f"/submissions/{submission.pk}/"
    for person, button, expected in (
        (cast.kim, "Withdraw run", pytest.raises(Conflict, check=code("has_scores"))),
        (cast.olga, "Cancel run", nullcontext()),
    ):
        client.force_login(person)
        assert button in client.get(page).content.decode()
        with expected:
            submission_states.cancel(fresh(submission), by=person)


def test_a_run_of_an_open_phase_is_withdrawn_beside_an_ended_one(cast: BenchmarkCast) -> None:
    benchmark = with_dev(sealed_run(cast).benchmark, cast)
    open_run = cast.submit(benchmark, LINES, run="2")
    submission_states.withdraw(open_run, by=cast.kim)
    assert fresh(open_run).withdrawn_at is not None


@replayed
def failed(cast: BenchmarkCast, code: str = "worker_lost") -> Submission:
    submission = cast.submit(cast.relations(), LINES)
    job = queue.claim("score")
    assert job
    transitions.fail(job, code=code, reason="The worker process ended.")
    submission.refresh_from_db()
    return submission


def test_a_failed_run_can_be_retried_and_is_scored(cast: BenchmarkCast, client: Client) -> None:
    submission = failed(cast)
    client.force_login(submission.by)
    assert "Retry run" in client.get(f"/submissions/{submission.pk}/").content.decode()
    assert client.post(f"/submissions/{submission.pk}/retry/").status_code == 302
    submission.refresh_from_db()
    assert (submission.state, submission.reason) == ("queued", "")
    run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored"


@pytest.mark.parametrize("code", ["unknown_id", ""])
def test_only_a_failed_run_can_be_retried(cast: BenchmarkCast, code: str) -> None:
    submission = failed(cast, code) if code else cast.submit(cast.relations(), LINES)
    with pytest.raises(Conflict) as error:
        submission_states.retry(submission, by=submission.by)
    assert error.value.code == "not_failed"


def test_a_team_retries_a_run_three_times_at_most(cast: BenchmarkCast, client: Client) -> None:
    submission = failed(cast)
    client.force_login(submission.by)
    statuses = []
    for _ in range(4):
        response = client.post(f"/api/v1/submissions/{submission.pk}/retry")
        statuses.append(response.status_code)
        if job := queue.claim("score"):
            transitions.fail(job, code="worker_lost", reason="The worker process ended.")
    assert statuses == [200, 200, 200, 409]
    assert "Retry run" not in client.get(f"/submissions/{submission.pk}/").content.decode()


def test_a_run_sent_again_meanwhile_is_not_retried(cast: BenchmarkCast) -> None:
    submission = failed(cast)
    cast.submit(submission.benchmark, LINES)
    with pytest.raises(Conflict) as error:
        submission_states.retry(submission, by=submission.by)
    assert error.value.code == "run_taken"
    err = io.StringIO()
    call_command("jobs", "retry", str(submission.job_id), stdout=io.StringIO(), stderr=err)
    assert "was not restarted" in err.getvalue()


def test_jobs_are_listed_retried_and_cancelled_by_filter(cast: BenchmarkCast) -> None:
    submission = failed(cast)

    def jobs(*words: str) -> str:
        out = io.StringIO()
        call_command("jobs", *words, stdout=out)
        return out.getvalue()

    assert jobs("list", "--code", "worker_lost").startswith(f"{submission.job_id}\tfailed\tscore ")
    assert jobs("list", "--state", "queued,running") == ""
    assert jobs("retry", "--code", "file_lost") == "0 jobs restarted.\n"
    assert jobs("retry", "--code", "file_lost,worker_lost") == "1 job restarted.\n"
    again = queue.claim("score")
    assert again
    transitions.retry(again, reason="The storage is away.")
    assert "\tretried after attempt 2: The storage is away.\n" in jobs("list", "--state", "queued")
    assert jobs("cancel", str(submission.job_id)).startswith("1 job cancelled")
    submission.refresh_from_db()
    assert submission.state == "cancelled"
    with pytest.raises(CommandError, match=f"Cannot cancel jobs in these states: {again.pk} is cancelled"):
        jobs("cancel", str(again.pk))
    with pytest.raises(CommandError, match="Unknown jobs: 9999"):
        jobs("retry", str(again.pk), "9999")
    with pytest.raises(CommandError, match="invalid natural value: '-1'"):
        jobs("list", "--limit", "-1")
    with pytest.raises(CommandError, match="by number or by a filter"):
        jobs("retry")
    with pytest.raises(CommandError, match="Unknown state: stuck"):
        jobs("list", "--state", "stuck")
