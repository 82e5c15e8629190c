"""The settings as an environment makes them, without a process of their own."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.places.workers import ROOT


def settings_with(folder: Path, **variables: str) -> dict[str, Any]:
    """Run the settings with this data folder and these variables alone."""
    with patch.dict(os.environ, {"EVALSVC_DATA": str(folder), **variables}, clear=True):
        return runpy.run_path(str(ROOT / "evalsvc" / "settings.py"))
