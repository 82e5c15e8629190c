"""Looks for outdated figures happen in tests only when they ask: not because of the time that has passed."""

from __future__ import annotations

import math
from types import ModuleType

from django.db.models import F

from annotation.reports import vote_figures
from evalsvc.core.jobs.models import Job
from evalsvc.core.upkeep import registry
from evalsvc.evaluation.boards import stored_boards
from evalsvc.evaluation.comparison import board_tests


def pause() -> None:
    """Let workers in this process look for nothing."""
    for module in (stored_boards, board_tests, registry, vote_figures):
        module._next_look = math.inf  # type: ignore[attr-defined]


def look(module: ModuleType) -> None:
    """Queue what this module finds outdated."""
    if module is board_tests:  # those before took no time, so they leave no pause
        Job.objects.filter(kind=board_tests.KIND, state=Job.State.DONE).update(started_at=F("ended_at"))
    module._next_look = 0.0  # type: ignore[attr-defined]
    (module.queue_when_due if module is registry else module.queue_outdated)()
    module._next_look = math.inf  # type: ignore[attr-defined]
