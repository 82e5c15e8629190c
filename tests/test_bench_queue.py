"""Benchmark of the queue on small data: applications must store what they acknowledge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.queue import rounds, servers
from tests.places.postgres import binary, prepared_folder
from tests.places.skipping import skip_or_fail

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def cluster(django_db_setup: None, django_db_blocker: Any) -> Iterator[servers.SyncedCluster]:
    if not (binary("initdb") and binary("pg_ctl")):
        skip_or_fail("postgres", "initdb is not installed (apt-get install postgresql)")
    with django_db_blocker.unblock():
        cluster = servers.SyncedCluster(prepared_folder())
    yield cluster
    cluster.close()


def test_each_acknowledged_vote_must_be_stored_once_by_both_applications(
    cluster: servers.SyncedCluster, django_db_blocker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are; then a vote that was never written stops the measurement."""
    rows: list[dict[str, Any]] = []
    measure = rounds.measure

    def measure_and_lose(plan: rounds.Plan, applications: list[rounds.Application]) -> list[Any]:
        rows.extend(measure(plan, applications))
        for application in applications:
            application.verify()
        applications[0].acknowledged.add("a vote that was never written")
        return rows

    monkeypatch.setattr(rounds, "measure", measure_and_lose)
    plan = rounds.Plan(sizes=[120], crowds=[2], rounds=1, seconds=60, first=2, warm=60, most=5)
    with django_db_blocker.unblock(), pytest.raises(SystemExit, match="1 votes lost, 0 nobody sent"):
        rounds.run(plan, tmp_path, cluster)
    (row,) = rows
    assert [one["items"] for side in ("ours", "bare") for one in row["rounds"][side]] == [10] * 2
    assert "2 annotators, 120 items" in rounds.table_row(row)
    assert row["goals"] == ["CPU ratio ≥ 0.5", "CPU slope ≤ 1.2"]
