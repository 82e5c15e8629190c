"""Greatest change of a figure by one gold label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, log
from typing import NamedTuple

from evalsvc.evaluation.disclosure.rules import CLASS_STEP

# A label moves the threshold, and so a figure at it, by any amount; and the AUC by half of where a file, by
# tying all later claims, ends it: the first claims alone then decide what is shown.
NEVER_SHOWN = re.compile(r"(.*_)?tau|auc(_under_ties)?")
TAU = "tau"
OVER_THRESHOLDS = re.compile(r"(opennre_)?(ap|auc|max_f1|p_at_.+)")
RATIOS = ("f1", "precision", "recall")
PREFIXES = ("opennre_", "conll_")
OF_RELATIONS = re.compile(r"relation_(strict|bounds|relaxed)_(.+)")
OF_TEXTS = re.compile(r"(string|triple)_(.+)")
AT_N = re.compile(r"p_at_(\d+)")
# Their denominator is chosen by the file: the gold of the documents it answers, or the claims it gets right.
CHOSEN = re.compile(r".*answered(_.+)?|opennre_(micro|macro)_f1_at_half")
DIRECTED = re.compile(r"(.+)\((?:e1,e2|e2,e1)\)")
# Spans that each overlap two make a chain: with one gold span less, all of them pair with others.
OF_PAIRS = re.compile(r"muc_type_.+")


class WordCounts(NamedTuple):
    """Distinct words in the entities of each document, by label and of all under none.

    Then the most in one entity, and the documents with any.
    """

    words: Mapping[str, int]
    longest: int
    documents: int


@dataclass(frozen=True)
class GoldCounts:
    """Sizes of a gold: units, labels of averaged classes, and items or bags without a label.

    `averaged_negative` names the negative class where files of one label per item average it as well.
    Joint gold has relations besides; one label of a span moves as many of them as end at it. `answers` are
    the distinct texts of a document, by label, and `answers_of_relations` those of both ends, by relation.
    `words` are those that WRF compares, by the form of a file. `bounds` are the distinct ones of entities,
    where they may have several labels; `relations_of_bounds` are those between them, whatever the labels of
    their ends.
    """

    items: int
    classes: Mapping[str, int]
    negative: int = 0
    entropy_items: int = 0
    beta: float = 1.0
    relations: Mapping[str, int] = field(default_factory=dict)
    relations_of_span: int = 1
    answers: Mapping[str, int] = field(default_factory=dict)
    answers_of_relations: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, WordCounts] = field(default_factory=dict)
    bounds: int = 0
    relations_of_bounds: Mapping[str, int] = field(default_factory=dict)
    averaged_negative: str = ""

    @cached_property
    def readings(self) -> list[GoldCounts]:
        """Return the sizes as forms of files read them.

        Sets of labels and scores, the last reading, average no negative class.
        """
        sets = replace(self, averaged_negative="")
        classes = {**self.classes, self.averaged_negative: self.negative}
        single = replace(sets, classes=classes, negative=0)
        return [single, sets] if self.averaged_negative else [self]

    @cached_property
    def labels(self) -> int:
        """Return the number of all labels, of relations too."""
        return self.positives + sum(self.relations.values())

    def of_relations(self, mode: str) -> GoldCounts:
        """Return the sizes that figures of relations are over."""
        counts = self.relations_of_bounds if mode == "bounds" else self.relations
        return GoldCounts(self.items, counts or self.relations, beta=self.beta)

    @cached_property
    def positives(self) -> int:
        return sum(self.classes.values())

    @cached_property
    def present(self) -> dict[str, int]:
        return {name: count for name, count in self.classes.items() if count}

    @cached_property
    def share_of_label(self) -> float:
        """Change of F_β by one label, times the number of labels.

        2 for F1.
        """
        return (1 + self.beta**2) / min(self.beta**2, 1.0)

    @property
    def least_class(self) -> int:
        """Return the labels of a class from which on one label moves its F_β by a whole percent at most."""
        return ceil(round(self.share_of_label / CLASS_STEP, 6))


def largest_change(key: str, gold: GoldCounts, claims: Mapping[str, int]) -> float | None:
    """Return the most that one gold label moves a measure, in whatever form a file comes.

    `claims` are the predictions of the file per class; of a negative class they count only if it is averaged.
    None: the measure is never shown.
    """
    readings = gold.readings
    if key.endswith("precision") and claims and gold.averaged_negative not in claims:
        readings = readings[-1:]  # a file of sets or scores, whose form tells it
    changes = [_in_reading(key, each, claims) for each in readings]
    known = [change for change in changes if change is not None]
    return max(known) if len(known) == len(changes) else None


def _in_reading(key: str, gold: GoldCounts, claims: Mapping[str, int]) -> float | None:
    if any(kept.fullmatch(key) for kept in (NEVER_SHOWN, CHOSEN, OF_PAIRS)):
        return None
    if match := OF_TEXTS.fullmatch(key):
        return _of_texts(match[1], match[2], gold)
    if (match := OF_RELATIONS.fullmatch(key)) and match[2] != "entity_f1":
        change = largest_change(match[2], gold.of_relations(match[1]), claims)
        return None if change is None else change * gold.relations_of_span
    name = key
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    if (change := _of_size(name, gold)) is not None:
        return change
    if not gold.positives:
        return 1.0
    scheme, _, ratio = name.rpartition("_")
    if scheme in WEIGHTS and ratio in RATIOS:
        return _of_average(WEIGHTS[scheme](gold), ratio, gold.present, claims, gold.share_of_label)
    if ratio == "precision":
        # N/A is no claim: a file of 5,000 lines may claim a single label
        return 1 / max(sum(claims.get(name, 0) for name in gold.classes), 1)
    if ratio == "recall" or name == "ceiling":
        return 1 / gold.positives
    return _of_classes(name, gold)


def _of_texts(kind: str, name: str, gold: GoldCounts) -> float | None:
    """Return the change of a measure over distinct answers.

    Repeated answers count once, so the claims of a file bound no precision.
    """
    if name.endswith("precision"):
        return None
    counts, most = gold.answers, 1
    if kind == "triple":
        counts, most = gold.answers_of_relations, gold.relations_of_span
    change = largest_change(name, GoldCounts(gold.items, counts, beta=gold.beta), {})
    return None if change is None else change * most


def _of_size(name: str, gold: GoldCounts) -> float | None:
    """Return the change of measures that depend on a size alone."""
    if name in ("ap", "auc"):  # OpenNRE's AUC, which has a point for each claim
        return (2 + log(gold.positives or 1)) / (gold.positives or 1)
    if "accuracy" in name or "coverage" in name or name.startswith("answers_"):
        return 1 / max(gold.items, 1)
    if name == "p_at_mean":
        return (1 / 100 + 1 / 200 + 1 / 300) / 3
    match = AT_N.fullmatch(name)
    return 1 / int(match[1]) if match else None


def _of_classes(name: str, gold: GoldCounts) -> float:
    """Return the change of an average, else of micro F."""
    if name == "relation_bounds_entity_f1":
        return gold.share_of_label / (gold.bounds or gold.positives)
    micro = gold.share_of_label / gold.positives
    if name == "semeval2010_f1":
        stems: Counter[str] = Counter()
        for label, count in gold.present.items():
            if match := DIRECTED.fullmatch(label):
                stems[match[1]] += count
        if not stems:
            return 1.0
        return _of_average(dict.fromkeys(stems, 1 / len(stems)), "f1", stems, {}, 2)
    if name.startswith("wrf_"):
        return max((_of_words(name, gold, counts) for counts in gold.words.values()), default=1.0)
    return micro


def _of_words(name: str, gold: GoldCounts, counts: WordCounts) -> float:
    """Return the change of WRF in one form of files."""
    # the classes that a file has beside those of the gold only lower the share of each
    share = 1 / (len(gold.present) + 1) if len(gold.classes) > 1 else 0.0
    words = {label: max(counts.words.get(label, 0), 1) for label in gold.present}
    of_classes = _of_average(dict.fromkeys(gold.present, share), "f1", words, {}, 2 * counts.longest)
    of_classes += 2 * counts.longest / max(counts.words.get("", 0), 1)
    # a label may be all that a document has; those without words are in no mean
    return of_classes + 1 / max(counts.documents - 1, 1) * name.endswith("_mean")


def _of_average(
    weights: Mapping[str, float],
    ratio: str,
    gold: Mapping[str, int],
    claims: Mapping[str, int],
    share: float,
) -> float:
    """Return max wᵢ·2/nᵢ.

    A precision also moves by one claim of its class, at most by max wᵢ ÷ the fewest claims. By the weight
    of that class, files that claim few of it would ask for its size.
    """
    if ratio == "precision":
        fewest = max(min(claims.get(name, 0) for name in gold), 1)
        return max(*(weights[name] * 2 / gold[name] for name in gold), max(weights.values()) / fewest)
    return max(weights[name] * share / gold[name] for name in gold)


# ---- weights of the classes with gold --------------------------------------------------------------
def _normalised(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    if total <= 0:
        return dict.fromkeys(weights, 1 / len(weights))
    return {name: weight / total for name, weight in weights.items()}


def _powers(gold: GoldCounts, power: float) -> dict[str, float]:
    return _normalised({name: count**power for name, count in gold.present.items()})


def _entropies(gold: GoldCounts, total: int) -> dict[str, float]:
    present = gold.present.items()
    return _normalised({name: -count * log(min(count / max(total, 1), 1.0)) for name, count in present})


def _whole_inventory(gold: GoldCounts) -> dict[str, float]:
    return dict.fromkeys(gold.present, 1 / len(gold.classes))


WEIGHTS: dict[str, Callable[[GoldCounts], dict[str, float]]] = {
    "weighted": lambda gold: _powers(gold, 1.0),
    "dodrans": lambda gold: _powers(gold, 0.75),
    "entropy": lambda gold: _entropies(gold, gold.entropy_items or gold.positives),
    "entropy_positive": lambda gold: _entropies(gold, gold.positives),
    "macro": lambda gold: _powers(gold, 0.0),
    "macro_all": _whole_inventory,
}
