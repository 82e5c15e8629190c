"""Every measure that a suite can emit: the family it is computed with, and the bounds of its values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SCHEMES = ("micro", "weighted", "dodrans", "entropy", "entropy_positive", "macro", "macro_all")
FIGURES = ("f1", "precision", "recall")
AT_TAU = ("precision_at_tau", "recall_at_tau", "macro_f1_at_tau")
CLAIMS = ("auc", "max_f1", "tau", *AT_TAU, "p_at_100", "p_at_200", "p_at_300", "p_at_mean")
HALF = ("micro_f1_at_half", "macro_f1_at_half")
SEMEVAL = ("f1", "coverage", "accuracy_answered", "accuracy_as_other")
READINGS = ("strict", "exact", "partial", "type")
# Averages whose keys say of what; those of classification are called by the scheme alone.
PREFIXES = {"conll": "conll_", "relation_bounds": "relation_bounds_", "relation_strict": "relation_strict_"}


class Measure(NamedTuple):
    """One measure; *low* and *high* bound its values."""

    family: str
    low: float = 0.0
    high: float = 1.0


def _family(name: str, keys: Iterable[str]) -> dict[str, Measure]:
    return {key: Measure(name) for key in keys}


def _averages(prefix: str = "") -> list[str]:
    return [f"{prefix}{scheme}_{figure}" for scheme in SCHEMES for figure in FIGURES]


MEASURES: dict[str, Measure] = {
    **_family("classification", [*_averages(), "accuracy"]),
    **_family("semeval2010", [f"semeval2010_{key}" for key in SEMEVAL]),
    **_family("conll", _averages(PREFIXES["conll"])),
    **_family("muc", [f"muc_{reading}_{figure}" for reading in READINGS for figure in FIGURES]),
    **_family("wrf", ["wrf_strict", "wrf_lenient", "wrf_strict_mean", "wrf_lenient_mean"]),
    **_family("bags", ["ap", *CLAIMS]),
    **_family("opennre", [f"opennre_{key}" for key in (*CLAIMS, *HALF)]),
    **_family("relation_bounds", _averages(PREFIXES["relation_bounds"])),
    **_family("relation_strict", _averages(PREFIXES["relation_strict"])),
    "tau": Measure("bags", float("-inf"), float("inf")),
    "opennre_tau": Measure("opennre", float("-inf"), float("inf")),
}
