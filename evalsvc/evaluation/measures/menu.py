"""The menu of measures, and the words that explain each: pages and docs are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from evalsvc.evaluation.measures.families import FAMILIES, Family

__all__ = ["FAMILIES", "MENU", "Family", "Measure", "offered"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure that a score can hold. `unit` is "%" for shares, empty for plain numbers.

    `ranks` is False for what says something about a run and nothing about how good it is.
    """

    key: str
    title: str
    family: str
    explains: str
    formula: str
    source: str
    undefined: str
    higher_is_better: bool = True
    digits: int = 1
    unit: str = "%"
    ranks: bool = True


GAO = "Gao et al. 2021"
HARBECKE = "Harbecke et al. 2022"
OPENNRE = "Han et al. 2019, the OpenNRE toolkit"
SEMEVAL = "Hendrickx et al. 2010, the task's scorer"
CONLL = "Tjong Kim Sang and De Meulder 2003"
MUC = "Chinchor and Sundheim 1993; Segura-Bedmar et al. 2013"
WRF = "Weber et al., WRF: Weighted Rouge-F1 Metric for Entity Recognition"

SCHEMES: dict[str, tuple[str, str, str]] = {
    "micro": (
        "micro",
        "every label counts alike, so frequent classes decide",
        "from counts summed over classes",
    ),
    "weighted": ("weighted", "classes count by how often they occur", "Σ wᵢ·sᵢ with wᵢ ∝ nᵢ"),
    "dodrans": ("dodrans", "classes count by frequency to the power ¾", "Σ wᵢ·sᵢ with wᵢ ∝ nᵢ^¾"),
    "entropy": (
        "entropy",
        "classes count by what they add to the entropy of the labels, the negative class included in N",
        "Σ wᵢ·sᵢ with wᵢ ∝ −nᵢ·log(nᵢ/N), N = all items",
    ),
    "entropy_positive": (
        "positive-entropy",
        "as entropy, with N over the averaged classes only",
        "Σ wᵢ·sᵢ with wᵢ ∝ −nᵢ·log(nᵢ/N), N = Σ nᵢ",
    ),
    "macro": (
        "macro",
        "every class that occurs in the gold counts alike",
        "mean of sᵢ over classes with nᵢ > 0",
    ),
    "macro_all": (
        "whole-inventory macro",
        "every class of the inventory counts alike, one that does not occur with 0",
        "mean of sᵢ over the inventory",
    ),
}
FIGURES: dict[str, tuple[str, str]] = {
    "f1": ("F1", "F_β = (1+β²)·tp / ((1+β²)·tp + β²·fn + fp), β = 1 unless set"),
    "precision": ("precision", "P = tp / (tp + fp)"),
    "recall": ("recall", "R = tp / (tp + fn)"),
}


_EMPTY = {
    "f1": "nothing is gold and nothing was predicted",
    "precision": "nothing was predicted",
    "recall": "nothing is gold",
}


def _averages(prefix: str, family: str, source: str) -> list[Measure]:
    """Every scheme of F1, precision and recall; F1 first."""
    return [
        Measure(
            key=f"{prefix}{scheme}_{figure}",
            title=f"{title} {name}",
            family=family,
            explains=explains,
            formula=f"{how}; {formula}",
            source=source,
            undefined=_EMPTY[figure] if scheme == "micro" else "no averaged class has a gold label",
        )
        for figure, (name, formula) in FIGURES.items()
        for scheme, (title, explains, how) in SCHEMES.items()
    ]


def _classification() -> list[Measure]:
    accuracy = Measure(
        "accuracy",
        "accuracy",
        "classification",
        "share of items answered exactly right, the negative class included",
        "right / items",
        HARBECKE,
        "there are no items",
    )
    return [*_averages("", "classification", HARBECKE), accuracy]


def _semeval() -> list[Measure]:
    undefined = "no label of the inventory carries a direction"
    return [
        Measure(
            "semeval2010_f1",
            "official F1",
            "semeval2010",
            "mean F1 of the relations, right only with the right direction, skipped examples missed",
            "mean over relations of 2PR/(P+R); P over predictions in either direction, R over all gold",
            SEMEVAL,
            undefined,
            digits=2,
        ),
        Measure(
            "semeval2010_coverage",
            "coverage",
            "semeval2010",
            "share of examples that were answered",
            "answered / examples",
            SEMEVAL,
            "there are no examples",
        ),
        Measure(
            "semeval2010_accuracy_answered",
            "accuracy of answers",
            "semeval2010",
            "share of answered examples that are right; skipped ones left out",
            "right / answered",
            SEMEVAL,
            "no example was answered",
        ),
        Measure(
            "semeval2010_accuracy_as_other",
            "accuracy, skipped as Other",
            "semeval2010",
            "share of examples that are right when each skipped one is taken as Other",
            "(right + skipped examples without a direction) / examples",
            SEMEVAL,
            "there are no examples",
        ),
    ]


