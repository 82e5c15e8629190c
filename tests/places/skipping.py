"""Skip tests that this machine cannot run, or fail where skipping is forbidden."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip_or_fail(requirement: str, reason: str) -> NoReturn:
    """Skip with the reason; fail under REQUIRE_<REQUIREMENT>=1."""
    if os.environ.get(f"REQUIRE_{requirement.upper()}") == "1":
        pytest.fail(f"{requirement} is required but unavailable: {reason}")
    pytest.skip(f"no {requirement}: {reason}")
