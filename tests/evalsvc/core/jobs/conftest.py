"""A job kind that only these tests register."""

from __future__ import annotations

import pytest

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Register the kinds `count`, whose jobs fill the list with (attempt, state), and `count later`."""
    changes: list[tuple[int, str]] = []

    def record(job: Job) -> None:
        changes.append((job.attempt, job.state))

    monkeypatch.setitem(kinds._kinds, "count", kinds.Kind("count", "score", record))
    monkeypatch.setitem(kinds._kinds, "count later", kinds.Kind("count later", "score", later=True))
    return changes
