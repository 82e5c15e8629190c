"""Quotas of a team: per day, in total, at once; failed and cancelled runs do not count."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import Conflict, DomainError, QuotaExceeded
from evalsvc.core.jobs import transitions
from evalsvc.core.jobs.lease import hand_back, reconcile
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import claim, restart
from evalsvc.core.web import places
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import quotas, rules
from evalsvc.evaluation.models import Benchmark, PredictionFile, Submission, System
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.places.postgres import in_threads
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]


def two_phases(cast: BenchmarkCast, **fields: Any) -> Benchmark:
    """The same gold in two open phases."""
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    phases = [(phase, gold, "sentence", "micro_f1") for phase in ("dev", "test")]
    benchmark = cast.benchmark(settings=phases, **fields)
    benchmark.settings.update(phase=F("key"))
    return benchmark


def refused(cast: BenchmarkCast, benchmark: Benchmark, *, run: str) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as caught:
        cast.submit(benchmark, LINES, run=run)
    return caught.value


def test_a_run_over_the_daily_quota_is_rejected_until_midnight_of_the_benchmark(
    cast: BenchmarkCast,
) -> None:
    benchmark = cast.relations(per_day=2, time_zone="Asia/Tokyo")
    cast.submit(benchmark, LINES, run="1")
    cast.submit(benchmark, LINES, run="2")
    refusal = refused(cast, benchmark, run="3")
    allowed = datetime.fromisoformat(refusal.extra["next_allowed_at"])
    assert refusal.code == "quota_per_day"
    assert (allowed.hour, allowed.minute, allowed.utcoffset()) == (0, 0, timedelta(hours=9))
    assert 0 < refusal.retry_after <= 86_401


def test_the_day_begins_in_the_time_zone_of_the_benchmark(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(time_zone="America/New_York")
    begun, tomorrow = quotas.day_of(benchmark, datetime(2026, 11, 1, 3, 30, tzinfo=UTC))
    assert begun.astimezone(UTC) == datetime(2026, 10, 31, 4, tzinfo=UTC)
    assert tomorrow.astimezone(UTC) == datetime(2026, 11, 1, 4, tzinfo=UTC)


def test_a_day_on_which_clocks_change_is_as_long_as_it_is(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(time_zone="America/New_York")
    begun, tomorrow = quotas.day_of(benchmark, datetime(2026, 11, 1, 12, tzinfo=UTC))
    assert tomorrow.astimezone(UTC) - begun.astimezone(UTC) == timedelta(hours=25)


def test_yesterdays_runs_count_in_total_but_not_today(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(per_day=1, in_total=2)
    cast.submit(benchmark, LINES, run="1")
    Submission.objects.update(created_at=datetime(2026, 1, 1, tzinfo=UTC))
    cast.submit(benchmark, LINES, run="2")
    assert refused(cast, benchmark, run="3").code == "quota_in_total"


def test_a_rejected_run_leaves_no_rows(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    cast.submit(benchmark, LINES)
    with pytest.raises(QuotaExceeded):
        cast.submit(benchmark, LINES, system="Other")
    assert Submission.objects.count() == System.objects.count() == 1


def test_the_same_run_again_costs_nothing_even_when_the_quota_is_spent(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    first = cast.submit(benchmark, LINES, idempotency_key="a")
    assert cast.submit(benchmark, LINES, idempotency_key="a") == first
    assert cast.submit(benchmark, LINES) == first


def test_teams_have_their_own_quota(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    cast.submit(benchmark, LINES)
    assert cast.submit(benchmark, LINES, team=cast.lugworm, by=cast.lars).state == "queued"


def test_a_cancelled_run_does_not_count(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    submission_states.cancel(cast.submit(benchmark, LINES), by=cast.kim)
    assert cast.submit(benchmark, LINES, run="2").state == "queued"


@pytest.mark.parametrize("code", ["worker_lost", "defect", "unavailable", "missing_id"])
def test_a_failed_or_invalid_run_does_not_count(cast: BenchmarkCast, code: str) -> None:
    benchmark = cast.relations(per_day=1, in_total=1, at_once=1)
    cast.submit(benchmark, LINES)
    job = claim("score")
    assert job is not None
    transitions.fail(job, code=code, reason="For the test.")
    assert [allowance.used for allowance in quotas.allowances(benchmark, cast.kelpie)] == [0, 0, 0]
    assert cast.submit(benchmark, LINES, run="2").state == "queued"


@pytest.mark.parametrize("code", ["memory_limit", "time_limit"])
def test_a_run_that_met_a_limit_counts_and_is_not_retried_by_its_team(cast: BenchmarkCast, code: str) -> None:
    """A worker was kept busy, and times of hidden gold measured, past every quota."""
    benchmark = cast.relations(per_day=1, in_total=1)
    submission = cast.submit(benchmark, LINES)
    job = claim("score")
    assert job is not None
    transitions.fail(job, code=code, reason="For the test.")
    assert [allowance.used for allowance in quotas.allowances(benchmark, cast.kelpie)] == [1, 1, 0]
    assert refused(cast, benchmark, run="2").code == "quota_in_total"
    with pytest.raises(Conflict):
        submission_states.retry(Submission.objects.get(pk=submission.pk), by=cast.kim)


@pytest.mark.parametrize(("code", "used"), [("model_too_slow", 1), ("unknown_label", 1), ("worker_lost", 0)])
def test_a_model_run_uses_quota_unless_the_service_failed(cast: BenchmarkCast, code: str, used: int) -> None:
    benchmark = cast.relations(per_day=1)
    cast.submit(benchmark, LINES)
    Submission.objects.update(model=F("file"))
    job = claim("score")
    assert job is not None
    transitions.fail(job, code=code, reason="For the test.")
    assert quotas.allowances(benchmark, cast.kelpie)[0].used == used


def test_a_withdrawn_score_was_seen_and_stays_counted(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    submission = cast.submit(benchmark, LINES)
    run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored"
    submission_states.withdraw(submission, by=cast.kim)
    assert refused(cast, benchmark, run="2").code == "quota_in_total"


def test_at_once_counts_queued_and_running_runs(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(at_once=1)
    cast.submit(benchmark, LINES)
    assert refused(cast, benchmark, run="2").code == "quota_at_once"
    run_next("score")
    assert cast.submit(benchmark, LINES, run="2").state == "scored"


def test_the_response_has_the_time_of_the_next_run(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations(per_day=1)
    cast.submit(benchmark, LINES)
    _, key = issue(cast.kim, team=cast.kelpie, name="test", scope="submit")
    answer = client.post(
        f"/api/v1/benchmarks/{benchmark.slug}/submissions?system=Net&run=2",
        jsonl(LINES),
        content_type="application/x-ndjson",
        headers={"Authorization": f"Bearer {key}"},
    )
    body = answer.json()
    assert (answer.status_code, body["code"]) == (429, "quota_per_day")
    assert int(answer["Retry-After"]) > 0
    assert datetime.fromisoformat(body["next_allowed_at"]).tzinfo is not None


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ({"per_day": 0}, "bad_limit"),
        ({"at_once": True}, "bad_limit"),
        ({"phase_quotas": {"final": {"per_day": 1}}}, "bad_choice"),
        ({"phase_quotas": {"dev": {"at_once": 1}}}, "bad_limit"),
        ({"phase_quotas": {"dev": {"per_day": None}}}, "bad_limit"),
        ({"time_zone": "Mars/Olympus"}, "bad_time_zone"),
        ({"time_zone": "localtime"}, "bad_time_zone"),
        ({"limits": {"sheep": 3}}, "bad_limit"),
        ({"training_counts": {"nobody": 3}}, "unknown_label"),
    ],
)
def test_an_invalid_rule_is_rejected(cast: BenchmarkCast, rule: dict[str, Any], code: str) -> None:
    benchmark = cast.relations()
    with pytest.raises(DomainError) as caught:
        rules.change(benchmark, by=cast.olga, **rule)
    assert caught.value.code == code


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads read files like web processes: in one of them a person sends one at a time."""
    monkeypatch.setattr(places.files, "taken", lambda holder=None: nullcontext())


