"""Measures composed from the menu: validation and formulas."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.disclosure.distinct_runs import BY_ORDER
from evalsvc.evaluation.measures.composition import BASES, checked, formula
from evalsvc.evaluation.measures.menu import MENU
from tests.errors import code

LABELS = ["loc", "type", "cause"]
GAMMAS = {"classes": {"loc": 2, "type": 1, "cause": 1}, "combined": 4}


def test_no_composed_measure_depends_on_the_order_of_claims() -> None:
    """Distinct runs of a board that one ranks are recognised by their claims alone."""
    by_other_digests = {MENU[key].family for key in BY_ORDER} | {"semeval2010"}
    assert by_other_digests.isdisjoint(base for bases in BASES.values() for base in bases)


def read(**composition: Any) -> dict[str, Any]:
    return checked(composition, bases=BASES["joint"], labels=LABELS, relations=["met"], negative="")


@pytest.mark.parametrize(
    ("composition", "text"),
    [
        (
            {"base": "conll", "beta": 2, "labels": ["loc", "type"]},
            "mean of F2ᵢ over classes with nᵢ > 0 over loc, type; F2 = 5·tp / (5·tp + 4·fn + fp)",
        ),
        (
            {"base": "conll", "figure": "recall", "scheme": "micro"},
            "R = tp / (tp + fn) from counts summed over all classes",
        ),
        (
            {"base": "conll", "scheme": "custom", "weights": {"loc": 3, "type": 1, "cause": 0}},
            "Σ wᵢ·F1ᵢ with w = loc 0.75, type 0.25, cause 0; F1 = 2·tp / (2·tp + 1·fn + fp)",
        ),
        (
            {"base": "wrf", "gamma": "custom", "gammas": GAMMAS},
            (
                "Σ γᵢ·R1-F1ᵢ, over sums of |P∩T|, |P| and |T| per type; "
                "γ = loc 0.25, type 0.125, cause 0.125, all types together 0.5; "
                "types that neither gold nor predictions have are left out"
            ),
        ),
        (
            {"base": "wrf", "figure": "precision", "scheme": "dodrans", "over": "mean"},
            (
                "Σ γᵢ·R1-Pᵢ, mean over documents; γ = 1/(C+1) for each type and for all types together; "
                "the types share theirs by the scheme dodrans; "
                "types that neither gold nor predictions have are left out"
            ),
        ),
    ],
)
def test_a_formula_is_drawn_up_from_the_parts(composition: dict[str, Any], text: str) -> None:
    assert formula(read(**composition)) == text


def test_what_is_left_out_has_its_default() -> None:
    assert read(base="conll") == {"base": "conll", "figure": "f1", "beta": 1.0, "scheme": "macro"}
    words = {"base": "wrf", "figure": "f1", "gamma": "strict", "over": "pooled"}
    assert read(base="wrf") == words
    assert read(**read(base="wrf")) == words


@pytest.mark.parametrize(
    "composition",
    [
        {},
        {"base": "bleu"},
        {"base": "conll", "gamma": "strict"},
        {"base": "wrf", "beta": 2},
        {"base": "conll", "figure": "accuracy"},
        {"base": "conll", "figure": "recall", "beta": 2},
        {"base": "conll", "beta": 0},
        {"base": "conll", "beta": float("nan")},
        {"base": "conll", "beta": True},
        {"base": "conll", "beta": 1e200},
        {"base": "conll", "beta": 10**400},
        {"base": "conll", "beta": 1e-320},
        {"base": "conll", "scheme": "custom", "weights": dict.fromkeys(LABELS, 10**400)},
        {"base": "conll", "labels": [{"loc": 1}]},
        {"base": ["conll"]},
        {"base": "conll", "scheme": "custom", "weights": dict.fromkeys(LABELS, 1e308)},
        {"base": "conll", "labels": []},
        {"base": "conll", "labels": ["loc", "loc"]},
        {"base": "conll", "labels": ["met"]},
        {"base": "relation_strict", "labels": ["loc"]},
        {"base": "conll", "scheme": "harmonic"},
        {"base": "conll", "scheme": "custom"},
        {"base": "conll", "scheme": "macro", "weights": {"loc": 1}},
        {"base": "conll", "scheme": "custom", "weights": {"loc": 1, "type": 1}},
        {"base": "conll", "scheme": "custom", "weights": {"loc": 1, "type": 1, "cause": 1, "x": 1}},
        {"base": "conll", "scheme": "custom", "weights": {"loc": -1, "type": 1, "cause": 1}},
        {"base": "conll", "scheme": "custom", "weights": dict.fromkeys(LABELS, 0)},
        {"base": "wrf", "gamma": "custom"},
        {"base": "wrf", "gamma": "custom", "gammas": {"classes": GAMMAS["classes"]}},
        {"base": "wrf", "gamma": "custom", "gammas": {"classes": {"loc": 1}, "combined": 1}},
        {"base": "wrf", "gamma": "custom", "gammas": {"classes": [1, 2, 3], "combined": 1}},
        {"base": "wrf", "gamma": "custom", "gammas": GAMMAS, "scheme": "macro"},
        {"base": "wrf", "gammas": GAMMAS},
        {"base": "wrf", "scheme": "micro"},
    ],
)
def test_parts_that_do_not_fit_are_rejected(composition: dict[str, Any]) -> None:
    with pytest.raises(DomainError, check=code("bad_composition")) as rejected:
        read(**composition)
    assert rejected.value.hint


def test_a_single_type_has_no_gamma_of_all_together() -> None:
    gammas = {"classes": {"loc": 1}}
    given = {"base": "wrf", "gamma": "custom", "gammas": gammas}
    assert checked(given, bases=["wrf"], labels=["loc"])["gammas"] == {"classes": {"loc": 1.0}}
    with pytest.raises(DomainError, check=code("bad_composition")):
        checked(given | {"gammas": gammas | {"combined": 1}}, bases=["wrf"], labels=["loc"])
