"""Every measure that a suite can emit: its name, what it says, how it is computed, where it is from."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """One measure; *low* and *high* bound its values."""

    title: str
    family: str
    explanation: str
    formula: str
    source: str
    low: float = 0.0
    high: float = 1.0
    higher_better: bool = True


HARBECKE = "Harbecke et al. 2022"
GAO = "Gao et al. 2021"
OPENNRE = "OpenNRE, Han et al. 2019"
SEMEVAL = "SemEval-2010 Task 8, Hendrickx et al. 2010"
CONLL = "CoNLL-2003, Tjong Kim Sang and De Meulder 2003"
MUC = "SemEval-2013 Task 9, Segura-Bedmar et al. 2013"
WRF = "Weber et al., WRF"

_SCHEMES = {
    "micro": ("Micro", "all classes counted together", "from summed counts"),
    "weighted": ("Weighted", "classes weigh as often as they occur", "w ∝ n"),
    "dodrans": ("Dodrans", "frequent classes weigh more, but less than in proportion", "w ∝ n^(3/4)"),
    "entropy": ("Entropy", "classes weigh by their part of the entropy of all items", "w ∝ −n·log(n/N)"),
    "entropy_positive": (
        "Entropy, positive",
        "classes weigh by their part of the entropy of the averaged classes",
        "w ∝ −n·log(n/Σn)",
    ),
    "macro": ("Macro", "every class with gold weighs the same", "w = 1 for n > 0"),
    "macro_all": ("Macro, whole inventory", "every class of the inventory weighs the same", "w = 1"),
}
_KINDS = {
    "f1": ("F1", "(1+β²)·tp / ((1+β²)·tp + β²·fn + fp)"),
    "precision": ("precision", "tp / (tp + fp)"),
    "recall": ("recall", "tp / (tp + fn)"),
}
_CLAIMS = {
    "auc": ("area under the curve", "trapezoids under precision over recall", "Σ ΔR·(P + P')/2"),
    "max_f1": ("best micro F1", "the greatest F1 that any threshold gives", "max 2·tp/(claims + facts)"),
    "tau": ("τ*", "the score at which F1 is greatest", "argmax F1"),
    "precision_at_tau": ("precision at τ*", "precision of claims at or above τ*", "tp / claims"),
    "recall_at_tau": ("recall at τ*", "share of all facts claimed at or above τ*", "tp / facts"),
    "macro_f1_at_tau": ("macro F1 at τ*", "mean F1 of all relations at τ*, absent ones 0", "mean F1"),
    "p_at_100": ("P@100", "precision of the first 100 claims", "hits in 100 / 100"),
    "p_at_200": ("P@200", "precision of the first 200 claims", "hits in 200 / 200"),
    "p_at_300": ("P@300", "precision of the first 300 claims", "hits in 300 / 300"),
    "p_at_mean": ("mean P@N", "mean of precision at 100, 200 and 300", "(P@100 + P@200 + P@300) / 3"),
}
_HALF = {
    "micro_f1_at_half": ("micro F1 at 0.5", "micro F1 of claims with a score of at least 0.5", "micro F1"),
    "macro_f1_at_half": ("macro F1 at 0.5", "mean F1 of all relations at a score of at least 0.5", "mean F1"),
}
_READINGS = {
    "strict": "bounds and label must agree",
    "exact": "bounds must agree, whatever the label",
    "partial": "overlap without equal bounds counts half",
    "type": "labels must agree on spans that overlap",
}
_MUC_FORMULAS = {
    "f1": "2·P·R / (P + R)",
    "precision": "(COR + ½·PAR) / ACT",
    "recall": "(COR + ½·PAR) / POS",
}


def _averages(prefix: str, family: str, source: str) -> dict[str, Measure]:
    return {
        f"{prefix}{scheme}_{kind}": Measure(f"{title} {name}", family, words, f"{formula}; {how}", source)
        for scheme, (title, words, how) in _SCHEMES.items()
        for kind, (name, formula) in _KINDS.items()
    }


def _claims(
    prefix: str, family: str, source: str, table: dict[str, tuple[str, str, str]]
) -> dict[str, Measure]:
    found = {}
    for key, (title, words, formula) in table.items():
        low, high = (float("-inf"), float("inf")) if key == "tau" else (0.0, 1.0)
        found[prefix + key] = Measure(title, family, words, formula, source, low, high)
    return found


def _muc() -> dict[str, Measure]:
    return {
        f"muc_{schema}_{kind}": Measure(
            f"SemEval-2013 {schema} {_KINDS[kind][0]}", "muc", words, formula, MUC
        )
        for schema, words in _READINGS.items()
        for kind, formula in _MUC_FORMULAS.items()
    }


def _wrf() -> dict[str, Measure]:
    gamma = {"strict": "γ = 1/(C+1)", "lenient": "γ of the combined class is twice the others'"}
    words = "overlap of the words inside entities, per class and for all classes together"
    pooled = {
        f"wrf_{mode}": Measure(f"WRF {mode}", "wrf", words, f"Σ γ·R1-F1 of summed sizes; {how}", WRF)
        for mode, how in gamma.items()
    }
    mean = {
        f"wrf_{mode}_mean": Measure(
            f"WRF {mode}, mean", "wrf", words, f"mean over documents of Σ γ·R1-F1; {how}", WRF
        )
        for mode, how in gamma.items()
    }
    return pooled | mean


MEASURES: dict[str, Measure] = {
    **_averages("", "classification", HARBECKE),
    "accuracy": Measure(
        "Accuracy", "classification", "share of items answered exactly right", "right / items", HARBECKE
    ),
    "semeval2010_f1": Measure(
        "SemEval-2010 official F1",
        "semeval2010",
        "mean F1 of the relations, right only in the right direction",
        "mean F1; P over predictions in either direction",
        SEMEVAL,
    ),
    "semeval2010_coverage": Measure(
        "SemEval-2010 coverage", "semeval2010", "share of items with an answer", "answered / items", SEMEVAL
    ),
    "semeval2010_accuracy_answered": Measure(
        "SemEval-2010 accuracy of answers",
        "semeval2010",
        "skipped items left out",
        "right / answered",
        SEMEVAL,
    ),
    "semeval2010_accuracy_as_other": Measure(
        "SemEval-2010 accuracy, skipped as Other",
        "semeval2010",
        "skipped items taken as answered Other",
        "(right + skipped Other) / items",
        SEMEVAL,
    ),
    **_averages("conll_", "conll", CONLL),
    **_muc(),
    **_wrf(),
    "ap": Measure("Average precision", "bags", "precision at every gain of recall", "Σ ΔR·P", GAO),
    **_claims("", "bags", GAO, _CLAIMS),
    **_claims("opennre_", "opennre", OPENNRE, _CLAIMS | _HALF),
    **_averages("relation_bounds_", "relation_bounds", CONLL),
    **_averages("relation_strict_", "relation_strict", CONLL),
}
