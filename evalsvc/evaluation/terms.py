"""What a file is held against: a benchmark, and those of its settings that would score the file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from evalsvc.evaluation import phases, rosters
from evalsvc.evaluation.models import Benchmark, Setting, Submission


@dataclass(frozen=True)
class Terms:
    benchmark: Benchmark
    settings: list[Setting]
    phase: str = ""

    @cached_property
    def roster(self) -> rosters.Roster:
        return rosters.of_settings(self.settings)


def now(benchmark: Benchmark, *, phase: str = "", at: datetime | None = None) -> Terms:
    """The terms of a submission made now; refused when nothing is open."""
    at = at or timezone.now()
    named = phases.chosen(benchmark, phase, at=at)
    return Terms(benchmark, phases.scored(benchmark, named, at), named)


def of_submission(submission: Submission) -> Terms:
    return Terms(submission.benchmark, phases.of_submission(submission), submission.phase)