_RANKED: dict[str, tuple[str, str, str, str]] = {
    "ap": (
        "average precision",
        "mean of the precision at each fact, in the order of score",
        "Σ (R_k − R_{k−1})·P_k; without claims 0",
        "there are no facts",
    ),
    "auc": (
        "AUC",
        "area under precision against recall",
        "trapezoid over (recall, precision), from recall 0 and precision 1; without claims 0",
        "there are no facts",
    ),
    "max_f1": (
        "best micro F1",
        "the greatest F1 that any threshold gives",
        "max over k of 2·P_k·R_k / (P_k + R_k)",
        "there are no facts or no claims",
    ),
    "precision_at_tau": ("precision at τ*", "precision at the threshold of the best F1", "P at τ*", "τ* is"),
    "recall_at_tau": ("recall at τ*", "recall at the threshold of the best F1", "R at τ*", "τ* is"),
    "macro_f1_at_tau": (
        "macro F1 at τ*",
        "every relation counts alike, absent ones with 0, at the threshold of the best F1",
        "mean of F1 over the inventory, claims with a score of at least τ*",
        "τ* is",
    ),
    "p_at_100": ("P@100", "share of facts among the 100 surest claims", "hits in the first 100 / 100", ""),
    "p_at_200": ("P@200", "share of facts among the 200 surest claims", "hits in the first 200 / 200", ""),
    "p_at_300": ("P@300", "share of facts among the 300 surest claims", "hits in the first 300 / 300", ""),
    "p_at_mean": ("P@N mean", "mean of P@100, P@200 and P@300", "(P@100 + P@200 + P@300) / 3", ""),
}
_HALF: dict[str, tuple[str, str, str, str]] = {
    "micro_f1_at_half": (
        "micro F1 at 0.5",
        "F1 of claims with a score of at least 0.5",
        "2PR/(P+R)",
        "there are no facts or no claims",
    ),
    "macro_f1_at_half": (
        "macro F1 at 0.5",
        "every relation counts alike, claims with a score of at least 0.5",
        "mean of F1 over the inventory",
        "there are no facts or no claims",
    ),
}


def _ranked() -> list[Measure]:
    tau = Measure(
        "tau",
        "τ*",
        "bags",
        "the score of the first point with the best F1; a claim at or above it counts as made",
        "score at the maximum of F1",
        GAO,
        "there are no facts or no claims",
        digits=3,
        unit="",
        ranks=False,
    )
    return [*(_curve_measure("", "bags", GAO, key, *words) for key, words in _RANKED.items()), tau]


def _opennre() -> list[Measure]:
    kept = {key: words for key, words in (_RANKED | _HALF).items() if key != "ap"}
    kept["auc"] = (
        kept["auc"][0],
        kept["auc"][1],
        "trapezoid over the points alone, no starting point",
        "there are no facts, or fewer than 2 claims",
    )
    tau = Measure(
        "opennre_tau",
        "OpenNRE τ*",
        "opennre",
        "the score at the first maximum of F1",
        "score at the maximum of F1",
        OPENNRE,
        "there are no facts or no claims",
        digits=3,
        unit="",
        ranks=False,
    )
    return [
        *(_curve_measure("opennre_", "opennre", OPENNRE, key, *words) for key, words in kept.items()),
        tau,
    ]


def _curve_measure(
    prefix: str, family: str, source: str, key: str, title: str, explains: str, formula: str, undefined: str
) -> Measure:
    undefined = {"": "there are fewer claims than that", "τ* is": "there are no facts or no claims"}.get(
        undefined, undefined
    )
    name = f"OpenNRE {title}" if prefix else title
    return Measure(prefix + key, name, family, explains, formula, source, undefined)


def _muc() -> list[Measure]:
    readings = {
        "strict": ("strict", "correct when bounds and type agree, else incorrect"),
        "exact": ("exact", "correct when the bounds agree, whatever the type"),
        "partial": ("partial", "correct when the bounds agree, half when they only overlap"),
        "type": ("type", "correct when the type agrees and the spans overlap"),
    }
    formulas = {"f1": "2PR/(P+R)", "precision": "(COR + ½·PAR) / ACT", "recall": "(COR + ½·PAR) / POS"}
    names = {key: name for key, (name, _) in FIGURES.items()}
    undefined = {
        "f1": "no gold and no predicted spans",
        "precision": "no predicted spans",
        "recall": "no gold spans",
    }
    return [
        Measure(
            f"muc_{key}_{figure}",
            f"{title} {names[figure]}",
            "muc",
            words,
            formulas[figure],
            MUC,
            undefined[figure],
        )
        for figure in formulas
        for key, (title, words) in readings.items()
    ]


def _wrf() -> list[Measure]:
    weights = {
        "strict": "γ = 1/(C+1) for each type and for all types together",
        "lenient": "γ of all types together is twice that of a type",
    }
    pooled = "Σ γᵢ·R1-F1ᵢ over sums of |P∩T|, |P| and |T| per type"
    mean = "mean over documents of Σ γᵢ·R1-F1ᵢ"
    undefined = "no entity is gold or predicted"
    told = [
        (f"wrf_{mode}{ending}", f"WRF {mode}{words}", formula, gamma)
        for ending, words, formula in (("", "", pooled), ("_mean", ", mean of documents", mean))
        for mode, gamma in weights.items()
    ]
    explains = "overlap of the words inside entities; repeats within a document do not count"
    return [
        Measure(key, title, "wrf", explains, f"{formula}; {gamma}", WRF, undefined)
        for key, title, formula, gamma in told
    ]


MENU: dict[str, Measure] = {
    measure.key: measure
    for measure in chain(
        _classification(),
        _semeval(),
        _ranked(),
        _opennre(),
        _averages("conll_", "conll", CONLL),
        _muc(),
        _wrf(),
    )
}


def offered(unit: str) -> list[Measure]:
    """The measures that settings of a unit may have."""
    return [measure for measure in MENU.values() if unit in FAMILIES[measure.family].units]
