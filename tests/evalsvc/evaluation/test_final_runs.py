"""Final runs: which settings make a run final, and among which runs a closed one chooses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluation.final_runs import choice_end, makes_final
from evalsvc.evaluation.models import Setting

EARLY, CLOSED, LATE, OPEN = (timezone.now() + timedelta(days=days) for days in (-3, -2, -1, 1))
BINDING: list[dict[str, Any]] = [
    *({"sealed": True}, {"disclosure": "hidden"}, {"row_rule": "entry"}, {"row_rule": "final"})
]


@pytest.mark.parametrize(
    ("dates", "settings", "final", "chooses_until"),
    [
        ({"closes_at": CLOSED}, BINDING, [EARLY, LATE], CLOSED),
        ({"closes_at": OPEN}, BINDING, [], None),
        ({}, BINDING, [], None),
        ({"closes_at": CLOSED}, [{}, {"row_rule": "latest"}], [], None),
        # bound once, and changed after its end
        ({"closes_at": CLOSED, "final_before": CLOSED}, [{}], [EARLY], CLOSED),
        ({"closes_at": OPEN, "final_before": CLOSED}, [{}, *BINDING], [EARLY], None),
        ({"final_before": CLOSED}, [{}, *BINDING], [EARLY], None),
    ],
)
def test_a_run_is_final_under_a_setting_that_bound_it_and_ended(
    dates: dict[str, Any], settings: list[dict[str, Any]], final: list[Any], chooses_until: Any
) -> None:
    for fields in settings:
        setting = Setting(**dates, **fields)
        assert [sent for sent in (EARLY, LATE) if makes_final(setting, sent)] == final, fields
        assert choice_end(setting) == chooses_until, fields
