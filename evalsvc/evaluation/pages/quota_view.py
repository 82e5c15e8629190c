"""What a team has left of its quotas, in words and drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.safestring import SafeString

from evalsvc.core.accounts.models import Team
from evalsvc.core.web.formatting import count
from evalsvc.evaluation.benchmarks.quotas import Allowance, allowances
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.pages import charts

WORDS = {"per_day": "today", "in_total": "in all", "at_once": "waiting or running"}


@dataclass(frozen=True)
class Left:
    """One quota: which, how much of it is left, when it is renewed."""

    board: Benchmark
    title: str
    told: str
    bar: SafeString
    when: str


def of_team(team: Team, boards: Iterable[Benchmark]) -> list[Left]:
    """The quotas there are; a board without any is not listed."""
    return [
        _left(board, quota) for board in boards for quota in allowances(board, team) if quota.most is not None
    ]


def _left(board: Benchmark, quota: Allowance) -> Left:
    most, left = quota.most or 0, quota.left or 0
    when = f"new day at 00:00 {board.time_zone}" if quota.name == "per_day" else ""
    return Left(
        board, WORDS[quota.name], f"{count(left)} of {count(most)} left", charts.quota(left, most), when
    )
