"""Large boards are stored by a job, and never show what the rules hold back."""

from __future__ import annotations

from datetime import timedelta
from math import fsum
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards import figures, leaderboard, reading, stored_boards
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.comparison import board_tests, compared
from evalsvc.evaluation.disclosure.policy import ShownValue
from evalsvc.evaluation.models import Setting, StoredBoard, Submission
from evalsvc.evaluation.pages.overviews import Summary, overviews
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.periodic import look
from tests.evalsvc.evaluation.test_leaderboard import answers, scored
from workers.runner import run_next


@pytest.fixture
def setting(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """A setting with three systems and four runs, large enough to be stored."""
    monkeypatch.setattr(stored_boards, "LARGE", 1)
    monkeypatch.setattr(stored_boards, "SHARE_OF_TIME", 0)
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 3, 5)
    scored(cast, benchmark, "Tree", 4)
    scored(cast, benchmark, "Rules", 5)
    return benchmark.settings.get()


def store() -> int:
    """Queue what is outdated, and compute it; return the number of boards."""
    look(stored_boards)
    queued = Job.objects.filter(kind=stored_boards.KIND, state=Job.State.QUEUED).count()
    while run_next("ingest"):
        pass
    return queued


def content(board: Board) -> list[Any]:
    rows = [(row.rank, row.system, row.runs, row.figures, row.saw_gold) for row in board.rows]
    values = {key: board.figures.by_measure.run_values(key) for key in board.columns}
    return [board.order_by, board.version, board.rescoring, board.held_back, board.measures, rows, values]


def summary(setting: Setting) -> Summary:
    return overviews([setting.benchmark])[0].summary


