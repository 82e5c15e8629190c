"""Short load test: processes on PostgreSQL, killed and delayed at random."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.annotation.load import Plan, prove
from tests.places.extent import FULL


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["joint", *(["relations", "entities"] if FULL else [])])
def test_no_vote_is_lost_under_killed_late_and_repeating_clients(postgres: dict[str, Any], kind: str) -> None:
    seconds = min(60, max(3, int(os.environ.get("CI_SECONDS", "10")) / 3))
    result = prove(Plan(kind, clients=8, items=200, operations=10_000, seconds=seconds, kill_every=0.7))
    assert result.wrong == dict.fromkeys(result.wrong, 0), result.unexpected
    assert len(result.wrong) == 9
    assert result.k[:2] == [2, 3]
    assert result.acknowledged > 20
    assert result.kills > 0
