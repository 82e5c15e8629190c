"""Skipping a leg this machine can't run, or failing where a skip is forbidden."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(leg: str, why: str) -> NoReturn:
    """Skip with the reason; under REQUIRE_<LEG>=1 fail."""
    if os.environ.get(f"REQUIRE_{leg.upper()}") == "1":
        pytest.fail(f"{leg} is required here and can't be had: {why}")
    pytest.skip(f"no {leg}: {why}")
