"""Summaries of benchmarks for lists, kept in memory until their rows change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, measured
from evalsvc.evaluation import leaderboard
from evalsvc.evaluation.board_figures import Stamp, changes
from evalsvc.evaluation.leaderboard import Board
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages import charts

KEPT = 2_000


class Summary(NamedTuple):
    """Board in a list; `front` names the systems with the best mean.

    `last` is when the newest run on it came, not one that is sealed.
    """

    counts: str
    setting: str = ""
    measure: str = ""
    front: str = ""
    rug: SafeString | str = ""
    last: datetime | None = None


_kept: dict[int, tuple[Stamp, Summary]] = {}


@dataclass(frozen=True)
class Overview:
    """Benchmark in a list."""

    benchmark: Benchmark
    summary: Summary


def overviews(benchmarks: Iterable[Benchmark]) -> list[Overview]:
    """Summarise benchmarks by the public board of their first setting.

    The number of queries is constant; boards are computed only if their rows changed.
    """
    listed = list(benchmarks)
    settings: dict[int, Setting] = {}
    rows = Setting.objects.filter(benchmark__in=listed).select_related("test_set", "only", "benchmark")
    for setting in rows.order_by("rank", "pk"):
        settings.setdefault(setting.benchmark_id, setting)
    stamps = changes(settings.values(), as_stored=True)
    kept = {pk: _kept[pk] for pk in stamps.keys() & _kept.keys()}
    summaries = {pk: summary for pk, (stamp, summary) in kept.items() if stamp == stamps[pk]}
    changed = [each for each in settings.values() if each.pk not in summaries]
    if len(_kept) > KEPT:
        _kept.clear()
    for board in leaderboard.boards(changed, measures=()):
        pk = board.setting.pk
        summaries[pk] = _summary(board)
        if board.computed_at is None:  # a stored board that is outdated changes without its rows
            _kept[pk] = stamps[pk], summaries[pk]
    none = Summary("no setting yet")
    return [
        Overview(each, summaries[settings[each.pk].pk] if each.pk in settings else none) for each in listed
    ]


def _summary(board: Board) -> Summary:
    runs = sum(row.n for row in board.rows)
    counts = f"{counted(len(board.rows), 'system')}, {counted(runs, 'run')}" if runs else "no system yet"
    last = max((row.runs.last for row in board.rows), default=None)
    ranked = [(row, board.ordering.figures[row.system.pk].mean) for row in board.rows if row.rank]
    means = [mean for _, mean in ranked if mean is not None]
    if not means:
        return Summary(counts, last=last)
    measure, best = board.ordering.measure, means[0]
    front = ", ".join(row.system.name for row, mean in ranked if mean == best)
    return Summary(
        counts,
        setting=board.setting.title,
        measure=measure.title,
        front=f"{front}, {measured(best, measure)}",
        rug=charts.rug(means, best=best),
        last=last,
    )
