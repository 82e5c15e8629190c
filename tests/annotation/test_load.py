"""The proof by load, cut to the time there is: real processes on PostgreSQL, killed and late at random."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.annotation.load import Plan, prove


@pytest.mark.postgres
def test_killed_late_and_doubled_clients_lose_nothing_and_no_item_gets_too_much(
    postgres: dict[str, Any],
) -> None:
    seconds = min(60, max(6, int(os.environ.get("CI_SECONDS", "20")) / 2))
    found = prove(Plan(clients=8, items=400, operations=10_000, seconds=seconds, kill_every=1))
    assert found.wrong == dict.fromkeys(found.wrong, 0), found.unexpected
    assert len(found.wrong) == 9
    assert found.k[:2] == [2, 3]
    assert found.acknowledged > 20
    assert found.kills > 0
