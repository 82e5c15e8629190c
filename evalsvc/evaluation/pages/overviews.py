"""Summaries of benchmarks for lists, kept in memory until their rows change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Max, Q
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, measured
from evalsvc.evaluation import leaderboard, submission_states
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.leaderboard import Board
from evalsvc.evaluation.models import Benchmark, NearDuplicate, Setting, Submission
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.roles import sealed_from

KEPT = 2_000
Stamp = tuple[Any, ...]


class Summary(NamedTuple):
    """Board in a list; `front` names the systems with the best mean."""

    counts: str
    setting: str = ""
    measure: str = ""
    front: str = ""
    rug: SafeString | str = ""


_kept: dict[int, tuple[Stamp, Summary]] = {}


@dataclass(frozen=True)
class Overview:
    """Benchmark in a list, and the time of its last scored run."""

    benchmark: Benchmark
    summary: Summary
    last: datetime | None = None


def overviews(benchmarks: Iterable[Benchmark]) -> list[Overview]:
    """Summarise benchmarks by the public board of their first setting.

    The number of queries is constant; boards are computed only if their rows changed.
    """
    listed = list(benchmarks)
    settings: dict[int, Setting] = {}
    rows = Setting.objects.filter(benchmark__in=listed).select_related("test_set", "only", "benchmark")
    for setting in rows.order_by("rank", "pk"):
        settings.setdefault(setting.benchmark_id, setting)
    stamps, last = _stamps(settings.values())
    kept = {pk: _kept[pk] for pk in stamps.keys() & _kept.keys()}
    summaries = {pk: summary for pk, (stamp, summary) in kept.items() if stamp == stamps[pk]}
    outdated = [each for each in settings.values() if each.pk not in summaries]
    for board in leaderboard.boards(outdated, measures=()):
        summaries[board.setting.pk] = _summary(board)
    if len(_kept) > KEPT:
        _kept.clear()
    _kept.update({pk: (stamps[pk], summary) for pk, summary in summaries.items()})
    none = Summary("no setting yet")
    return [
        Overview(each, summaries[settings[each.pk].pk] if each.pk in settings else none, last.get(each.pk))
        for each in listed
    ]


def _stamps(settings: Collection[Setting]) -> tuple[dict[int, Stamp], dict[int, datetime | None]]:
    """Return the stamp of each board, and each benchmark's last scored run.

    Scores never change, and a run only gains evaluations, an end, and a withdrawal: as long as numbers and
    newest rows are the same, so is the board.
    """
    ended = Q(state__in=submission_states.ENDED)
    runs = Submission.objects.filter(benchmark__in={each.benchmark_id for each in settings}).order_by()
    counted_runs = runs.values("benchmark").annotate(
        n=Count("pk"),
        scored=Count("scored_at"),
        withdrawn=Count("withdrawn_at"),
        ended=Count("pk", filter=ended),
        newest=Max("pk"),
        at=Max("ended_at"),
        last=Max("ended_at", filter=Q(state=Submission.State.SCORED)),
    )
    of_benchmark = {row["benchmark"]: row for row in counted_runs}
    links = Submission.evaluations.through.objects.filter(evaluation__setting__in=settings).order_by()
    undigested = Count("pk", filter=Q(evaluation__answers_sha256=""))
    linked = links.values_list("evaluation__setting").annotate(Count("pk"), Max("pk"), undigested=undigested)
    near = NearDuplicate.objects.filter(setting__in=settings).order_by()
    rows: dict[int, list[Any]] = defaultdict(list)
    for pk, *numbers in (*linked, *near.values_list("setting").annotate(Count("pk"), Max("pk"))):
        rows[pk] += numbers
    hidden, sealed = hidden_among(settings), sealed_from(settings, None)
    stamps = {
        each.pk: (
            each.benchmark.created_at,
            [getattr(each, field.attname) for field in each._meta.concrete_fields],
            of_benchmark.get(each.benchmark_id),
            rows[each.pk],
            (each.pk in hidden, each.pk in sealed),
        )
        for each in settings
    }
    return stamps, {pk: row["last"] for pk, row in of_benchmark.items()}


def _summary(board: Board) -> Summary:
    runs = sum(row.n for row in board.rows)
    counts = f"{counted(len(board.rows), 'system')}, {counted(runs, 'run')}" if runs else "no system yet"
    ranked = [(row, row.figures[board.order_by].mean) for row in board.rows if row.rank]
    means = [mean for _, mean in ranked if mean is not None]
    if not means:
        return Summary(counts)
    measure, best = board.ordering.measure, means[0]
    front = ", ".join(row.system.name for row, mean in ranked if mean == best)
    return Summary(
        counts,
        setting=board.setting.title,
        measure=measure.title,
        front=f"{front}, {measured(best, measure)}",
        rug=charts.rug(means, best=best),
    )
