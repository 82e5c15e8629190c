"""The demo as it stands after the first start, also when that start was cut short and made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.adjudication import decisions
from annotation.models import Answer, Project
from annotation.queue import votes
from annotation.testset import TestSet
from evalsvc.demo import SEED, job_wait, load_state
from evalsvc.demo.annotators import relation_votes
from evalsvc.demo.corpus import relation_corpus
from evalsvc.evaluation import leaderboard
from evalsvc.evaluation.models import Setting, Submission
from tests.cast.basics import run_job


class PowerGone(Exception):
    """The first start ends here."""


def cut_after(times: int, real: Callable[..., Any]) -> Callable[..., Any]:
    calls = iter(range(times))

    def cut(*args: Any, **named: Any) -> Any:
        if next(calls, None) is None:
            raise PowerGone
        return real(*args, **named)

    return cut


@pytest.fixture
def folder(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(job_wait, "PATIENCE", -1)  # no worker is there to take the jobs
    return tmp_path


def order(benchmark: str, key: str, measure: str) -> list[str]:
    """Systems on a board, the best by the mean of this measure first."""
    setting = Setting.objects.get(benchmark__slug=benchmark, key=key)
    return [row.system.name for row in leaderboard.board(setting, measure).rows]


def swapped(one: list[str], other: list[str]) -> set[frozenset[str]]:
    """Pairs of systems that stand in opposite order."""
    pairs = [
        frozenset((a, b))
        for at, a in enumerate(one)
        for b in one[at + 1 :]
        if other.index(a) > other.index(b)
    ]
    return set(pairs)


def test_a_start_that_was_cut_short_is_taken_up_and_ends_as_promised(
    sqlite: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_state.is_wanted()
    for module, name, times in ((votes, "answer", 150), (decisions, "decide", 4)):
        with monkeypatch.context() as cut:
            cut.setattr(module, name, cut_after(times, getattr(module, name)))
            with pytest.raises(PowerGone):
                call_command("demo", verbosity=0)
        assert load_state.is_wanted()
    call_command("demo")
    assert not load_state.is_wanted()

    assert Counter(Project.objects.values_list("slug", "kind")) == {
        ("harbour-news", "relations"): 1,
        ("harbour-names", "entities"): 1,
    }
    news, names = Project.objects.get(slug="harbour-news"), Project.objects.get(slug="harbour-names")
    states = Counter(news.items.live().values_list("state", flat=True))
    assert (states["open"], states["disputed"], states["adjudicated"]) == (22, 9, 36)
    assert names.items.live().count() == 140
    assert Answer.objects.filter(item__project=news).count() == len(
        list(relation_votes(relation_corpus(SEED), seed=SEED))
    )
    gold = TestSet.objects.get(origin="annotated", project=news)
    assert (gold.state, gold.rows) == ("frozen", 317 - 22 - 9)

    for submission in Submission.objects.filter(state=Submission.State.QUEUED):
        run_job("score", submission.pk)
    assert Counter(Submission.objects.values_list("state", flat=True)) == {"scored": 30}
    runs = Counter(Submission.objects.values_list("system__name", flat=True))
    assert len(runs) == 6
    assert set(runs.values()) == {5}
    board = "harbour-relations"
    assert swapped(order(board, "held-out", "ap"), order(board, "manual-bag", "ap"))
    assert swapped(order(board, "manual-sentence", "micro_f1"), order(board, "manual-sentence", "macro_f1"))
    assert swapped(
        order("harbour-names", "spans", "conll_micro_f1"), order("harbour-names", "spans", "conll_macro_f1")
    )
