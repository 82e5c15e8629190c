"""Parallel requests on PostgreSQL: one submission, one evaluation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from evalsvc.core.accounts.teams import add_member, create_team
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.lease import Lease, Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.web import places
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.models import Evaluation, PredictionFile, Submission
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.evalsvc.evaluation.disclosure.phase import (
    gold_labels,
    gold_lines,
    hidden_phase,
    labels_file,
    setting_of,
    wrong,
)
from tests.places.postgres import is_any_lock_awaited
from tests.places.workers import until
from workers.handlers.score import score
from workers.runner import run_next

pytestmark = pytest.mark.postgres
AT_ONCE = 12
RACED = {f"s{at}": ("born_in", "N/A")[at % 2] for at in range(60)}
LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]


@pytest.fixture
def people(
    postgres: dict[str, Any], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> BenchmarkCast:
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(places.files, "taken", lambda holder=None: nullcontext())  # as if in other processes
    return BenchmarkCast.create()


def at_once(call: Callable[[int], Any]) -> list[Any]:
    def closing(number: int) -> Any:
        try:
            return call(number)
        except Conflict as conflict:
            return conflict.code
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(closing, range(AT_ONCE)))


def scored(job: Job) -> Store:
    with Lease(job) as lease:
        return score(job.subject, Progress(lease))


def while_storing(job: Job, other: Callable[[], Any]) -> None:
    """Store a run; the other call begins before that is committed."""
    store = scored(job)

    def closing() -> None:
        try:
            other()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def stored() -> None:
            store()  # nothing is committed yet
            begun.append(pool.submit(closing))
            until(lambda: begun[0].done() or is_any_lock_awaited())

        begun: list[Future[None]] = []
        transitions.complete(job, stored)
        begun[0].result(60)


def test_the_same_request_many_times_at_once_makes_one_submission(people: BenchmarkCast) -> None:
    benchmark = people.relations()
    fields = {"team": people.kelpie, "by": people.kim, "system": "Net", "run": "1", "idempotency_key": "k"}
    results = at_once(lambda number: intake.receive(benchmark, chunks=[jsonl(LINES)], **fields))
    assert sum(received.created for received in results) == 1
    assert len({received.submission.pk for received in results}) == 1
    assert Submission.objects.count() == Job.objects.filter(kind="score").count() == 1


def test_one_key_for_several_systems_at_once_accepts_one(people: BenchmarkCast) -> None:
    benchmark = people.relations()
    fields = {"team": people.kelpie, "by": people.kim, "run": "1", "idempotency_key": "k"}
    results = at_once(
        lambda number: intake.receive(benchmark, chunks=[jsonl(LINES)], system=f"Net {number}", **fields)
    )
    assert Submission.objects.count() == 1
    assert results.count("key_reused") == AT_ONCE - 1


def test_different_files_for_one_run_at_once_accept_one(people: BenchmarkCast) -> None:
    benchmark = people.relations(missing="wrong")
    fields = {"team": people.kelpie, "by": people.kim, "system": "Net", "run": "1"}
    chunks = [
        jsonl([{"id": f"s{1 + n % 6}", "label": "N/A" if n < 6 else "born_in"}]) for n in range(AT_ONCE)
    ]
    results = at_once(lambda number: intake.receive(benchmark, chunks=[chunks[number]], **fields))
    assert results.count("run_taken") == AT_ONCE - 1
    assert Submission.objects.count() == 1


def test_a_person_who_sends_for_three_teams_at_once_has_one(people: BenchmarkCast) -> None:
    """To three benchmarks on one hidden gold, whose files are compared within a team only."""
    benchmark = hidden_phase(people, RACED, default_quotas=False)
    fields = {"title": "Other", "unit": "sentence", "main": "accuracy", "disclosure": "hidden"}
    boards = [benchmark, *(people.benchmark(slug, default_quotas=False) for slug in ("second", "third"))]
    test_set = setting_of(benchmark).test_set
    for board_of in boards[1:]:
        creation.add_setting(board_of, key="o", test_set=test_set, by=people.olga, **fields)
    teams = [people.kelpie, people.lugworm, create_team(name="Third", by=people.kim)]
    add_member(people.lugworm, user=people.kim, by=people.lars)

    def send(number: int) -> int:
        at, chunks = number % 3, [jsonl(labels_file(RACED))]
        own = {"team": teams[at], "by": people.kim, "system": "Net", "run": str(number)}
        return intake.receive(boards[at], chunks=chunks, **own).submission.system.team_id

    results = at_once(send)
    assert len({each for each in results if each != "one_team"}) == 1
    assert "one_team" in results


def test_workers_that_score_the_same_file_at_once_store_one_evaluation(people: BenchmarkCast) -> None:
    benchmark = people.relations()
    for run in range(4):
        people.submit(benchmark, LINES, run=str(run))
    at_once(lambda number: run_next("score"))
    assert set(Submission.objects.values_list("state", flat=True)) == {"scored"}
    evaluation = Evaluation.objects.get()
    assert evaluation.submissions.count() == 4
    assert PredictionFile.objects.count() == 1
    assert evaluation.scores.values("measure").distinct().count() == evaluation.scores.count()


def test_a_gold_revised_in_the_moment_a_run_is_stored_is_not_missed(people: BenchmarkCast) -> None:
    benchmark = people.relations()
    submission, setting = people.submit(benchmark, LINES), benchmark.settings.get()
    gold = [gold_sentence(line["id"], "Q1", "Q2", "born_in") for line in RELATION_GOLD]
    mended = freeze("mended", gold, by=people.olga)
    job = queue.claim("score")
    assert job is not None
    assert job.subject == submission.pk
    while_storing(job, lambda: creation.revise_setting(setting, test_set=mended, by=people.olga))
    while run_next("score"):
        pass
    assert [row.figures["accuracy"].mean for row in board(setting).rows] == [1.0]


@pytest.mark.parametrize("first_ends", ["scored", "failed"])
def test_runs_compared_while_another_of_the_team_ends_show_figures_of_one(
    people: BenchmarkCast, first_ends: str
) -> None:
    """They are scored again under another gold; the second one is stored while the job of the first ends."""
    labels = gold_labels(400)
    answers = wrong(labels, 0.5)
    repaired = next(name for name in answers if answers[name] != labels[name] == "born_in")
    benchmark = hidden_phase(people, labels)
    runs = [
        people.submit(benchmark, labels_file(lines), run=str(run))
        for run, lines in enumerate((answers, answers | {repaired: "born_in"}))
    ]
    while run_next("score"):
        pass
    other = freeze("other", gold_lines(labels | {"s0": "part_of"}), by=people.olga)
    creation.revise_setting(setting_of(benchmark), test_set=other, by=people.olga)
    jobs = {job.subject: job for job in (queue.claim("score"), queue.claim("score")) if job}
    first = jobs[runs[0].pk]
    if first_ends == "scored":
        store = scored(first)
        while_storing(jobs[runs[1].pk], lambda: transitions.complete(first, store))
    else:
        end = {"code": "worker_lost", "reason": "The worker process ended."}
        while_storing(jobs[runs[1].pk], lambda: transitions.fail(first, **end))
    while run_next("score"):
        pass
    shown = [
        each
        for run in runs
        for each in shown_scores.shown(Submission.objects.get(pk=run.pk), person=people.kim)
        if each.gold_sha256 == other.sha256
    ]
    figures = [{score.measure: score.value for score in each.scores} for each in shown]
    assert None not in figures[-1].values()
    if first_ends == "failed":
        assert [each.figures_of for each in shown] == [None]
    else:
        assert figures[0] == figures[1]
        assert [each.figures_of for each in shown].count(None) == 1
