"""Local files to score."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text, bytes, or objects as JSON lines; packed when the name ends in .gz."""

    def written(name: str, content: str | bytes | Iterable[Any]) -> Path:
        path = tmp_path / name
        if not isinstance(content, str | bytes):
            content = "".join(json.dumps(line) + "\n" for line in content)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return written
