"""Rescoring after settings are added or revised: scored runs keep their place."""

from __future__ import annotations

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.lease import Lease, Progress
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation, quotas, revision_effect, scoring_identity, versions
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, Line, freeze, gold_sentence
from tests.cast.replay import replayed
from workers.handlers.score import score
from workers.runner import run_next

LINES: list[Line] = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
SCORES: list[Line] = [{"id": line["id"], "scores": {"born_in": 0.5}} for line in RELATION_GOLD]
SPANS: list[Line] = [{"id": line["id"], "spans": [[0, 1, "PER"]]} for line in ENTITY_GOLD]
OTHERS = [gold_sentence(f"n{n}", f"P{n}", "Q2", "born_in") for n in range(3)]
MENDED = [gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], "born_in") for line in RELATION_GOLD]


def work() -> None:
    while run_next("score"):
        pass


def fresh(submission: Submission) -> Submission:
    return Submission.objects.get(pk=submission.pk)


def added(benchmark: Benchmark, test_set: TestSet, cast: BenchmarkCast, **fields: Any) -> Setting:
    fields = {"key": "two", "title": "two", "unit": "sentence", "main": "micro_f1"} | fields
    return creation.add_setting(benchmark, test_set=test_set, by=cast.olga, disclosure="open", **fields)


@replayed
def scored(cast: BenchmarkCast, lines: list[Line] = LINES, **fields: Any) -> tuple[Submission, Setting]:
    benchmark = cast.relations(**fields)
    submission = cast.submit(benchmark, lines)
    work()
    return fresh(submission), benchmark.settings.get()


# ---- what the file was checked against ----------------------------------------------------------
@pytest.mark.parametrize("lines", [LINES, SCORES])
def test_a_setting_on_other_sentences_leaves_scored_runs_as_they_are(
    cast: BenchmarkCast, lines: list[Line]
) -> None:
    submission, setting = scored(cast, lines)
    two = added(submission.benchmark, freeze("others", OTHERS, by=cast.olga), cast)
    work()
    assert fresh(submission).state == "scored"
    assert len(board(setting).rows) == 1
    assert not board(two).rows


@pytest.mark.parametrize("lines", [LINES, SCORES])
def test_under_a_gold_with_a_sentence_less_a_run_is_scored_without_it(
    cast: BenchmarkCast, lines: list[Line]
) -> None:
    submission, setting = scored(cast, lines)
    creation.revise_setting(setting, test_set=freeze("fewer", RELATION_GOLD[:5], by=cast.olga), by=cast.olga)
    work()
    assert fresh(submission).state == "scored"
    assert len(board(setting).rows) == 1
    newest = submission.evaluations.order_by("-pk").first()
    assert newest is not None
    assert newest.detail["counts"]["left_out"] == 1


def test_new_gold_states_by_api_which_runs_it_scores_again_and_begins_nothing(
    cast: BenchmarkCast, client: Client
) -> None:
    submission, setting = scored(cast, SCORES)
    fewer = freeze("fewer", RELATION_GOLD[:5], by=cast.olga)
    client.force_login(cast.olga)
    address = reverse("api-versions", args=[setting.benchmark.slug, "main"])
    sent = {"test_set": fewer.slug, "preview": True}
    effect = client.post(address, sent, content_type="application/json")
    assert (effect.status_code, effect.json()["scored_again"], effect.json()["left_out"]) == (200, 1, 0)
    setting.refresh_from_db()
    assert (setting.version, fresh(submission).state) == (1, "scored")


def test_new_gold_takes_as_many_statements_whatever_runs_there_are(cast: BenchmarkCast) -> None:
    """On SQLite all others wait while it begins; its preview reads the runs only after that."""
    mended, numbers, writes = freeze("mended", MENDED, by=cast.olga), [], []
    for runs in (1, 4):
        with transaction.atomic():
            submission, setting = scored(cast)
            for at in range(1, runs):
                cast.submit(submission.benchmark, LINES, run=str(at + 1))
            work()
            with CaptureQueriesContext(connection) as previewed:
                effect = revision_effect.of_revision(setting, test_set=mended, by=cast.olga)
            assert (effect.scored_again, effect.left_out) == (runs, 0)
            setting = submission.benchmark.settings.get()
            with CaptureQueriesContext(connection) as begun:
                creation.revise_setting(setting, test_set=mended, by=cast.olga)
            numbers.append((len(previewed), len(begun)))
            writes.append([query["sql"] for query in previewed if "jobs_job" in query["sql"]])
            assert {each.state for each in setting.benchmark.submissions.all()} == {"queued"}
            assert queue.due("score").count() == runs
            work()
            assert len(board(setting).rows) == 1
            transaction.set_rollback(True)
    assert all(many <= few for few, many in zip(*numbers, strict=True))  # fewer: something is cached by then
    assert writes == [[], []]


