"""Final runs: when a setting ended for a run, and made it final."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluation.final_runs import ended_for
from evalsvc.evaluation.models import Setting

EARLY, CLOSED, LATE, AGAIN, OPEN = (timezone.now() + timedelta(days=days) for days in (-5, -4, -3, -2, 1))
SETTINGS: list[dict[str, Any]] = [
    *({}, {"row_rule": "latest"}, {"sealed": True}, {"disclosure": "hidden"}, {"row_rule": "entry"})
]


@pytest.mark.parametrize(
    ("dates", "ended_early", "ended_late"),
    [
        ({"closes_at": CLOSED}, CLOSED, CLOSED),
        ({"closes_at": OPEN}, None, None),
        # moved to the past, or on, later
        ({"closes_at": CLOSED, "open_until": AGAIN}, AGAIN, AGAIN),
        ({"closes_at": AGAIN, "open_until": CLOSED}, AGAIN, AGAIN),
        ({"closes_at": OPEN, "open_until": CLOSED}, None, None),
        ({"open_until": CLOSED}, None, None),
        ({}, None, None),
        # changed after its end
        ({"closes_at": AGAIN, "final_before": CLOSED}, CLOSED, AGAIN),
        ({"final_before": AGAIN, "earlier_ends": [CLOSED.isoformat()]}, CLOSED, AGAIN),
        ({"closes_at": OPEN, "final_before": CLOSED}, CLOSED, None),
        ({"final_before": CLOSED}, CLOSED, None),
    ],
)
def test_a_setting_ends_for_the_runs_sent_before_it_closed(
    dates: dict[str, Any], ended_early: Any, ended_late: Any
) -> None:
    for fields in SETTINGS:
        setting = Setting(**dates, **fields)
        assert [ended_for(setting, sent) for sent in (EARLY, LATE)] == [ended_early, ended_late], fields
