"""The queue beside a bare application, in miniature: both write what they say, or the measuring stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.queue import crowd, judging, places, rounds
from tests.places.postgres import binary
from tests.places.skipping import lacking

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def cluster(django_db_setup: None) -> Iterator[places.Synced]:
    if not (binary("initdb") and binary("pg_ctl")):
        lacking("postgres", "initdb is not there (apt-get install postgresql)")
    made = places.Synced()
    yield made
    made.close()


def test_both_sides_hand_out_and_write_what_the_crowd_was_told(
    cluster: places.Synced, django_db_blocker: Any, tmp_path: Path
) -> None:
    plan = rounds.Plan(sizes=[120], crowds=[2], rounds=2, seconds=60, first=2, warm=60, most=5)
    with django_db_blocker.unblock():
        (row,) = rounds.run(plan, tmp_path, cluster)
    assert [one["items"] for side in ("ours", "bare") for one in row["rounds"][side]] == [10] * 4
    assert "2 annotators, 120 items" in rounds.line(row)


def test_a_vote_that_was_told_and_is_not_there_stops_the_measurement(
    cluster: places.Synced, tmp_path: Path
) -> None:
    with rounds.Side.opened(cluster, "bare", 20, 1, tmp_path) as side:
        judging.hold(side, crowd.work(side.port, side.place.slug, side.place.tokens, most=3))
        side.names.add("a vote that nobody wrote")
        with pytest.raises(SystemExit, match="1 votes lost"):
            judging.hold(side)
