"""Which of the many measures a page shows first, by unit, and how a setting shows them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from evalsvc.evaluation.measures.menu import MENU, Measure
from evalsvc.evaluation.models import Setting

Unit = Setting.Unit
SCHEMES = ("micro", "weighted", "dodrans", "entropy", "macro")
ON_BOARDS: dict[str, tuple[str, ...]] = {
    Unit.SENTENCE: ("semeval2010_f1", "micro_f1", "macro_f1", "accuracy", "auc", "max_f1"),
    Unit.BAG: ("auc", "max_f1", "macro_f1_at_tau", "p_at_100", "micro_f1", "macro_f1"),
    Unit.DOCUMENT: (
        "conll_micro_f1",
        "conll_macro_f1",
        "muc_type_f1",
        "muc_partial_f1",
        "wrf_strict",
        "wrf_lenient",
    ),
}
ON_SUBMISSIONS: dict[str, tuple[str, ...]] = {
    Unit.SENTENCE: (
        "semeval2010_f1", *(f"{scheme}_f1" for scheme in SCHEMES), "accuracy", "auc", "max_f1", "tau",
    ),
    Unit.BAG: ("auc", "ap", "max_f1", "tau", "macro_f1_at_tau", "p_at_100", "p_at_200", "p_at_300"),
    Unit.DOCUMENT: (
        *(f"conll_{scheme}_f1" for scheme in SCHEMES),
        "muc_strict_f1", "muc_exact_f1", "muc_partial_f1", "muc_type_f1", "wrf_strict", "wrf_lenient",
    ),
}  # fmt: skip


def as_shown(setting: Setting, key: str) -> Measure:
    """The measure with the setting's digits; its main one in the setting's direction."""
    measure = MENU[key]
    if setting.digits is not None and measure.unit == "%":
        measure = replace(measure, digits=setting.digits)
    if key == setting.main and setting.lower_is_better is not None:
        measure = replace(measure, higher_is_better=not setting.lower_is_better)
    return measure


def on_board(setting: Setting, present: Collection[str]) -> list[str]:
    """The main measure, then those that the setting chose, else the usual ones, where some run has them."""
    usual = [key for key in setting.measures or ON_BOARDS[setting.unit] if key in present]
    return list(dict.fromkeys([setting.main, *usual]))


def on_submission(setting: Setting, present: Collection[str]) -> list[str]:
    usual = [key for key in setting.measures or ON_SUBMISSIONS[setting.unit] if key in present]
    return list(dict.fromkeys([key for key in (setting.main,) if key in present] + usual))


def schemes(setting: Setting, present: Collection[str]) -> list[str]:
    """The five weightings of F1, when the setting has all of them."""
    prefix = "conll_" if setting.unit == Unit.DOCUMENT else ""
    keys = [f"{prefix}{scheme}_f1" for scheme in SCHEMES]
    return keys if all(key in present for key in keys) else []
