"""Fixtures of evaluation's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evalsvc.evaluation.cast import Cast


@pytest.fixture
def cast(db: None, tmp_path: Path, settings: Any) -> Cast:
    """The people of the tests, with a storage of their own."""
    settings.MEDIA_ROOT = tmp_path / "files"
    return Cast.hired()
