"""`celery -A tests.workers.dawdling`: the worker of the product, but it stops to think while scoring."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workers.celery import app
from workers.runner import HANDLERS

if TYPE_CHECKING:
    from evalsvc.core.jobs.lease import Progress
    from evalsvc.core.jobs.transitions import Store

__all__ = ["app"]
score = HANDLERS["score"]


def dawdle(subject: int, progress: Progress) -> Store:
    """Score as ever, then keep the result in hand for a minute."""
    store = score(subject, progress)
    for second in range(60):
        progress(second, 60, "thinking")
        time.sleep(1)
    return store


HANDLERS["score"] = dawdle
