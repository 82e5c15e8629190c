"""Measures composed from the menu: a base, its weights, a figure; validated, with a formula.

Importable without Django and without NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.measures.computation import f_title
from evalsvc.evaluation.measures.menu import SCHEMES

WORDS = "wrf"
BASES = {
    "sentence": ("classification",),
    "bag": ("classification",),
    "document": ("conll", "entity_texts", WORDS),
    "joint": ("relation_strict", "relation_bounds", "triple_texts", "conll", WORDS),
}
BASE_TITLES = {
    "classification": "relations by label",
    "conll": "entities, exact match",
    "entity_texts": "entities as text",
    "triple_texts": "relations as text",
    "relation_strict": "relations, strict",
    "relation_bounds": "relations, boundaries",
    WORDS: "words of entities",
}
OF_RELATIONS = ("relation_strict", "relation_bounds", "triple_texts")
FIGURES = {"f1": "F", "precision": "precision", "recall": "recall"}
RATIOS = {"precision": "P = tp / (tp + fp)", "recall": "R = tp / (tp + fn)"}
LETTERS = {"f1": "F", "precision": "P", "recall": "R"}
CUSTOM, LEAST_BETA, MOST = "custom", 1e-3, 1e9
GAMMAS = ("strict", "lenient", CUSTOM)
OVER = {"pooled": "over sums of |P∩T|, |P| and |T| per type", "mean": "mean over documents"}
TOGETHER = "all types together"
LEFT_OUT = "types that neither gold nor predictions have are left out"
COUNTED, WORDED = (
    ("base", "figure", "beta", "scheme", "weights", "labels"),
    (*("base", "figure", "gamma", "gammas", "scheme", "over"),),
)
Composition = dict[str, Any]


def checked(
    composition: Any,
    *,
    bases: Collection[str],
    labels: Sequence[str],
    relations: Sequence[str] = (),
    negative: str = "",
) -> Composition:
    """Return a composition with its defaults, or reject it.

    `labels` are the classes of all bases but those of relations between entities.
    """
    if not isinstance(composition, Mapping):
        _reject(f"A composition is a JSON object, not {composition!r}.", 'Such as {"base": "conll"}.')
    base = composition.get("base")
    if base not in bases:
        _reject(f"{base!r} is not a base of measures for this task.", f"Use {', '.join(bases)}.")
    known = WORDED if base == WORDS else COUNTED
    for key in composition:
        if key not in known:
            _reject(f"A measure of {base} has no {key!r}.", f"Use {', '.join(known)}.")
    figure = _choice(composition, "figure", tuple(FIGURES), "f1")
    if base == WORDS:
        return {"base": base, "figure": figure, **_words(composition, labels)}
    inventory = relations if base in OF_RELATIONS else labels
    return {"base": base, "figure": figure, **_counted(composition, inventory, figure, negative)}


def _counted(
    composition: Mapping[str, Any], inventory: Sequence[str], figure: str, negative: str
) -> Composition:
    """Check β, classes and weights of a base that counts classes."""
    parts: Composition = {}
    if "beta" in composition and figure != "f1":
        _reject("β belongs to F, not to precision or recall.", "Leave it out.")
    if figure == "f1":
        beta = composition.get("beta", 1)
        if not _is_number(beta) or not beta >= LEAST_BETA:
            _reject(f"β is {beta!r}.", f"Enter a number from {LEAST_BETA:g} to {MOST:g}.")
        parts["beta"] = float(beta)
    chosen = composition.get("labels")
    if chosen is not None:
        if not isinstance(chosen, list | tuple) or not chosen:
            _reject("The subset of classes is empty.", "Name at least one class, or leave it out for all.")
        _require_known(chosen, [*inventory, *filter(None, [negative])])
        if len(set(chosen)) < len(chosen):
            _reject("A class is named twice in the subset.", "Name each once.")
        parts["labels"] = list(chosen)
    parts["scheme"] = _choice(composition, "scheme", (*SCHEME_NAMES, CUSTOM), "macro")
    if parts["scheme"] == CUSTOM:
        averaged = parts.get("labels", list(inventory))
        parts["weights"] = _weights(composition.get("weights"), averaged, "class weights")
    elif "weights" in composition:
        _reject("Class weights need the scheme `custom`.", "Set it, or leave the weights out.")
    return parts


SCHEME_NAMES = tuple(key.replace("_", "-") for key in SCHEMES)


def _words(composition: Mapping[str, Any], labels: Sequence[str]) -> Composition:
    """Check γ of a measure of words."""
    parts: Composition = {"gamma": _choice(composition, "gamma", GAMMAS, "strict")}
    parts["over"] = _choice(composition, "over", tuple(OVER), "pooled")
    if parts["gamma"] == CUSTOM:
        if "scheme" in composition:
            _reject("A scheme divides γ strict or lenient, not custom γ.", "Leave one of them out.")
        return parts | {"gammas": checked_gammas(composition.get("gammas"), labels)}
    if "gammas" in composition:
        _reject("γ per type need the γ `custom`.", "Set it, or leave them out.")
    if scheme := composition.get("scheme"):
        names = tuple(name for name in SCHEME_NAMES if name != "micro")
        parts["scheme"] = _choice({"scheme": scheme}, "scheme", names, "")
    return parts


def checked_gammas(gammas: Any, labels: Sequence[str]) -> dict[str, Any]:
    """Return γ per type and of all types together, or reject them; a single type has no `combined`."""
    expected = {"classes"} | ({"combined"} if len(labels) > 1 else set())
    if not isinstance(gammas, Mapping) or set(gammas) != expected:
        _reject(
            f"γ need {' and '.join(sorted(expected))}, and nothing else.",
            'Such as {"classes": {"PER": 1, "LOC": 1}, "combined": 2}.',
        )
    of_all = (
        {**gammas["classes"], "": gammas.get("combined", 0)}
        if isinstance(gammas["classes"], Mapping)
        else gammas["classes"]
    )
    names = [*labels, *([""] if isinstance(of_all, Mapping) else [])]
    weights = _weights(of_all, names, "γ")
    classes = {name: weights[name] for name in labels}
    return {"classes": classes} | ({"combined": weights[""]} if len(labels) > 1 else {})


def _weights(weights: Any, names: Sequence[str], noun: str) -> dict[str, float]:
    """Return a weight per name, or reject weights that are missing, foreign, negative or all 0."""
    if not isinstance(weights, Mapping):
        _reject(f"The {noun} are missing.", "Give a number for each class.")
    _require_known(weights, names)
    if missing := [name for name in names if name not in weights]:
        _reject(f"The {noun} lack {missing[0]}.", "Give a number for each class, 0 to leave it out.")
    for name in names:
        if not _is_number(weights[name]) or weights[name] < 0:
            detail = f"The weight of {name or 'combined'} is {weights[name]!r}."
            _reject(detail, f"Enter 0 or more, at most {MOST:g}.")
    if not any(weights.values()):
        _reject(f"All {noun} are 0.", "Give at least one class more.")
    return {name: float(weights[name]) for name in names}


def _require_known(given: Collection[Any], names: Collection[str]) -> None:
    if foreign := [name for name in given if name not in names]:
        _reject(
            f"{foreign[0]!r} is not a class here.",
            f"The classes are {', '.join(sorted(filter(None, names)))}.",
        )


def _choice(composition: Mapping[str, Any], key: str, choices: Sequence[str], default: str) -> str:
    value = composition.get(key, default)
    if value not in choices:
        _reject(f"The {key} is {value!r}.", f"Use {', '.join(choices)}.")
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST <= value <= MOST


def _reject(detail: str, hint: str) -> NoReturn:
    raise DomainError("bad_composition", detail, hint=hint, field="composition")


# ---- in words ------------------------------------------------------------------------------------
def formula(composition: Composition) -> str:
    """Draw up the formula from the parts of a composition."""
    return _word_formula(composition) if composition["base"] == WORDS else _count_formula(composition)


def _count_formula(composition: Composition) -> str:
    figure, scheme = composition["figure"], composition["scheme"]
    letter, ratio = LETTERS[figure], RATIOS.get(figure, "")
    if figure == "f1":
        beta = composition["beta"]
        square = beta * beta
        letter = f_title(beta)
        ratio = f"{letter} = {1 + square:g}·tp / ({1 + square:g}·tp + {square:g}·fn + fp)"
    over = f" over {', '.join(composition['labels'])}" if "labels" in composition else ""
    if scheme == "micro":
        return f"{ratio} from counts summed{over or ' over all classes'}"
    if scheme == CUSTOM:
        total = sum(composition["weights"].values())
        given = ", ".join(f"{name} {weight / total:.4g}" for name, weight in composition["weights"].items())
        return f"Σ wᵢ·{letter}ᵢ with w = {given}; {ratio}"
    weighting = SCHEMES[scheme.replace("-", "_")].formula
    return f"{weighting.replace('sᵢ', f'{letter}ᵢ')}{over}; {ratio}"


def _word_formula(composition: Composition) -> str:
    figure = f"R1-{LETTERS[composition['figure']]}{'1' if composition['figure'] == 'f1' else ''}"
    gamma = {
        "strict": f"γ = 1/(C+1) for each type and for {TOGETHER}",
        "lenient": f"γ = 1/(C+2) for each type, 2/(C+2) for {TOGETHER}",
    }.get(composition["gamma"], "")
    if composition["gamma"] == CUSTOM:
        of_classes = composition["gammas"]["classes"]
        together = composition["gammas"].get("combined", 0.0)
        total = sum(of_classes.values()) + together
        named = {**of_classes, **({TOGETHER: together} if "combined" in composition["gammas"] else {})}
        gamma = "γ = " + ", ".join(f"{name} {value / total:.4g}" for name, value in named.items())
    if scheme := composition.get("scheme"):
        gamma += f"; the types share theirs by the scheme {scheme}"
    return f"Σ γᵢ·{figure}ᵢ, {OVER[composition['over']]}; {gamma}; {LEFT_OUT}"
