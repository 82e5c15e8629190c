"""A schedule of faults can be repeated, and has every pair of point and fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash import __main__ as crash


def test_a_seed_gives_the_same_schedule_each_time() -> None:
    assert crash.schedule(7, 300) == crash.schedule(7, 300) != crash.schedule(8, 300)


def test_a_full_run_has_every_fault_at_every_point() -> None:
    pairs = crash.schedule(1, 1_000)
    assert len(pairs) == 1_000
    assert {(at, fault) for at in crash.AT for fault in crash.FAULTS} <= set(pairs)
    assert {fault for _, fault in pairs} >= set(crash.LONG_FAULTS)


def test_a_failed_round_ends_the_run_and_prints_its_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        accepted: dict[int, Any] = {}

        def inject(self, *_: object) -> bool:
            return True

        def settle(self) -> float:
            return 0.0

        def wrong(self) -> list[str]:
            return ["orphan x"]

    assert not crash.attack(Broken(), crash.schedule(1, 20))  # type: ignore[arg-type]
    output = capsys.readouterr().out
    assert "10 faults" in output
    assert "20 faults" not in output
    assert 'schedule: [["' in output
