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


def test_both_applications_lease_items_and_store_every_acknowledged_vote(
    cluster: servers.SyncedCluster, django_db_blocker: Any, tmp_path: Path
) -> None:
    plan = rounds.Plan(sizes=[120], crowds=[2], rounds=2, seconds=60, first=2, warm=60, most=5)
    with django_db_blocker.unblock():
        (row,) = rounds.run(plan, tmp_path, cluster)
    assert [one["items"] for side in ("ours", "bare") for one in row["rounds"][side]] == [10] * 4
    assert "2 annotators, 120 items" in rounds.table_row(row)
    assert row["goals"] == ["CPU ratio ≥ 0.5", "CPU slope ≤ 1.2"]


def test_an_acknowledged_vote_that_is_not_stored_stops_the_measurement(
    cluster: servers.SyncedCluster, tmp_path: Path
) -> None:
    with rounds.Application.started(cluster, "bare", 20, 1, tmp_path) as application:
        application.label(most=3)
        application.verify()
        application.acknowledged.add("a vote that was never written")
        with pytest.raises(SystemExit, match="1 votes lost"):
            application.verify()
