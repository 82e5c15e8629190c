"""The loaded demo, compared by digest, also after interrupted loads."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.adjudication import decisions
from annotation.models import Item
from annotation.queue import votes
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.models import Job
from evalsvc.demo import labelling, loader
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.comparison import board_tests
from evalsvc.evaluation.models import Score, Setting, Submission
from evalsvc.evaluation.reported import shown
from tests.cast.basics import run_job
from tests.cast.periodic import look

# Of names: from the build that gave the hidden benchmark sentences of its own; the rest from the one before.
TEST_SETS = {
    "harbour-news-names-1-0": "e811607eea0ff6ad51d282665a6a6674c46edd69b217419b39ccb5c35567a9d3",
    "harbour-news-names-of-the-hidden-test-1-0": (
        "0cef6142f5945374098406aa50dd71c7245d62e6949b5e723c841c1868fcac34"
    ),
    "harbour-news-names-and-relations-1-0": (
        "8e350b3bc7fc7aa5c033d4d4c3a25aecaed98ed8717866244ce7af11f56bfa86"
    ),
    "harbour-news-relations-1-0": "05fddc7dfcb245ad97ca4c97a9dcea99c57fae0677f11aff2080220badfda3dc",
    "harbour-news-relations-1-1": "7a644d0be5fc98cf51ab1f1a06b3903fca6b7571c686c47dda9522c232915e3c",
    "harbour-news-relations-1-1-source": "517201f60094f26fb3d13ded7f4c088b0214ed4e67f5ff1e8201fd010322925c",
    "harbour-news-relations-1-0-source": "517201f60094f26fb3d13ded7f4c088b0214ed4e67f5ff1e8201fd010322925c",
}
ITEMS = "1f62bcab3f8e2bc80d4ee47ccf6162d5eccaef8457e76adf7d7b4801037bd2e4"
FIGURES = "d4f232c816996e5fbb2fac26646d68157ab63f9f11ba07501706d6bcb8b1bbd3"


class PowerCut(Exception):
    """Ends a load before its end."""


def cut_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    remaining = iter(range(calls))

    def call(*args: Any, **named: Any) -> Any:
        if next(remaining, None) is None:
            raise PowerCut
        return function(*args, **named)

    return call


def digest(rows: Iterable[tuple[Any, ...]]) -> str:
    return hashlib.sha256(json.dumps(sorted(map(list, rows))).encode()).hexdigest()


def ranking(benchmark: str, key: str, measure: str) -> list[str]:
    """Systems by the mean of this measure, best first."""
    setting = Setting.objects.get(benchmark__slug=benchmark, key=key)
    return [row.system.name for row in leaderboard.board(setting, measure).rows]


def check_errors_of_spans() -> None:
    """The open gold of names is no secret elsewhere, so its errors are shown."""
    reader, counts = Client(), []
    reader.force_login(User.objects.get(username="mirela"))
    for board in ("harbour-names", "harbour-names-hidden"):
        counts.append(len(reader.get(f"/boards/{board}/errors/").context.get("shown", ())))
    assert counts == [20, 0]


def check_corrected(setting: Setting) -> None:
    """A second gold moves figures; of the reversals tests confirm some, and one not."""
    assert setting.version == 2
    board = leaderboard.board(setting)
    assert (board.version.number, [row.n for row in board.rows]) == (2, [5, 5, 5])
    before = leaderboard.board(setting, version=1)
    means = [[row.figures["micro_f1"].mean for row in each.rows] for each in (before, board)]
    assert means[0] != means[1]
    look(board_tests)
    for subject in Job.objects.filter(kind=board_tests.KIND).values_list("subject", flat=True):
        run_job(board_tests.KIND, subject)
    lead = Client().get("/boards/harbour-relations/").context["reversals_lead"]
    assert lead == "7 reversals of 3 pairs by shown digits. For 6 of them tests confirm both orders."
    verdicts = [check.verdict for row in shown.reported(setting, None).checks.values() for check in row]
    assert verdicts == ["possible", "impossible", "undecidable", "undecidable"]


def test_an_interrupted_load_is_resumed_and_ends_with_the_same_demo(
    sqlite: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(labelling, "WORKER_SECONDS", -1)  # no worker is running
    assert loader.is_wanted()
    for module, name, calls in ((votes, "answer", 150), (decisions, "decide", 4)):
        with monkeypatch.context() as cut:
            cut.setattr(module, name, cut_after(calls, getattr(module, name)))
            with pytest.raises(PowerCut):
                call_command("demo", verbosity=0)
        assert loader.is_wanted()
    call_command("demo")
    assert not loader.is_wanted()
    assert Job.objects.filter(kind="agreement").count() == 4

    assert dict(TestSet.objects.values_list("slug", "sha256")) == TEST_SETS
    frozen = Item.objects.exclude(batch__filename__in=("harbour-names-2.jsonl", "harbour-joint.jsonl"))
    assert digest(frozen.values_list("project__slug", "external_id", "state", "pattern")) == ITEMS
    others = Item.objects.exclude(pk__in=frozen).values_list("project__kind", "state")
    assert Counter(others) == {
        ("entities", "open"): 8, ("entities", "settled"): 2, ("entities", "disputed"): 2,
        ("joint", "open"): 6, ("joint", "settled"): 40, ("joint", "disputed"): 2,
    }  # fmt: skip

    for submission in Submission.objects.filter(state=Submission.State.QUEUED):
        run_job("score", submission.pk)
    assert Counter(Submission.objects.values_list("system__name", "state")) == {
        **{(name, "scored"): 5 for name in ("Markers", "Prompted", "Memory")},
        **{(name, "scored"): 7 for name in ("Tagger", "Reader", "Gazetteer")},
        **{(name, "scored"): 3 for name in ("Cascade", "Joiner", "Patterns")},
    }
    check_errors_of_spans()
    hidden = leaderboard.board(Setting.objects.get(disclosure="hidden"))
    assert hidden.held_back
    assert [row.n for row in hidden.rows] == [2, 2, 2]
    assert Score.objects.filter(measure="own_organisation-words_v1", value__gt=0).count() == 15
    relations, names = "harbour-relations", "harbour-names"
    check_corrected(Setting.objects.get(benchmark__slug=relations, key="manual-sentence"))
    figures = Score.objects.exclude(evaluation__setting__disclosure="hidden")
    figures = figures.exclude(evaluation__gold_sha256=TEST_SETS["harbour-news-relations-1-1"])
    figures = figures.exclude(measure__startswith="own_")
    figures = figures.exclude(evaluation__setting__benchmark__task="joint").values_list(
        "evaluation__submissions__system__name",
        "evaluation__submissions__run",
        "evaluation__setting__key",
        "measure",
        "value",
        "reason",
    )
    rounded = [
        (*names, str(value if value is None else round(value, 9)), reason)
        for *names, value, reason in figures
    ]
    assert digest(rounded) == FIGURES
    assert ranking(relations, "held-out", "ap") != ranking(relations, "manual-bag", "ap")
    assert ranking(relations, "manual-sentence", "micro_f1") != ranking(
        relations, "manual-sentence", "macro_f1"
    )
    assert ranking(names, "spans", "conll_micro_f1") != ranking(names, "spans", "conll_macro_f1")
    joint = [ranking("harbour-joint", "texts", key) for key in ("relation_strict_micro_f1", "conll_micro_f1")]
    assert joint == [["Joiner", "Patterns", "Cascade"], ["Cascade", "Joiner", "Patterns"]]