@pytest.mark.postgres
@pytest.mark.usefixtures("processes")
def test_forty_parallel_runs_under_a_quota_of_five_accept_five(
    postgres: dict[str, Any], tmp_path: Any, settings: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    benchmark = cast.relations(per_day=5)
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Net"}

    def one(number: int) -> str:
        try:
            received = intake.receive(benchmark, run=str(number), chunks=[jsonl(LINES)], **fields)
            return received.submission.state
        except QuotaExceeded as spent:
            return spent.code

    outcomes = in_threads(40, one)
    assert (outcomes.count("queued"), outcomes.count("quota_per_day")) == (5, 35)
    assert Submission.objects.count() == 5


@pytest.mark.postgres
@pytest.mark.usefixtures("processes")
def test_forty_identical_requests_make_one_submission(
    postgres: dict[str, Any], tmp_path: Any, settings: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    benchmark = cast.relations(per_day=5)
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Net", "run": "1", "idempotency_key": "k"}
    results = in_threads(40, lambda _: intake.receive(benchmark, chunks=[jsonl(LINES)], **fields))
    assert len({received.submission.pk for received in results}) == 1
    assert sum(received.created for received in results) == 1


def unread(*_: Any) -> Any:
    raise AssertionError("the file was read")
    yield b""


def test_a_phase_has_quotas_of_its_own_beside_those_of_all_phases(cast: BenchmarkCast) -> None:
    benchmark = two_phases(cast, in_total=4, phase_quotas={"dev": {"per_day": 2}, "test": {"in_total": 1}})
    cast.submit(benchmark, LINES, run="1", phase="test")
    with pytest.raises(QuotaExceeded) as caught:
        cast.submit(benchmark, LINES, run="2", phase="test")
    assert (caught.value.code, "in the test phase" in caught.value.detail) == ("quota_in_total", True)
    cast.submit(benchmark, LINES, run="2", phase="dev")
    with pytest.raises(QuotaExceeded):
        cast.submit(benchmark, LINES, run="3", phase="both")  # one of the phases has none left
    cast.submit(benchmark, LINES, run="3", phase="dev")
    with pytest.raises(QuotaExceeded) as caught:
        cast.submit(benchmark, LINES, run="4", phase="dev")
    assert "for today in the dev phase" in caught.value.detail
    shown = {(each.phase, each.name): each.left for each in quotas.allowances(benchmark, cast.kelpie)}
    assert shown["", "in_total"] == 1
    assert (shown["dev", "per_day"], shown["test", "in_total"]) == (0, 0)


def test_the_quota_of_a_hidden_phase_replaces_its_default_and_no_other(cast: BenchmarkCast) -> None:
    benchmark = two_phases(cast, default_quotas=True, phase_quotas={"test": {"in_total": 2}})
    benchmark.settings.filter(phase="test").update(disclosure="hidden")
    shown = {(each.phase, each.name): each.most for each in quotas.allowances(benchmark, cast.kelpie)}
    assert shown["", "per_day"] == 5
    assert shown["", "in_total"] is None
    assert shown["test", "in_total"] == 2
    setting = benchmark.settings.select_related("benchmark", "test_set", "only").get(phase="test")
    assert quotas.most_in_total(setting) == 2


def test_the_body_is_not_read_once_the_quota_is_used_up(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(per_day=1)
    cast.submit(benchmark, LINES, run="1")
    with pytest.raises(QuotaExceeded):
        intake.receive(benchmark, team=cast.kelpie, by=cast.kim, system="Net", run="2", chunks=unread())
    assert PredictionFile.objects.count() == 1


def test_a_repeated_request_succeeds_once_the_quota_is_used_up(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(per_day=1)
    first = cast.submit(benchmark, LINES, run="1", idempotency_key="k")
    assert cast.submit(benchmark, LINES, run="1", idempotency_key="k") == first
    assert cast.submit(benchmark, LINES, run="1") == first


def ended_by_a_fault(fault: str) -> None:
    """Let the service lose an attempt, or interrupt it, or fail and begin again."""
    job = claim("score")
    assert job is not None
    if fault == "lost":
        Job.objects.filter(pk=job.pk).update(lease_until=job.created_at)
        assert reconcile() == 1
    elif fault == "retried":
        transitions.retry(job, reason="The disk is away.")
    elif fault == "returned":
        hand_back(job)
    else:
        transitions.fail(job, code=fault, reason="For the test.")
        restart(job, by="an administrator")


@pytest.mark.parametrize("act", [submission_states.cancel, submission_states.withdraw])
@pytest.mark.parametrize("fault", ["lost", "retried", "returned", "worker_lost"])
def test_a_run_that_waits_again_after_a_fault_of_the_service_costs_nothing_if_it_is_cancelled(
    cast: BenchmarkCast, fault: str, act: Callable[..., None]
) -> None:
    benchmark = cast.relations(per_day=1, in_total=1)
    submission = cast.submit(benchmark, LINES)
    ended_by_a_fault(fault)
    assert [allowance.used for allowance in quotas.allowances(benchmark, cast.kelpie)] == [1, 1, 1]
    act(Submission.objects.get(pk=submission.pk), by=cast.kim)
    assert Submission.objects.get().state == "cancelled"
    assert [allowance.used for allowance in quotas.allowances(benchmark, cast.kelpie)] == [0, 0, 0]


def test_a_run_that_is_cancelled_in_an_attempt_after_a_fault_counts(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(in_total=1)
    submission = cast.submit(benchmark, LINES)
    ended_by_a_fault("lost")
    job = claim("score")
    assert job is not None
    submission_states.cancel(Submission.objects.get(pk=submission.pk), by=cast.kim)
    transitions.retry(job, reason="The disk is away.")
    assert Submission.objects.get().state == "cancelled"
    assert refused(cast, benchmark, run="2").code == "quota_in_total"


def test_a_run_whose_model_has_run_counts_if_it_is_cancelled_after_its_scoring_was_lost(
    cast: BenchmarkCast,
) -> None:
    benchmark = cast.relations(in_total=1)
    submission = cast.submit(benchmark, LINES)
    Job.objects.update(kind="predict")
    job = claim("score")
    assert job is not None
    transitions.complete(job, lambda: submission_states.queue(submission))
    ended_by_a_fault("lost")
    submission_states.cancel(Submission.objects.get(pk=submission.pk), by=cast.kim)
    assert Submission.objects.get().state == "cancelled"
    assert refused(cast, benchmark, run="2").code == "quota_in_total"


@pytest.mark.parametrize("code", ["memory_limit", "time_limit"])
def test_a_run_that_met_a_limit_counts_if_it_is_cancelled_before_it_runs_again(
    cast: BenchmarkCast, code: str
) -> None:
    benchmark = cast.relations(in_total=1)
    submission = cast.submit(benchmark, LINES)
    ended_by_a_fault(code)
    submission_states.cancel(Submission.objects.get(pk=submission.pk), by=cast.kim)
    assert Submission.objects.get().state == "cancelled"
    assert refused(cast, benchmark, run="2").code == "quota_in_total"
