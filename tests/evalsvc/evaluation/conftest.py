"""Fixtures of boards and comparisons."""

from __future__ import annotations

import pytest

from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.models import Benchmark
from tests.cast.benchmarks import BenchmarkCast


@pytest.fixture
def benchmark(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """Two systems of several runs, and two of one."""
    from tests.evalsvc.evaluation.test_leaderboard import scored

    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 4, 5, 6)
    scored(cast, benchmark, "Tree", 1, 2)
    scored(cast, benchmark, "Rules", 3)
    scored(cast, benchmark, "Copy", 3)
    monkeypatch.setattr(compared, "REPLICATES", 99)
    return benchmark
