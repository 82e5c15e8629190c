"""`celery -A tests.workers.slow`: the product's worker plus kinds of work made for testing."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from workers.celery import app
from workers.runner import HANDLERS

if TYPE_CHECKING:
    from evalsvc.core.jobs.lease import Progress
    from evalsvc.core.jobs.transitions import Store

__all__ = ["app"]


def slow(subject: int, progress: Progress) -> Store:
    """Work for `subject` tenths of a second, then make a team as the result."""
    for tenth in range(subject):
        progress(tenth, subject, "working")
        time.sleep(0.1)
    return lambda: store(subject)


def store(subject: int) -> None:
    from evalsvc.core.accounts.models import Team

    Team.objects.create(slug=f"result-{Team.objects.count()}", name=f"after {subject}")


def deadly(subject: int, progress: Progress) -> Store:
    """Take the process that runs it down."""
    os.kill(os.getpid(), signal.SIGKILL)
    return lambda: None


def nothing(subject: int, progress: Progress) -> Store:
    """Be done."""
    return lambda: None


HANDLERS |= {"slow": slow, "deadly": deadly, "nothing": nothing}
