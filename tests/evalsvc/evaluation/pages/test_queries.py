"""Pages that list boards or runs take as many queries for many as for a few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import (
    NearDuplicate,
    PredictionFile,
    SettingVersion,
    Submission,
    System,
)
from evalsvc.evaluation.pages import overviews
from tests.cast.benchmarks import BenchmarkCast, freeze
from tests.evalsvc.evaluation.disclosure.phase import gold_labels, gold_lines

KINDS: dict[str, dict[str, Any]] = {
    "open": {"disclosure": "open"},
    "hidden": {"disclosure": "hidden", "measures": ["micro_f1", "micro_precision"]},
    "ladder": {"disclosure": "hidden", "ladder": 0.01},
}


def add_boards(cast: BenchmarkCast, golds: tuple[TestSet, TestSet], numbers: Iterable[int]) -> None:
    """Boards of version 2 with an open, a hidden and a laddered setting, and a near-duplicate."""
    for number in numbers:
        benchmark = cast.benchmark(f"b{number}")
        keys = list(KINDS)[number % 3 :] + list(KINDS)[: number % 3]
        for key in keys:
            setting = creation.add_setting(
                benchmark, key=key, title=key, test_set=golds[0], unit="sentence", main="micro_f1",
                by=cast.olga, **KINDS[key],
            )  # fmt: skip
            creation.revise_setting(setting, test_set=golds[1], by=cast.olga)
        system = System.objects.create(benchmark=benchmark, team=cast.kelpie, name="Net")
        runs = [add_run(cast, system, run) for run in range(2)]
        NearDuplicate.objects.bulk_create(
            NearDuplicate(submission=runs[1], setting=setting, earlier=runs[0], claims=1)
            for setting in benchmark.settings.all()
        )


def add_run(cast: BenchmarkCast, system: System, run: int) -> Submission:
    """A run scored under both versions of every setting."""
    sha256 = f"{system.pk}-{run}"
    file = PredictionFile.objects.create(sha256=sha256, size=1, name=sha256)
    submission = Submission.objects.create(
        benchmark=system.benchmark, system=system, run=str(run), file=file, by=cast.kim,
        state="scored", scored_at=timezone.now(), format="jsonl", form="label",
    )  # fmt: skip
    for version in SettingVersion.objects.filter(setting__benchmark=system.benchmark):
        evaluation = submission.evaluations.create(
            file=file, setting=version.setting, gold_sha256=version.gold_sha256, scorer=version.scorer,
            options={}, options_sha256="", answers_sha256=sha256,
        )  # fmt: skip
        for measure in ("micro_f1", "micro_precision"):
            evaluation.scores.create(measure=measure, value=0.5 + run / 10)
    return submission


def queries(client: Client, url: str) -> list[int]:
    """Queries of a page, without and with summaries in memory."""
    client.get(url)  # sizes of gold are read once per process
    overviews._stored.clear()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        counts.append(len(captured))
    return counts


def test_lists_of_boards_and_runs_take_a_constant_number_of_queries(
    client: Client, cast: BenchmarkCast
) -> None:
    lines = gold_lines(gold_labels(60))
    golds = freeze("first", lines, by=cast.olga), freeze("second", lines[:50], by=cast.olga)
    anonymous, counts = Client(), []
    client.force_login(cast.kim)
    pages = [reverse(name) for name in ("home", "boards", "submissions")]
    team = reverse("team", args=[cast.kelpie.slug])
    for numbers in (range(4), range(4, 9)):  # home counts those that it does not list
        add_boards(cast, golds, numbers)
        visits = [(client, page) for page in (*pages, team)] + [(anonymous, page) for page in pages[:2]]
        counts.append([queries(*visit) for visit in visits])
    assert counts[0] == counts[1]
    team_page = counts[1].pop(len(pages))
    assert max(map(max, counts[1])) < 32  # two of them for the golds of Ladders
    assert max(team_page) <= 35  # of these about twenty for people, tokens and runs
