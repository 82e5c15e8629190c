"""Final runs: when a setting ended for a run, and made it final."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluation.final_runs import ended_for
from evalsvc.evaluation.models import Setting

EARLY, CLOSED, LATE, AGAIN, OPEN = (timezone.now() + timedelta(days=days) for days in (-5, -4, -3, -2, 1))
BINDING: list[dict[str, Any]] = [
    *({"sealed": True}, {"disclosure": "hidden"}, {"row_rule": "entry"}, {"row_rule": "final"})
]


@pytest.mark.parametrize(
    ("dates", "settings", "ended_early", "ended_late"),
    [
        ({"closes_at": CLOSED}, BINDING, CLOSED, CLOSED),
        ({"closes_at": OPEN}, BINDING, None, None),
        ({}, BINDING, None, None),
        ({"closes_at": CLOSED}, [{}, {"row_rule": "latest"}], None, None),
        # bound once, and changed after its end
        ({"closes_at": AGAIN, "final_before": CLOSED}, BINDING, CLOSED, AGAIN),
        ({"closes_at": AGAIN, "final_before": CLOSED}, [{}], CLOSED, None),
        ({"final_before": AGAIN, "earlier_ends": [CLOSED.isoformat()]}, [{}, *BINDING], CLOSED, AGAIN),
        ({"closes_at": OPEN, "final_before": CLOSED}, [{}, *BINDING], CLOSED, None),
        ({"final_before": CLOSED}, [{}, *BINDING], CLOSED, None),
    ],
)
def test_a_setting_ends_for_the_runs_that_it_bound_when_it_closed(
    dates: dict[str, Any], settings: list[dict[str, Any]], ended_early: Any, ended_late: Any
) -> None:
    for fields in settings:
        setting = Setting(**dates, **fields)
        assert [ended_for(setting, sent) for sent in (EARLY, LATE)] == [ended_early, ended_late], fields
