"""Measures of text annotation and extraction, in pure NumPy.

Every measure counts (arrays to integers that add up), divides (one function), then averages.
An undefined figure is nan with a reason. Spans are half-open, ``[start, end)``. Submodules load on first use.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
