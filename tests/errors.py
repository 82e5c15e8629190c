"""Checks of errors by their code, for `pytest.raises(…, check=code("…"))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def code(expected: str, **attributes: Any) -> Callable[[BaseException], bool]:
    """Accept errors with this code and these attributes."""
    wanted = {"code": expected} | attributes
    return lambda error: {name: getattr(error, name, None) for name in wanted} == wanted
