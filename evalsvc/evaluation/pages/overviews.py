"""Summaries of benchmarks for lists, stored in memory until their rows change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, measured, quoted
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.stored_boards import Stamp, changes
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.comparison import board_comparison
from evalsvc.evaluation.comparison.board_comparison import Band, BoardComparison
from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.models import Benchmark, BoardTests, Setting
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.roles import is_sealed

MOST_STORED = 2_000
NAMED = 3  # systems in front by name


class Summary(NamedTuple):
    """Board in a list; `front` names the systems that none is better than by a test, `band` their ranks.

    Without tests, or where a system without one may have the best mean, it names those that may have it: on
    hidden gold all that are less than a step from it. `last` is when the newest run on it came, not one
    that is sealed.
    """

    counts: str
    setting: str = ""
    measure: str = ""
    front: str = ""
    band: str = ""
    rug: SafeString | str = ""
    last: datetime | None = None


_stored: dict[int, tuple[Stamp, Summary]] = {}


@dataclass(frozen=True)
class Overview:
    """Benchmark in a list."""

    benchmark: Benchmark
    summary: Summary


def overviews(benchmarks: Iterable[Benchmark]) -> list[Overview]:
    """Summarise benchmarks by the public board of the setting that opened last, else of the first one.

    The number of queries is constant; boards are computed only if their rows changed.
    """
    listed = list(benchmarks)
    of_benchmark: dict[int, list[Setting]] = {}
    rows = Setting.objects.filter(benchmark__in=listed).select_related("test_set", "only", "benchmark")
    for setting in rows.order_by("rank", "pk"):
        of_benchmark.setdefault(setting.benchmark_id, []).append(setting)
    settings = {pk: _newest(own) for pk, own in of_benchmark.items()}
    rows_of, tested = changes(settings.values(), as_stored=True), _tested(settings.values())
    stamps = {pk: (stamp, tested.get(pk)) for pk, stamp in rows_of.items()}
    stored = {pk: _stored[pk] for pk in stamps.keys() & _stored.keys()}
    summaries = {pk: summary for pk, (stamp, summary) in stored.items() if stamp == stamps[pk]}
    changed = [each for each in settings.values() if each.pk not in summaries]
    if len(_stored) > MOST_STORED:
        _stored.clear()
    boards = leaderboard.boards(changed, measures=())
    tests = board_comparison.read(boards, {each.order_by for each in boards}) if boards else {}
    for board in boards:
        pk = board.setting.pk
        summaries[pk] = _summary(board, tests.get(pk))
        if board.computed_at is None:  # a stored board that is outdated changes without its rows
            _stored[pk] = stamps[pk], summaries[pk]
    none = Summary("no setting yet")
    return [
        Overview(each, summaries[settings[each.pk].pk] if each.pk in settings else none) for each in listed
    ]


def _newest(settings: list[Setting]) -> Setting:
    """Return the setting whose phase began last and has no sealed scores, else the first."""
    began = [
        (setting.opens_at, -place, setting)
        for place, setting in enumerate(settings)
        if setting.opens_at and setting.opens_at <= timezone.now() and not is_sealed(setting)
    ]
    return max(began)[-1] if began else settings[0]


def _tested(settings: Iterable[Setting]) -> dict[int, Stamp]:
    """Return what changes when the tests of boards do."""
    rows = BoardTests.objects.filter(setting__in=settings).order_by()
    return {pk: tuple(stamp) for pk, *stamp in rows.values_list("setting", "identity", "computed_at")}


def _summary(board: Board, tests: BoardComparison | None) -> Summary:
    runs = sum(each.n for each in board.figures.runs)
    counts = (
        f"{counted(len(board.rows), 'system')}, {counted(runs, 'run')}" if board.rows else "no system yet"
    )
    last = max((each.last for each in board.figures.runs), default=None)
    figures, order = board.ordering.figures, board.ordering.order
    means = {system: mean for system in order if (mean := figures[system].mean) is not None}
    if not means:
        return Summary(counts, last=last)
    measure = board.ordering.measure
    bands = _front(board, tests.bands(measure.key)) if tests else {}
    band = str(Band(1, max(each.last for each in bands.values()), len(bands))) if bands else ""
    front = list(bands) or _as_good_as(board, order[0])
    shown = {measured(means[system], measure) for system in front}
    names = [quoted(name) for name in names_on_board(board, front[:NAMED]).values()]
    named = ", ".join(names) + (f" and {counted(len(front) - NAMED, 'other')}" if len(front) > NAMED else "")
    return Summary(
        counts,
        setting=board.setting.title,
        measure=measure.title,
        front=named if len(front) > 1 and (band or len(shown) > 1) else f"{named}, {max(shown)}",
        band=band,
        rug=charts.rug(list(means.values()), best={means[system] for system in front}),
        last=last,
    )


def _front(board: Board, bands: Mapping[int, Band]) -> dict[int, Band]:
    """Return the systems that none beats by a test, if no untested one may be as good as the best."""
    order = board.ordering.order
    front = {system: bands[system] for system in order if system in bands and bands[system].first == 1}
    return front if front and bands.keys() >= set(_as_good_as(board, next(iter(front)))) else {}


def _as_good_as(board: Board, best: int) -> list[int]:
    """Return the systems whose mean is as good as that of another, rounded ones less than a step below it."""
    order, step = board.ordering.order, board.policy.greatest_step(board.order_by)
    leads = [lead or 0.0 for lead in board.ordering.leads(order)]
    least = leads[order.index(best)] - max(step - TINY, 0.0)
    return [system for system, lead in zip(order, leads, strict=True) if lead >= least]
