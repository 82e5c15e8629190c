"""A kind of work that only these tests know."""

from __future__ import annotations

import pytest

from evalsvc.core.jobs import kinds
from evalsvc.core.jobs.models import Job


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Register the kind `count`; the list fills with (attempt, state) as jobs of it move."""
    seen: list[tuple[int, str]] = []

    def follow(job: Job) -> None:
        seen.append((job.attempt, job.state))

    monkeypatch.setitem(kinds._kinds, "count", kinds.Kind("count", "score", follow))
    return seen
