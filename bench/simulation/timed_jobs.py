"""`celery -A bench.simulation.timed_jobs`: the product's worker, with jobs that last as long as they say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workers.celery import app
from workers.runner import HANDLERS

if TYPE_CHECKING:
    from evalsvc.core.jobs.lease import Progress
    from evalsvc.core.jobs.transitions import Store

__all__ = ["app"]


def timed(subject: int, progress: Progress) -> Store:
    """Wait for `subject` microseconds."""
    time.sleep(subject / 1e6)
    return lambda: None


HANDLERS["timed"] = timed
