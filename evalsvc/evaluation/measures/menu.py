"""Registry of measures: pages, commands and documents list what is here.

A measure is one `Measure(…)` here and one function in `workers.metrics` whose suite emits its key.
Importable without Django and without NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from evalsvc.evaluation.measures.computation import f_title
from evalsvc.evaluation.measures.families import FAMILIES, Family

if TYPE_CHECKING:
    from evalsvc.evaluation.models import Setting

Positions = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a score, with its explanation and default positions.

    `unit` is "%" for shares, empty for plain numbers. `unranked` is the reason why a measure orders no
    board. `board` and `submission` map a kind of settings to the position on that page;
    `comparison` is the position in the `compare` command. Without a position a measure is not shown first.
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
    unranked: str = ""
    low: float = 0.0
    high: float = 1.0
    board: Positions = field(default_factory=dict)
    submission: Positions = field(default_factory=dict)
    comparison: int = 0

    @property
    def ranks(self) -> bool:
        return not self.unranked

    @property
    def last_digit(self) -> float:
        """A unit of the last digit shown."""
        return float(10.0**-self.digits / (100 if self.unit == "%" else 1))


MEASURES: dict[str, Measure] = {}
"""Every measure that a suite can emit."""
MENU: dict[str, Measure] = {}
"""The measures that a setting can have."""
RELATION_FAMILIES = ("relation_strict", "relation_bounds", "relation_relaxed")
ENTITY_FAMILIES = ("conll", "muc", "wrf")
TEXT_FAMILIES = {"entity_texts": "string_", "triple_texts": "triple_"}
BETA_FAMILIES = ("classification", "conll", *RELATION_FAMILIES, *TEXT_FAMILIES)


def register(*measures: Measure) -> None:
    """Add measures to the registry; lists keep this order."""
    for measure in measures:
        MEASURES[measure.key] = measure
        if FAMILIES[measure.family].kinds:
            MENU[measure.key] = measure


def offered(kind: str) -> list[Measure]:
    """Return the measures that settings of a kind can have."""
    return [measure for measure in MENU.values() if kind in FAMILIES[measure.family].kinds]


def menu_of(setting: Setting) -> dict[str, Measure]:
    """Return the menu with the measures that are contributed to the benchmark of a setting."""
    return _with_contributed(setting, lambda entry: not entry.get("retired"))


def contributed_to(setting: Setting) -> list[Measure]:
    """Return the contributed measures of a setting that boards show."""
    return [measure for key, measure in menu_of(setting).items() if key not in MENU]


def scored_of(setting: Setting) -> dict[str, Measure]:
    """Return the menu with all contributed measures that have scores, also the retired ones."""
    return _with_contributed(setting, lambda entry: True)


def _with_contributed(setting: Setting, chosen: Callable[[dict[str, Any]], bool]) -> dict[str, Measure]:
    entries = setting.benchmark.contributed
    own = (each for each in entries if setting.kind in FAMILIES[each["base"]].kinds and chosen(each))
    return MENU | {each["key"]: _contributed(**each) for each in own} if entries else MENU


def _contributed(key: str, title: str, base: str, formula: str, *, retired: bool = False) -> Measure:
    """Return the entry of a contributed measure."""
    return Measure(
        key,
        f"{title} (retired)" if retired else title,
        base,
        "contributed to this benchmark by a member",
        formula,
        "contributed",
        "no averaged class has gold or predictions, or this form of predictions has no such figures",
    )


def by_family(measures: Iterable[Measure]) -> list[tuple[str, Family, list[Measure]]]:
    """Group measures as (key, family, measures), without empty families."""
    chosen = list(measures)
    groups = [(key, family, [m for m in chosen if m.family == key]) for key, family in FAMILIES.items()]
    return [group for group in groups if group[2]]


# ---- defaults: measures shown first -----------------------------------------------------------------
def shown_measures(setting: Setting, present: Collection[str]) -> list[Measure]:
    """List the measures present that a setting shows, as it shows them."""
    menu = menu_of(setting)
    allowed = {*(setting.measures or MENU), *(menu.keys() - MENU.keys())}
    return [as_shown(setting, key) for key in menu if key in present and key in allowed]


def board_measures(setting: Setting, present: Collection[str]) -> list[Measure]:
    """List the columns of a board, the main measure first.

    The setting's or the default ones follow, as far as they are present.
    """
    usual = setting.measures or _by_position(setting.kind, "board")
    usual = [*usual, *(key for key in menu_of(setting) if key not in MENU)]
    keys = dict.fromkeys([setting.main, *(key for key in usual if key in present)])
    return [as_shown(setting, key) for key in keys]


def submission_measures(setting: Setting, present: Collection[str]) -> list[str]:
    """List the measures shown first for a submission, if present."""
    usual = setting.measures or _by_position(setting.kind, "submission")
    usual = [*usual, *(key for key in menu_of(setting) if key not in MENU)]
    return list(dict.fromkeys(key for key in (setting.main, *usual) if key in present))


def _by_position(kind: str, page: str) -> list[str]:
    placed = [(getattr(m, page)[kind], m.key) for m in offered(kind) if kind in getattr(m, page)]
    return [key for _, key in sorted(placed, key=lambda pair: pair[0])]


def compared_measures() -> list[str]:
    """List the measures that `compare` tests by default."""
    return [m.key for m in sorted(MEASURES.values(), key=lambda m: m.comparison) if m.comparison]


def as_shown(setting: Setting, key: str) -> Measure:
    """Return a measure with the digits and main direction of a setting."""
    if key in MENU:
        measure = with_beta(MENU[key], setting.benchmark.options.get("beta", 1))
    else:
        measure = scored_of(setting)[key]
    if key in MENU and setting.kind == "joint" and measure.family in ENTITY_FAMILIES:
        measure = replace(measure, title=f"entity {measure.title}")
    measure = _with_digits(measure, setting)
    if key == setting.main and setting.lower_is_better is not None:
        measure = replace(measure, higher_is_better=not setting.lower_is_better)
    return measure


def _with_digits(measure: Measure, setting: Setting) -> Measure:
    shares = setting.digits is not None and measure.unit == "%"
    return replace(measure, digits=setting.digits or 0) if shares else measure


def with_beta(measure: Measure, beta: float) -> Measure:
    """Return the measure as named for a β: F2 for 2."""
    if beta == 1 or measure.family not in BETA_FAMILIES or not measure.key.endswith("_f1"):
        return measure
    return replace(measure, title=measure.title.replace("F1", f_title(beta)))


def scheme_measures(setting: Setting, present: Collection[str]) -> list[str]:
    """List the five weightings of F1, or nothing if one is absent.

    Those of the main measure's relations, where entities and relations are scored together.
    """
    family = as_shown(setting, setting.main).family
    usual = "conll_" if setting.unit == "document" else ""
    prefix = f"{family}_" if family in RELATION_FAMILIES else TEXT_FAMILIES.get(family, usual)
    keys = [f"{prefix}{scheme}_f1" for scheme in ("micro", "weighted", "dodrans", "entropy", "macro")]
    return keys if all(key in present for key in keys) else []


def other_form(key: str, present: Collection[str]) -> list[str]:
    """List the mean over documents of a pooled WRF, or the pooled form of such a mean, if it is present."""
    pooled = key.removesuffix("_mean")
    other = f"{key}_mean" if pooled == key else pooled
    return [other] if key.startswith("wrf_") and other in present else []


# ---- averages over classes --------------------------------------------------------------------------
GAO = "Gao et al. 2021"
HARBECKE = "Harbecke et al. 2022"
OPENNRE = "Han et al. 2019, the OpenNRE toolkit"
SEMEVAL = "Hendrickx et al. 2010, the task's scorer"
CONLL = "Tjong Kim Sang and De Meulder 2003"
MUC = "Chinchor and Sundheim 1993; Segura-Bedmar et al. 2013"
TAILLE = "Taillé et al. 2020"
RELAXED = "Two systems may differ in bounds alone. Rank by strict or boundaries."
WRF = "Weber et al., WRF: Weighted Rouge-F1 Metric for Entity Recognition"


class Scheme(NamedTuple):
    """A weighting of classes; the positions are those of its F1."""

    title: str
    explains: str
    formula: str
    board: Positions = {}
    submission: Positions = {}


SCHEMES: dict[str, Scheme] = {
    "micro": Scheme(
        "micro",
        "every label has equal weight, so frequent classes dominate",
        "from counts summed over classes",
        {"sentence": 2, "bag": 6, "document": 1},
        {"sentence": 2, "document": 1},
    ),
    "weighted": Scheme(
        "weighted",
        "classes are weighted by frequency",
        "Σ wᵢ·sᵢ with wᵢ ∝ nᵢ",
        submission={"sentence": 3, "document": 2},
    ),
    "dodrans": Scheme(
        "dodrans",
        "classes are weighted by frequency to the power ¾",
        "Σ wᵢ·sᵢ with wᵢ ∝ nᵢ^¾",
        submission={"sentence": 4, "document": 3},
    ),
    "entropy": Scheme(
        "entropy",
        "classes are weighted by their share of the label entropy; N of sentences has the negative class",
        "Σ wᵢ·sᵢ with wᵢ ∝ −nᵢ·log(nᵢ/N), N = Σ max(1, labels of a sentence); of bags and entities Σ nᵢ",
        submission={"sentence": 5, "document": 4},
    ),
    "entropy_positive": Scheme(
        "positive-entropy",
        "as entropy, with N over the averaged classes only",
        "Σ wᵢ·sᵢ with wᵢ ∝ −nᵢ·log(nᵢ/N), N = Σ nᵢ",
    ),
    "macro": Scheme(
        "macro",
        "every class that occurs in the gold has equal weight",
        "mean of sᵢ over classes with nᵢ > 0",
        {"sentence": 3, "bag": 7, "document": 2},
        {"sentence": 6, "document": 5},
    ),
    "macro_all": Scheme(
        "whole-inventory macro",
        "every class of the inventory has equal weight; a class that does not occur scores 0",
        "mean of sᵢ over the inventory",
    ),
}
RATIOS: dict[str, tuple[str, str, str]] = {
    "f1": (
        "F1",
        "F_β = (1+β²)·tp / ((1+β²)·tp + β²·fn + fp), β = 1 unless set",
        "there are no gold labels and no predictions",
    ),
    "precision": ("precision", "P = tp / (tp + fp)", "there are no predictions"),
    "recall": ("recall", "R = tp / (tp + fn)", "no averaged class has a gold label"),
}
UNDEFINED_AVERAGES = {"precision": "no averaged class has a gold label, or there are no predictions"}


MODES = {
    "relation_strict": "name, direction, bounds and types of both entities agree; ",
    "relation_bounds": "name, direction and bounds of both entities agree; ",
    "relation_relaxed": "name and direction agree, both entities overlap and have the right types; ",
    "entity_texts": "text and label agree, each distinct pair of a document counts once; ",
    "triple_texts": "head, relation and tail agree, each distinct triple of a document counts once; ",
}
MODE_TITLES = {"relation_strict": "strict ", "relation_bounds": "boundaries ", "relation_relaxed": "relaxed "}
MODE_TITLES |= {"entity_texts": "text ", "triple_texts": "triple "}


def averages(
    prefix: str,
    family: str,
    source: str,
    comparison: Positions | None = None,
    *,
    joint: Positions | None = None,
    positions: Mapping[str, tuple[Positions, Positions]] | None = None,
    unranked: str = "",
) -> list[Measure]:
    """Make F1, precision and recall under every scheme; F1 first.

    `joint`: positions by scheme where entities and relations are scored together; `positions`: all those on
    boards and submissions, instead of the usual ones.
    """
    place = {key: {"joint": position} for key, position in (joint or {}).items()}
    return [
        Measure(
            f"{prefix}{key}_{ratio}",
            f"{MODE_TITLES.get(family, '')}{scheme.title} {title}",
            family,
            f"{MODES.get(family, '')}{scheme.explains}",
            f"{scheme.formula}; {formula}",
            source,
            undefined if key == "micro" else UNDEFINED_AVERAGES.get(ratio, RATIOS["recall"][2]),
            unranked=unranked,
            board={**usual.board, **place.get(key, {})} if ratio == "f1" else {},
            submission={**usual.submission, **place.get(key, {})} if ratio == "f1" else {},
            comparison=(comparison or {}).get(key, 0) if ratio == "f1" else 0,
        )
        for ratio, (title, formula, undefined) in RATIOS.items()
        for key, scheme in SCHEMES.items()
        for usual in [scheme if positions is None else Scheme("", "", "", *positions.get(key, ()))]
    ]


# ---- the registry -----------------------------------------------------------------------------------
register(
    *averages("", "classification", HARBECKE, {"micro": 1, "macro": 2, "weighted": 3}),
    Measure(
        "accuracy",
        "accuracy",
        "classification",
        "share of items with exactly the gold answer, including the negative class",
        "correct / items",
        HARBECKE,
        "there are no items",
        board={"sentence": 4},
        submission={"sentence": 7},
        comparison=5,
    ),
    Measure(
        "semeval2010_f1",
        "official F1",
        "semeval2010",
        "mean F1 of the relations; the direction must be correct, and skipped examples count as missed",
        "mean over relations of 2PR/(P+R); P over predictions in either direction, R over all gold",
        SEMEVAL,
        "no label has a direction, or no relation has a gold label",
        digits=2,
        board={"sentence": 1},
        submission={"sentence": 1},
        comparison=4,
    ),
    Measure(
        "semeval2010_coverage",
        "coverage",
        "semeval2010",
        "share of examples with an answer",
        "answered / examples",
        SEMEVAL,
        "there are no examples, or no label has a direction",
    ),
    Measure(
        "semeval2010_accuracy_answered",
        "accuracy of answers",
        "semeval2010",
        "share of answered examples that are correct, without skipped ones",
        "correct / answered",
        SEMEVAL,
        "no example was answered, or no label has a direction",
    ),
    Measure(
        "semeval2010_accuracy_as_other",
        "accuracy, skipped as Other",
        "semeval2010",
        "share of examples that are correct if each skipped one is counted as Other",
        "(correct + skipped examples without a direction) / examples",
        SEMEVAL,
        "there are no examples, or no label has a direction",
    ),
)

NO_FACTS, NO_RANKING = "there are no facts", "there are no facts or no claims"
AUC = "area under the precision–recall curve"
register(
    Measure(
        "ap",
        "average precision",
        "bags",
        "mean of the precision at each fact, by falling score",
        "Σ (R_k − R_{k−1})·P_k; without claims 0",
        GAO,
        NO_FACTS,
        board={"sentence": 5, "bag": 1},
        submission={"sentence": 8, "bag": 1},
        comparison=10,
    ),
    Measure(
        "auc",
        "AUC",
        "bags",
        AUC,
        "trapezoid over (recall, precision), from recall 0 and precision 1; without claims 0",
        GAO,
        NO_FACTS,
        unranked="It rises with ties: with every fact claimed, one constant score reaches "
        "(100 + precision of all claims) / 2, so 50 or more. Rank by average precision, `ap`.",
        board={"bag": 2},
        submission={"bag": 2},
    ),
    Measure(
        "auc_under_ties",
        "AUC under ties",
        "bags",
        "share of the AUC that lies under tied scores; ties alone can reach an AUC of 50 or more",
        "area of the steps with several claims / AUC",
        "Davis and Goadrich 2006",
        "the AUC is 0 or undefined",
        higher_is_better=False,
        unranked="It describes the AUC, not the system.",
        submission={"bag": 3},
    ),
    Measure(
        "max_f1",
        "best micro F1",
        "bags",
        "the highest F1 at any threshold",
        "max over k of 2·P_k·R_k / (P_k + R_k)",
        GAO,
        NO_RANKING,
        board={"sentence": 6, "bag": 3},
        submission={"sentence": 9, "bag": 4},
        comparison=12,
    ),
    Measure(
        "precision_at_tau",
        "precision at τ*",
        "bags",
        "precision at the threshold of the best F1",
        "P at τ*",
        GAO,
        NO_RANKING,
    ),
    Measure(
        "recall_at_tau",
        "recall at τ*",
        "bags",
        "recall at the threshold of the best F1",
        "R at τ*",
        GAO,
        NO_RANKING,
    ),
    Measure(
        "macro_f1_at_tau",
        "macro F1 at τ*",
        "bags",
        "every relation has equal weight, absent ones score 0, at the threshold of the best F1",
        "mean of F1 over the inventory, claims with a score of at least τ*",
        GAO,
        NO_RANKING,
        board={"bag": 4},
        submission={"bag": 6},
    ),
    *(
        Measure(
            f"p_at_{n}",
            f"P@{n}",
            "bags",
            f"share of facts among the {n} highest-scored claims",
            f"hits in the first {n} / {n}",
            GAO,
            f"there are fewer than {n} claims",
            board={"bag": 5} if n == 100 else {},
            submission={"bag": 6 + n // 100},
        )
        for n in (100, 200, 300)
    ),
    Measure(
        "p_at_mean",
        "P@N mean",
        "bags",
        "mean of P@100, P@200 and P@300",
        "(P@100 + P@200 + P@300) / 3",
        GAO,
        "there are fewer than 300 claims",
    ),
    Measure(
        "tau",
        "τ*",
        "bags",
        "score of the first point with the best F1; claims from it on count, unless a threshold is set",
        "score at the maximum of F1",
        GAO,
        NO_RANKING,
        digits=3,
        unit="",
        unranked="It is a threshold.",
        low=float("-inf"),
        high=float("inf"),
        submission={"sentence": 10, "bag": 5},
    ),
)


def as_opennre(key: str, **changed: Any) -> Measure:
    """Turn a measure of ranked claims into its OpenNRE variant."""
    measure = MEASURES[key]
    variant: dict[str, Any] = {
        "family": "opennre",
        "source": OPENNRE,
        "board": {},
        "submission": {},
        "comparison": 0,
    }
    return replace(measure, key=f"opennre_{key}", title=f"OpenNRE {measure.title}", **variant | changed)


register(
    as_opennre(
        "auc",
        formula="trapezoid over the points alone, without a starting point",
        undefined="there are no facts, or fewer than 2 claims",
        unranked="",
        comparison=13,
    ),
    as_opennre("max_f1", comparison=14),
    *map(as_opennre, ("precision_at_tau", "recall_at_tau")),
    as_opennre(
        "macro_f1_at_tau",
        explains="every relation has equal weight, at the threshold of the best F1; only facts that the file "
        "scores are gold",
    ),
    *map(as_opennre, ("p_at_100", "p_at_200", "p_at_300", "p_at_mean")),
    Measure(
        "opennre_micro_f1_at_half",
        "OpenNRE micro F1 at 0.5",
        "opennre",
        "F1 of claims with a score of at least 0.5; only facts that the file scores are gold, so it may "
        "exceed the best micro F1",
        "2PR/(P+R)",
        OPENNRE,
        NO_RANKING,
    ),
    Measure(
        "opennre_macro_f1_at_half",
        "OpenNRE macro F1 at 0.5",
        "opennre",
        "every relation has equal weight, claims with a score of at least 0.5; only facts that the file "
        "scores are gold",
        "mean of F1 over the inventory",
        OPENNRE,
        NO_RANKING,
    ),
    as_opennre("tau", explains="score of the first maximum of F1"),
)

MUC_SCHEMAS = {
    "strict": ("correct if bounds and type agree, otherwise incorrect", {}, 6),
    "exact": ("correct if the bounds agree, regardless of the type", {}, 7),
    "partial": ("correct if the bounds agree, half correct if they only overlap", {"document": 4}, 8),
    "type": ("correct if the type agrees and the spans overlap", {"document": 3}, 9),
}
MUC_RATIOS = {
    "f1": ("F1", "2PR/(P+R)", "there are no gold spans and no predicted spans"),
    "precision": ("precision", "(COR + ½·PAR) / ACT", "there are no predicted spans"),
    "recall": ("recall", "(COR + ½·PAR) / POS", "there are no gold spans"),
}
WRF_WEIGHTS = {
    "strict": "γ = 1/(C+1) for each type and for all types together, C = types that gold or predictions have",
    "lenient": "γ of all types together is twice that of a type that gold or predictions have",
}
WRF_MEANS = {
    "": ("", "Σ γᵢ·R1-F1ᵢ over sums of |P∩T|, |P| and |T| per type"),
    "_mean": (", mean of documents", "mean over documents of Σ γᵢ·R1-F1ᵢ"),
}
register(
    *averages("conll_", "conll", CONLL, {"micro": 6, "macro": 7}, joint={"micro": 5, "macro": 6}),
    *(
        Measure(
            f"muc_{schema}_{ratio}",
            f"{schema} {title}",
            "muc",
            explains,
            formula,
            MUC,
            undefined,
            board=board if ratio == "f1" else {},
            submission={"document": position} if ratio == "f1" else {},
            comparison=8 if (schema, ratio) == ("partial", "f1") else 0,
        )
        for ratio, (title, formula, undefined) in MUC_RATIOS.items()
        for schema, (explains, board, position) in MUC_SCHEMAS.items()
    ),
    *(
        Measure(
            f"wrf_{mode}{ending}",
            f"WRF {mode}{words}",
            "wrf",
            "overlap of the words inside entities; repeats within a document are not counted",
            f"{formula}; {gamma}",
            WRF,
            "no gold or predicted entity contains a word",
            board={} if ending else {"document": 5 + (mode == "lenient")},
            submission={} if ending else {"document": 10 + (mode == "lenient")},
            comparison=9 if (mode, ending) == ("lenient", "") else 0,
        )
        for ending, (words, formula) in WRF_MEANS.items()
        for mode, gamma in WRF_WEIGHTS.items()
    ),
    *averages(
        "relation_strict_",
        "relation_strict",
        TAILLE,
        {"micro": 15, "macro": 16},
        joint={"micro": 1, "macro": 2},
    ),
    *averages("relation_bounds_", "relation_bounds", TAILLE, {"micro": 17}, joint={"micro": 3}),
    *averages("relation_relaxed_", "relation_relaxed", TAILLE, joint={"micro": 4}, unranked=RELAXED),
    *(
        Measure(
            f"relation_{mode}_ceiling",
            f"{title} ceiling",
            f"relation_{mode}",
            f"share of gold relations with both entities predicted, {ends}: recall cannot exceed it",
            "gold relations with both entities predicted / gold relations",
            TAILLE,
            "there are no gold relations",
            unranked="It describes the entities, not the relations.",
            submission={"joint": position},
        )
        for mode, title, ends, position in (
            ("strict", "strict", "with bounds and type", 8),
            ("bounds", "boundaries", "with their bounds", 9),
        )
    ),
    Measure(
        "relation_bounds_entity_f1",
        "entity F1 without types",
        "relation_bounds",
        "a span is correct if its start and end are those of a gold span, regardless of its type",
        "2PR/(P+R) over spans without their types",
        TAILLE,
        "there are no gold spans and no predicted spans",
        unranked="It describes the entities, not the relations.",
        submission={"joint": 7},
    ),
)

# ---- answers without offsets ------------------------------------------------------------------------
TEXTS = "decided here: sets of texts per document"
NO_SHARE = "It describes the answers, not whether they are right."
NO_ANSWER = "there are no answers"
TEXT_POSITIONS: dict[str, tuple[Positions, Positions]] = {
    "micro": ({"document": 7, "joint": 10}, {"document": 14, "joint": 10}),
    "macro": ({}, {"document": 15, "joint": 11}),
}
register(
    *(
        measure
        for place, (family, prefix) in enumerate(TEXT_FAMILIES.items(), 18)
        for measure in (
            *averages(prefix, family, TEXTS, {"micro": place}, positions=TEXT_POSITIONS),
            *(
                Measure(
                    f"{prefix}answered_{ratio}",
                    f"{MODE_TITLES[family]}micro {RATIOS[ratio][0]}, answered documents",
                    family,
                    "over the documents that the system did not abstain from",
                    f"from counts summed over classes; {RATIOS[ratio][1]}",
                    TEXTS,
                    "the answered documents have no gold, or there are none",
                    unranked="A system that abstains from the hard documents has the higher figure.",
                    submission={"document": 16, "joint": 12} if ratio == "f1" else {},
                )
                for ratio in ("f1", "recall")
            ),
        )
    ),
    *(
        Measure(
            f"answers_{key}",
            title,
            "answers",
            explains,
            formula,
            TEXTS,
            undefined,
            higher_is_better=key == "coverage",
            unranked=NO_SHARE,
            board={} if key == "coverage" else {"document": position, "joint": position},
            submission={"document": position, "joint": position},
        )
        for position, (key, title, explains, formula, undefined) in enumerate(
            (
                (
                    "not_in_text",
                    "not in the text",
                    "share of the distinct answers with a text that does not occur in the document",
                    "absent / distinct answers",
                    NO_ANSWER,
                ),
                (
                    "foreign_label",
                    "outside the inventory",
                    "share of the distinct answers with a label that the benchmark lacks",
                    "foreign / distinct answers",
                    NO_ANSWER,
                ),
                (
                    "abstained",
                    "abstained",
                    "share of the documents from which the system abstained",
                    "abstained / documents",
                    "there are no documents",
                ),
                (
                    "coverage",
                    "coverage",
                    "share of the documents that the system did not abstain from",
                    "1 − abstained / documents",
                    "there are no documents",
                ),
            ),
            17,
        )
    ),
)
