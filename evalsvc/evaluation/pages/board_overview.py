"""A board in one row: its rug, who is in front, how many run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, measured
from evalsvc.evaluation.leaderboard import Board, board
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.pages import charts


@dataclass(frozen=True)
class Overview:
    """`front` names the best mean; no test stands behind it."""

    benchmark: Benchmark
    counts: str
    setting: str = ""
    measure: str = ""
    front: str = ""
    rug: SafeString | str = ""
    last: datetime | None = None


def overviews(benchmarks: Iterable[Benchmark]) -> list[Overview]:
    return [_overview(benchmark) for benchmark in benchmarks]


def _overview(benchmark: Benchmark) -> Overview:
    setting = benchmark.settings.first()
    if setting is None:
        return Overview(benchmark, "no setting yet")
    found = board(setting, measures=(setting.main,))
    systems, runs = len(found.rows), sum(row.n for row in found.rows)
    counts = f"{counted(systems, 'system')}, {counted(runs, 'run')}" if systems else "no system yet"
    return _with_front(benchmark, setting, found, counts)


def _with_front(benchmark: Benchmark, setting: Setting, found: Board, counts: str) -> Overview:
    measure = as_shown(setting, setting.main)
    known = [
        (row.figures[setting.main].mean, row.system.name) for row in found.rows if setting.main in row.figures
    ]
    means = [(mean, name) for mean, name in known if mean is not None]
    if not means:
        return Overview(benchmark, counts)
    best = (max if measure.higher_is_better else min)(mean for mean, _ in means)
    front = ", ".join(name for mean, name in means if mean == best)
    scored = Submission.objects.filter(benchmark=benchmark, state=Submission.State.SCORED)
    return Overview(
        benchmark,
        counts,
        setting=setting.title,
        measure=measure.title,
        front=f"{front}, {measured(best, measure)}",
        rug=charts.rug([mean for mean, _ in means], best=best),
        last=scored.aggregate(at=Max("ended_at"))["at"],
    )