def test_a_stored_board_equals_the_computed_one_for_every_reader(
    cast: BenchmarkCast, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for disclosure in ("open", "hidden"):
        Setting.objects.update(disclosure=disclosure)
        setting = Setting.objects.get()
        computed = [content(leaderboard.board(setting, person=person)) for person in (None, cast.olga)]
        assert (computed[0] == computed[1]) == (disclosure == "open")
        assert store() == 1
        with monkeypatch.context() as patch:
            patch.delattr(leaderboard, "read_values")  # nothing is computed
            assert [
                content(leaderboard.board(setting, person=each)) for each in (None, cast.olga)
            ] == computed


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_means_that_differ_in_the_last_digits_of_a_float_are_equal(higher_is_better: bool) -> None:
    means = (0.1 + 0.2, 0.299, 0.3, None)
    assert means[0] != means[2]
    column = {pk: figures.RunStatistics(mean, None, 1, 1, mean, mean) for pk, mean in enumerate(means)}
    reading.make_equal(column)
    assert [each.mean for each in column.values()] == [0.3, 0.299, 0.3, None]
    order, ranks = figures.MeasureFigures(column).ranked(higher_is_better=higher_is_better)
    assert ranks == ({0: 1, 2: 1, 1: 3} if higher_is_better else {1: 1, 0: 2, 2: 2})
    assert order == ([0, 2, 1] if higher_is_better else [1, 0, 2])


def test_a_mean_of_runs_has_no_digits_of_a_float_behind_it() -> None:
    assert fsum((0.9, 0.9, 0.6)) / 3 != 0.8
    shown = [ShownValue("micro_f1", value) for value in (0.9, 0.9, 0.6)]
    assert reading.run_statistics(shown).mean == 0.8


def test_runs_that_differ_in_the_last_digits_of_a_float_have_no_deviation() -> None:
    values = (0.9 + 2e-16, 0.9, 0.9)
    assert len({*values}) == 2
    of_runs = reading.run_statistics([ShownValue("macro_f1", value) for value in values])
    assert (of_runs.mean, of_runs.sd) == (0.9, 0.0)
    assert reading.run_statistics([ShownValue("macro_f1", value) for value in (0.9, 0.9 + 1e-6)]).sd


@pytest.mark.parametrize("change", ["run", "withdrawal"])
def test_an_outdated_board_says_so_until_it_is_computed_again(
    cast: BenchmarkCast, setting: Setting, change: str
) -> None:
    store()
    before = leaderboard.board(setting)
    assert before.computed_at is None
    if change == "run":
        scored(cast, setting.benchmark, "Best", 6)
    else:
        submission_states.withdraw(setting.benchmark.submissions.get(system__name="Rules"), by=cast.kim)
    outdated = leaderboard.board(setting)
    assert content(outdated) == content(before)
    assert outdated.computed_at is not None
    assert store() == 1
    after = leaderboard.board(setting)
    assert after.computed_at is None
    assert [row.system.name for row in after.rows] != [row.system.name for row in before.rows]


@pytest.mark.parametrize("comes", [False, True])
def test_a_board_that_was_overtaken_while_it_was_computed_says_so(
    cast: BenchmarkCast, setting: Setting, comes: bool
) -> None:
    store_computed = leaderboard.stored_by_job(setting)
    if comes:
        scored(cast, setting.benchmark, "Best", 6)
    store_computed()
    assert (leaderboard.board(setting).computed_at is not None) == comes


def test_a_summary_of_an_outdated_board_is_replaced_with_the_board(
    cast: BenchmarkCast, setting: Setting
) -> None:
    """The rows don't change when the board is computed again: they did before."""
    store()
    before = summary(setting)
    scored(cast, setting.benchmark, "Best", 6)
    assert summary(setting) == before
    store()
    assert summary(setting).front.startswith("“Best”")


@pytest.mark.parametrize("state", ["queued", "invalid", "failed"])
def test_a_run_without_scores_leaves_the_board_up_to_date(
    cast: BenchmarkCast, setting: Setting, state: str
) -> None:
    """Else the board would tell everybody that somebody's file was refused."""
    store()
    run = cast.submit(setting.benchmark, answers(2), system="Secret")
    Submission.objects.filter(pk=run.pk).update(state=state)
    Job.objects.filter(kind="score", state="queued").delete()
    assert leaderboard.board(setting).computed_at is None
    assert store() == 0


def test_a_run_in_a_sealed_phase_leaves_the_board_beside_it_up_to_date(
    cast: BenchmarkCast, setting: Setting
) -> None:
    Setting.objects.update(phase="dev")
    values = {"title": "Test", "unit": "sentence", "main": "accuracy", "phase": "test", "sealed": True}
    values |= {"test_set": setting.test_set, "closes_at": timezone.now() + timedelta(days=1)}
    creation.add_setting(setting.benchmark, key="test", by=cast.olga, **values)
    setting = Setting.objects.get(phase="dev")
    store()
    run = cast.submit(setting.benchmark, answers(2), system="Secret", phase="test")
    run_next("score")
    assert run.evaluations.exists()
    assert leaderboard.board(setting).computed_at is None
    submission_states.withdraw(run, by=cast.kim)
    assert leaderboard.board(setting).computed_at is None


@pytest.mark.parametrize("rules", [{"disclosure": "hidden"}, {"measures": ["micro_f1"]}])
def test_figures_from_before_a_change_of_the_rules_are_not_shown(
    setting: Setting, rules: dict[str, Any]
) -> None:
    store()
    exact = content(leaderboard.board(setting))
    Setting.objects.update(**rules)
    changed = leaderboard.board(Setting.objects.get())
    StoredBoard.objects.all().delete()
    assert content(changed) == content(leaderboard.board(Setting.objects.get())) != exact


def test_a_board_is_queued_once_and_only_if_large_and_outdated(
    cast: BenchmarkCast, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        look(stored_boards)
    assert Job.objects.filter(kind=stored_boards.KIND).count() == 1
    assert store() == 1
    assert store() == 0
    StoredBoard.objects.all().delete()
    monkeypatch.setattr(stored_boards, "LARGE", 5)
    assert store() == 0


def test_a_page_reads_on_in_a_board_that_is_replaced_meanwhile(cast: BenchmarkCast, setting: Setting) -> None:
    store()
    expected, begun = content(leaderboard.board(setting)), leaderboard.board(setting)
    for right in (6, 2):
        scored(cast, setting.benchmark, f"New {right}", right)
    store()
    assert content(begun) == expected
    assert len(leaderboard.board(setting).rows) == 5
    assert StoredBoard.objects.count() == 2


def test_a_failed_board_is_not_queued_again_at_once(cast: BenchmarkCast, setting: Setting) -> None:
    look(stored_boards)
    Job.objects.filter(kind=stored_boards.KIND).update(state="failed", ended_at=Now())
    assert store() == 0
    Job.objects.filter(kind=stored_boards.KIND).update(ended_at=Now() - timedelta(hours=2))
    assert store() == 1


def test_a_board_that_takes_long_is_computed_for_a_share_of_the_time(
    cast: BenchmarkCast, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    store()
    StoredBoard.objects.update(seconds=60.0)
    monkeypatch.setattr(stored_boards, "SHARE_OF_TIME", 10)
    scored(cast, setting.benchmark, "Best", 6)
    assert store() == 0
    StoredBoard.objects.update(seconds=0.0)
    assert store() == 1


def test_a_page_of_a_stored_board_takes_thirteen_queries_also_beside_other_settings(
    client: Client, cast: BenchmarkCast, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "REPLICATES", 99)
    for key, unit, main in (("items", "sentence", "macro_f1"), ("bags", "bag", "micro_f1")):
        values = {"title": key, "test_set": setting.test_set, "unit": unit, "main": main}
        creation.add_setting(setting.benchmark, key=key, by=cast.olga, disclosure="open", **values)
    while run_next("score"):
        pass
    assert store() == 3
    look(board_tests)
    while run_next("heavy"):
        pass
    url = reverse("board", args=[setting.benchmark.slug])
    for reader, most in (
        (None, 10),
        (cast.kim, 13),
        (cast.olga, 13),
    ):  # session, account, roles and own views
        if reader:
            client.force_login(reader)
        client.get(url)  # sizes of gold are read once per process
        figures._columns.clear()
        stored_boards._runs.clear()
        pages = []
        for kept in (0, 1):  # columns that the process showed before
            with CaptureQueriesContext(connection) as queries:
                pages.append(client.get(url).content.decode().partition("<table")[2])
            assert len(queries) <= most - kept, [query["sql"][:90] for query in queries]
        assert pages[0] == pages[1]
