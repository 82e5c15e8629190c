"""Runs of teams whose members labelled or adjudicated the gold are marked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsvc.core.accounts.models import Departure, User
from evalsvc.core.accounts.teams import add_member, remove_member
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.submissions import gold_exposure
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
MENDED = [gold_sentence(line["id"], "Q1", "Q2", "born_in") for line in RELATION_GOLD]


def work() -> None:
    while run_next("score"):
        pass


def labelled_by(cast: BenchmarkCast, *people: User) -> tuple[Benchmark, Setting]:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga, people=[person.pk for person in people])
    benchmark = cast.benchmark(settings=[("main", gold, "sentence", "micro_f1")])
    return benchmark, benchmark.settings.get()


def marks(setting: Setting) -> list[bool]:
    return [row.saw_gold for row in board(setting).rows]


def test_a_later_gold_marks_runs_of_its_annotators_teams(cast: BenchmarkCast) -> None:
    benchmark, setting = labelled_by(cast)
    submission = cast.submit(benchmark, LINES)
    cast.submit(benchmark, LINES[::-1], team=cast.lugworm, by=cast.lars)
    work()
    assert marks(setting) == [False, False]
    mended = freeze("mended", MENDED, by=cast.olga, people=[cast.kim.pk])
    creation.revise_setting(setting, test_set=mended, by=cast.olga)
    work()
    assert {row.system.team_id: row.saw_gold for row in board(setting).rows} == {
        cast.kelpie.pk: True,
        cast.lugworm.pk: False,
    }
    assert Submission.objects.get(pk=submission.pk).saw_gold


def test_an_annotator_who_joins_a_team_later_marks_its_runs(cast: BenchmarkCast, client: Client) -> None:
    nora = User.objects.create_user("nora")
    benchmark, setting = labelled_by(cast, nora)
    submission = cast.submit(benchmark, LINES)
    work()
    assert marks(setting) == [False]
    add_member(cast.kelpie, user=nora, by=cast.kim)
    assert marks(setting) == [True]
    client.force_login(cast.kim)
    assert (
        "labelled or adjudicated this gold" in client.get(f"/submissions/{submission.pk}/").content.decode()
    )
    body: dict[str, Any] = client.get(f"/api/v1/benchmarks/{benchmark.slug}/board").json()
    assert [row["saw_gold"] for row in body["rows"]] == [True]


def test_an_annotator_who_left_before_the_run_still_marks_it(cast: BenchmarkCast) -> None:
    nora = User.objects.create_user("nora")
    add_member(cast.kelpie, user=nora, by=cast.kim)
    benchmark, setting = labelled_by(cast, nora)
    remove_member(cast.kelpie, user=nora, by=nora)
    assert cast.submit(benchmark, LINES).saw_gold
    work()
    assert marks(setting) == [True]


def test_an_annotator_who_left_before_the_gold_existed_marks_nothing(cast: BenchmarkCast) -> None:
    nora = User.objects.create_user("nora")
    add_member(cast.kelpie, user=nora, by=cast.kim)
    remove_member(cast.kelpie, user=nora, by=nora)
    Departure.objects.update(at=timezone.now() - timedelta(hours=1))
    benchmark, setting = labelled_by(cast, nora)
    assert not cast.submit(benchmark, LINES).saw_gold
    work()
    assert marks(setting) == [False]


@pytest.mark.parametrize("lines", [1, 2])
def test_board_queries_do_not_grow_with_the_number_of_teams(
    cast: BenchmarkCast, lines: int, django_assert_num_queries: Any
) -> None:
    benchmark, _ = labelled_by(cast, cast.kim)
    gold = benchmark.settings.get().test_set
    with django_assert_num_queries(2):
        assert gold_exposure.teams_that_saw([gold] * lines) == {cast.kelpie.pk}