def test_under_a_gold_with_a_sentence_more_a_run_was_not_submitted(
    cast: BenchmarkCast, client: Client
) -> None:
    submission, setting = scored(cast, SCORES)
    more = freeze("more", [*RELATION_GOLD, OTHERS[0]], by=cast.olga)
    client.force_login(cast.olga)
    revise = reverse("setting-revise", args=[setting.benchmark.slug, "main"])
    shown = client.post(revise, {"test_set": more.pk, "do": "show"})
    assert "1 run of the board will not be on the new one" in shown.content.decode()
    creation.revise_setting(setting, test_set=more, by=cast.olga)
    work()
    assert fresh(submission).state == "scored"
    assert not board(setting).rows
    assert len(board(setting, version=1).rows) == 1
    assert [each.key for each in scoring_identity.not_covered(fresh(submission))] == ["main"]
    client.force_login(cast.kim)
    assert client.get(f"/api/v1/submissions/{submission.pk}/scores").json()["not_covered"] == ["main"]
    notice = client.get(f"/submissions/{submission.pk}/").context["notice"]
    assert notice.kind == "warn"
    assert "main" in notice.title


def test_a_newer_scorer_removes_no_score_of_a_run(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission, _ = scored(cast)
    monkeypatch.setattr(scoring_identity, "SCORER", "2.0")
    assert scoring_identity.not_covered(submission) == []


def test_documents_with_another_length_are_different_documents(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    setting = benchmark.settings.get()
    submission = cast.submit(benchmark, SPANS)
    work()
    longer = [*ENTITY_GOLD[:2], ENTITY_GOLD[2] | {"tokens": ["Bo", "once", "met", "Cy"]}]
    creation.revise_setting(
        setting,
        test_set=freeze("longer", longer, by=cast.olga, labels=["PER", "LOC"], kind="entities"),
        by=cast.olga,
    )
    work()
    assert fresh(submission).state == "scored"
    assert not board(setting).rows


def test_moving_the_dates_removes_no_run_from_the_board(cast: BenchmarkCast) -> None:
    submission, setting = scored(cast)
    Setting.objects.filter(pk=setting.pk).update(opens_at=timezone.now() + timedelta(days=1))
    creation.revise_setting(setting, test_set=freeze("mended", MENDED, by=cast.olga), by=cast.olga)
    work()
    assert fresh(submission).state == "scored"
    assert [row.figures["accuracy"].mean for row in board(setting).rows] == [1.0]


def test_a_gold_revised_while_a_run_is_queued_keeps_its_file_valid(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission, setting = cast.submit(benchmark, LINES), benchmark.settings.get()
    creation.revise_setting(setting, test_set=freeze("fewer", RELATION_GOLD[:5], by=cast.olga), by=cast.olga)
    work()
    assert fresh(submission).state == "scored"
    assert len(board(setting).rows) == 1


# ---- a re-scoring that does not end well ---------------------------------------------------------
def rescored(cast: BenchmarkCast, **fields: Any) -> tuple[Submission, Setting]:
    submission, setting = scored(cast, **fields)
    added(submission.benchmark, freeze("mended", MENDED, by=cast.olga), cast)
    assert fresh(submission).state == "queued"
    return fresh(submission), setting


def used(submission: Submission) -> list[int]:
    return [each.used for each in quotas.allowances(submission.benchmark, submission.system.team)]


def test_cancelling_a_rescoring_leaves_the_run_scored_and_counted(cast: BenchmarkCast) -> None:
    submission, setting = rescored(cast, per_day=1)
    submission_states.cancel(submission, by=cast.olga)
    assert fresh(submission).state == "scored"
    assert used(submission) == [1, 1, 0]
    assert [row.n for row in board(setting).rows] == [1]
    with pytest.raises(Conflict) as caught:
        cast.submit(submission.benchmark, LINES[::-1])
    assert caught.value.code == "run_taken"


@pytest.mark.parametrize("code", ["worker_lost", "missing_id", "gold_label"])
def test_a_failed_rescoring_leaves_the_run_scored_with_the_reason(cast: BenchmarkCast, code: str) -> None:
    submission, setting = rescored(cast)
    job = queue.claim("score")
    assert job is not None
    transitions.fail(job, code=code, reason="As it is.")
    updated = fresh(submission)
    assert (updated.state, updated.reason_code, updated.reason) == ("scored", code, "As it is.")
    assert [row.n for row in board(setting).rows] == [1]


def test_cancelling_a_rescoring_that_runs_leaves_the_run_scored(cast: BenchmarkCast) -> None:
    submission, _ = rescored(cast)
    job = queue.claim("score")
    assert job is not None
    queue.request_cancel(job)
    transitions.cancel(job)
    assert fresh(submission).state == "scored"


def test_a_run_cancelled_before_scoring_is_on_no_board(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LINES)
    submission_states.cancel(submission, by=cast.kim)
    assert fresh(submission).state == "cancelled"
    assert not board(benchmark.settings.get()).rows


def test_rescoring_does_not_count_among_waiting_runs(cast: BenchmarkCast) -> None:
    submission, _ = rescored(cast, at_once=1)
    assert used(submission) == [1, 1, 0]
    assert cast.submit(submission.benchmark, LINES, run="2").state == "queued"


# ---- a gold that changes while a run is being scored ---------------------------------------------
@pytest.mark.parametrize("change", ["revised", "added"])
def test_changes_during_scoring_are_scored_afterwards(cast: BenchmarkCast, change: str) -> None:
    benchmark = cast.relations()
    submission, setting = cast.submit(benchmark, LINES), benchmark.settings.get()
    job = queue.claim("score")
    assert job is not None
    with Lease(job) as lease:
        store = score(submission.pk, Progress(lease))
    mended = freeze("mended", MENDED, by=cast.olga)
    if change == "added":
        setting = added(benchmark, mended, cast)
    else:
        creation.revise_setting(setting, test_set=mended, by=cast.olga)
    transitions.complete(job, store)
    assert fresh(submission).state == "queued"
    work()
    assert fresh(submission).state == "scored"
    assert [row.figures["accuracy"].mean for row in board(setting).rows] == [1.0]


def test_a_run_withdrawn_during_scoring_is_not_scored_again(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LINES)
    job = queue.claim("score")
    assert job is not None
    with Lease(job) as lease:
        store = score(submission.pk, Progress(lease))
    added(benchmark, freeze("mended", MENDED, by=cast.olga), cast)
    Submission.objects.filter(pk=submission.pk).update(withdrawn_at=timezone.now())
    transitions.complete(job, store)
    assert fresh(submission).state == "scored"


def test_settings_that_no_run_covers_queue_nothing(cast: BenchmarkCast) -> None:
    submission, setting = scored(cast)
    versions.score_anew(setting)
    work()
    added(submission.benchmark, freeze("others", OTHERS, by=cast.olga), cast)
    assert not queue.due("score").exists()


# ---- the switch of a board to a new version ------------------------------------------------------
@replayed
def revised(cast: BenchmarkCast) -> Setting:
    """Three scored systems, of which none is scored under version 2 yet."""
    benchmark = cast.relations()
    for name, label in (("A", "born_in"), ("B", "works_for"), ("C", "part_of")):
        cast.submit(benchmark, [line | {"label": label} for line in LINES], system=name)
    work()
    setting = benchmark.settings.get()
    creation.revise_setting(setting, test_set=freeze("mended", MENDED, by=cast.olga), by=cast.olga)
    return benchmark.settings.get()


def shown(setting: Setting, **fields: Any) -> tuple[int, int, tuple[int, int] | None]:
    """Version and systems of the board, and the progress of a newer version."""
    result = board(setting, **fields)
    rescoring = result.rescoring
    progress = (rescoring.scored, rescoring.total) if rescoring else None
    return result.version.number, len(result.rows), progress


def test_a_board_switches_to_a_new_version_when_every_run_is_scored(cast: BenchmarkCast) -> None:
    setting = revised(cast)
    states = [shown(setting)]
    while run_next("score"):
        states.append(shown(setting))
    assert states == [(1, 3, (0, 3)), (1, 3, (1, 3)), (1, 3, (2, 3)), (2, 3, None)]


def test_a_board_that_is_read_while_the_last_run_is_stored_has_every_system(cast: BenchmarkCast) -> None:
    setting = revised(cast)
    for _ in range(2):
        run_next("score")
    queries = Storing(before=-1)
    with connection.execute_wrapper(queries):
        assert shown(setting)[:2] == (1, 3)
    read = []
    for at in range(queries.count):
        with transaction.atomic(), connection.execute_wrapper(Storing(before=at)):
            read.append(shown(setting)[:2])
            transaction.set_rollback(True)
    assert set(read) == {(1, 3), (2, 3)}


class Storing:
    """Counts queries, and stores the next score before one of them."""

    def __init__(self, *, before: int) -> None:
        self.before, self.count, self.busy = before, 0, False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self.busy:
            self.count += 1
            if self.count == self.before + 1:
                self.busy = True
                assert run_next("score")
                self.busy = False
        return execute(sql, params, many, context)


def test_every_form_of_the_board_shows_the_complete_version(cast: BenchmarkCast, client: Client) -> None:
    setting = revised(cast)
    run_next("score")
    body = client.get("/boards/rel/board.json").json()
    assert (body["version"], len(body["rows"])) == (1, 3)
    assert body["rescoring"] == {"version": 2, "scored": 1, "total": 3}
    lines = client.get("/boards/rel/board.csv").content.decode().splitlines()
    assert {row["version"] for row in csv.DictReader(lines)} == {"1"}
    page = client.get("/boards/rel/").content.decode()
    assert "Version 2: 1 of 3 scored." in page
    client.force_login(cast.kim)
    assert client.get("/api/v1/benchmarks/rel/board").json()["version"] == 1
    assert shown(setting, version=2) == (2, 1, (1, 3))
    assert "This board is incomplete." in client.get("/boards/rel/?version=2").content.decode()


def test_a_submission_that_comes_meanwhile_does_not_delay_the_switch(cast: BenchmarkCast) -> None:
    setting = revised(cast)
    for _ in range(3):
        run_next("score")
    cast.submit(setting.benchmark, LINES[::-1], system="D")
    assert shown(setting) == (2, 3, None)


def test_a_submission_that_comes_meanwhile_is_not_counted_in_the_progress(cast: BenchmarkCast) -> None:
    setting = revised(cast)
    cast.submit(setting.benchmark, LINES[::-1], system="D")
    assert shown(setting) == (1, 3, (0, 3))
    work()
    assert shown(setting) == (2, 4, None)


@pytest.mark.parametrize("end", ["withdraw", "cancel", "fail"])
def test_a_run_that_ends_otherwise_does_not_delay_the_switch(cast: BenchmarkCast, end: str) -> None:
    setting = revised(cast)
    job = queue.claim("score")
    assert job is not None
    submission = Submission.objects.get(job=job)
    if end == "withdraw":
        submission_states.withdraw(submission, by=cast.kim)
    elif end == "cancel":
        queue.request_cancel(job)
        transitions.cancel(job)
    else:
        transitions.fail(job, code="file_lost", reason="Lost.")
    assert shown(setting)[0] == 1
    work()
    assert shown(setting) == (2, 2, None)


def test_a_third_version_replaces_the_last_complete_one(cast: BenchmarkCast) -> None:
    setting = revised(cast)
    run_next("score")
    fewer = freeze("fewer", RELATION_GOLD[:5], by=cast.olga)
    creation.revise_setting(setting, test_set=fewer, by=cast.olga)
    setting.refresh_from_db()
    states = [shown(setting)]
    while run_next("score"):
        states.append(shown(setting))
    assert {state[0] for state in states[:-1]} == {1}
    assert states[-1] == (3, 3, None)
