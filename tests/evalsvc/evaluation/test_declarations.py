"""A row shows what was declared with its own runs; other runs of its system change nothing there."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.models import Benchmark, Setting, Submission, System
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.evalsvc.evaluation.test_leaderboard import answers
from workers.runner import run_next

NONE, SECRET = {"pretraining": "none"}, {"pretraining": "secretbert", "code": "https://example.org/secret"}


@pytest.fixture
def phases(cast: BenchmarkCast) -> Benchmark:
    """An open dev phase with a run that declares nothing special, and a sealed test phase."""
    benchmark = cast.relations()
    benchmark.settings.update(phase="dev")
    test = freeze("test", RELATION_GOLD[::-1], by=cast.olga)
    fields: dict[str, Any] = {"title": "Test", "unit": "sentence", "main": "micro_f1", "phase": "test"}
    ends = timezone.now() + timedelta(days=9)
    creation.add_setting(
        benchmark, key="sea", test_set=test, by=cast.olga, sealed=True, closes_at=ends, **fields
    )
    send(cast, benchmark, 4, run="1", tags=NONE)
    return benchmark


def send(cast: BenchmarkCast, benchmark: Benchmark, right: int, **fields: Any) -> Submission:
    submission = cast.submit(benchmark, answers(right), **{"phase": "dev"} | fields)
    while run_next("score"):
        pass
    return submission


def tags(benchmark: Benchmark, key: str = "main") -> dict[str, Any]:
    [row] = leaderboard.board(benchmark.settings.get(key=key)).rows
    return dict(row.declared.tags)


def test_a_sealed_run_changes_no_tags_that_others_see(
    client: Client, cast: BenchmarkCast, phases: Benchmark
) -> None:
    sealed = cast.submit(phases, answers(5), run="2", phase="test", tags=SECRET)
    assert tags(phases) == NONE
    while run_next("score"):
        pass
    assert tags(phases) == NONE
    address = reverse("board", args=["rel"])
    assert "secret" not in client.get(address).content.decode()
    for tag, found in (("pretraining: none", 1), ("secretbert", 0), ("code", 0)):
        assert len(client.get(address, {"tag": tag}).context["table"].rows) == found
    client.force_login(cast.lars)
    assert "secret" not in client.get("/api/v1/benchmarks/rel/board?setting=main").content.decode()
    Setting.objects.filter(key="sea").update(closes_at=timezone.now() - timedelta(hours=1))
    assert tags(phases, "sea") == SECRET
    assert tags(phases) == NONE | {"code": SECRET["code"]}  # a link is of the system
    submission_states.withdraw(sealed, by=cast.olga)
    assert tags(phases) == NONE


def test_a_run_that_waits_or_was_cancelled_or_withdrawn_changes_no_tags(
    cast: BenchmarkCast, phases: Benchmark
) -> None:
    waiting = cast.submit(phases, answers(5), run="2", phase="dev", tags=SECRET)
    assert tags(phases) == NONE
    submission_states.cancel(waiting, by=cast.kim)
    assert tags(phases) == NONE
    scored = send(cast, phases, 6, run="3", tags=SECRET)
    assert tags(phases) == SECRET
    send(cast, phases, 3, run="4")  # declares nothing
    assert tags(phases) == SECRET
    submission_states.withdraw(scored, by=cast.kim)
    assert tags(phases) == NONE


def test_runs_of_earlier_versions_have_the_tags_of_their_system(
    cast: BenchmarkCast, phases: Benchmark
) -> None:
    send(cast, phases, 3, system="Tree", run="1")
    Submission.objects.update(tags={})
    System.objects.filter(name="Net").update(tags={"extra": ["wiki", 7]})
    import_module("evalsvc.evaluation.migrations.0039_tags_of_runs").copy_tags(apps, None)
    of_runs = dict(Submission.objects.values_list("system__name", "tags"))
    assert of_runs == {"Net": {"extra": ["wiki", 7]}, "Tree": {}}
