"""Measures of text annotation and extraction: pure NumPy, usable alone.

Three steps everywhere: count (arrays in, integers out, counts add), divide (one function), average.
Undefined is nan and carries a reason. Spans are half-open, ``[start, end)``. Submodules load on first use.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

MODULES = (
    "agreement",
    "annotators",
    "assignment",
    "bags",
    "classification",
    "counts",
    "curve",
    "encoding",
    "report_values",
    "masi",
    "matching",
    "options",
    "fact_ranks",
    "ranking_profiles",
    "ranking",
    "ratios",
    "relations",
    "reranking",
    "resampling",
    "semeval2013",
    "semeval2010",
    "sets",
    "spans",
    "rank_bands",
    "statistics",
    "suites",
    "systems",
    "tags",
    "report",
    "weights",
    "wrf",
)


def __getattr__(name: str) -> ModuleType:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES])
