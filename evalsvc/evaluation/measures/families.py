"""Families of measures: what a suite computes together, and for which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Measures computed together, and the kinds of settings that have them.

    A kind is the unit of a setting, or `joint` for entities and relations together.
    """

    title: str
    explains: str
    kinds: tuple[str, ...]
    traps: str = ""


FAMILIES: dict[str, Family] = {
    "classification": Family(
        "Relations by label",
        "Correct labels, false positives and false negatives are counted per relation, divided once, then "
        "averaged. Scores become label sets at the benchmark's threshold, by default at τ* of each run. The "
        "negative class is not averaged unless the benchmark includes it, but its items count as "
        "false positives and false negatives of the other classes.",
        ("sentence", "bag"),
        "Averaging N/A as well gives a higher figure: state which classes are averaged. Micro F1 can "
        "exceed both macro precision and macro recall, because each average weighs classes differently. "
        "One changed item of a class with few items moves macro F1 a lot; rare classes hardly move the "
        "weighted averages.",
    ),
    "semeval2010": Family(
        "SemEval-2010 Task 8",
        "Relations with a direction, counted as the task's own scorer counts them. The mean is over the "
        "relations that occur in the gold; claims of other relations count only as missing the gold one.",
        ("sentence",),
        "Only the relations that occur in the gold are averaged. A wrong direction is an error, "
        "although undirected scores of the same file look better. The other class, Other, is "
        "never averaged, but an example wrongly put into it counts as missed.",
    ),
    "bags": Family(
        "Ranked claims",
        "Claims (pair, relation, score) sorted by score. The curve has one point per distinct score, so "
        "nothing depends on the order of the file. In sentence settings, a sentence takes the place of the "
        "pair. Recall is over all facts, including those never claimed.",
        ("bag", "sentence"),
        "Equal scores raise the area under the curve: with every fact claimed, a constant score reaches "
        "(1 + precision of all claims) / 2, so ½ or more. Rank by average precision. F1 at τ* is the best "
        "point of the curve, chosen on the test set itself; it is not the result of a threshold chosen "
        "beforehand. Precision at N does not measure recall.",
    ),
    "opennre": Family(
        "Ranked claims as in OpenNRE",
        "For comparison with published figures: one point per claim, ties in the order of the file, a "
        "curve without a starting point, and per relation only facts whose pair was scored for it.",
        ("bag", "sentence"),
        "Equal scores are taken in the order of the file, so sorting a file changes figures. "
        "Facts that were never scored are left out per relation, which flatters systems that "
        "score few pairs. Compare such figures with published ones only.",
    ),
    "conll": Family(
        "Entities, exact match",
        "A span is correct if its start, end and type are those of a gold span.",
        ("document", "joint"),
        "A span with one wrong boundary is one miss and one false alarm: it costs more than a "
        "span that is left out. Repaired tags can change the score; their number is stated. "
        "Figures of another tagging scheme or another repair are not comparable.",
    ),
    "muc": Family(
        "Entities, partial credit",
        "Each gold span is paired with at most one predicted span that overlaps it; one pairing serves all "
        "four schemas. With COR correct, INC incorrect, PAR partial, MIS missed, SPU spurious, "
        "ACT = COR + INC + PAR + SPU and POS = COR + INC + PAR + MIS: P = (COR + ½·PAR) / ACT and "
        "R = (COR + ½·PAR) / POS. Per type, POS counts the gold spans of the type and ACT its predicted "
        "spans, whatever they are paired with: so strict per type equals exact match per type.",
        ("document", "joint"),
        "Partial credit hides whether boundaries or types are wrong: read strict, exact and type as well. "
        "With partial credit a system that marks long spans everywhere looks good; precision by exact "
        "boundaries shows this.",
    ),
    "wrf": Family(
        "Entities by word",
        "Per document and type, the sets of words inside gold and predicted entities are compared, then "
        "weighted over the types and all types together. Types of the inventory that neither gold nor "
        "predictions have are left out, and γ is scaled to sum to 1: of a mean of documents in each of them. "
        "So C may differ between the systems of a board.",
        ("document", "joint"),
        "Long entities weigh more than short ones, as every word counts. The figure depends on "
        "the tokens: those of the gold, else spaCy’s. Lenient and strict differ in the cost of a wrong "
        "type; state which one is meant.",
    ),
    "entity_texts": Family(
        "Entities as text",
        "Answers without offsets. The distinct pairs of text and label of a document are compared; labels "
        "outside the inventory are wrong. Exact match and partial credit count the places of the text at "
        "which the answers are found, but not inside words; a text that occurs nowhere is one wrong "
        "answer. WRF takes the words of the texts, split at spaces.",
        ("document",),
        "Texts are compared as they are written: case and articles count unless the benchmark "
        "ignores them. A text that occurs twice is one answer here, and two places under exact "
        "match. Invented texts are wrong, and are also counted separately.",
    ),
    "triple_texts": Family(
        "Relations as text",
        "Triples without offsets. The distinct triples of head, relation and tail of a document are "
        "compared; relations outside the inventory are wrong.",
        ("joint",),
        "Head and tail are compared as texts, so two entities with the same name count as one. A triple "
        "with the right ends and another relation is one miss and one false alarm.",
    ),
    "answers": Family(
        "Answers as text, shares",
        "They describe how a system answers, regardless of the gold.",
        ("document", "joint"),
        "They do not measure quality: a system that always abstains invents no answer. Read them with F1.",
    ),
    "relation_strict": Family(
        "Relations between predicted entities, strict",
        "A relation is correct if its name, its direction, and bounds and types of both entities are. "
        "Relations without direction are correct either way. A relation given twice counts once.",
        ("joint",),
        "Errors in entities are counted again in every relation that uses them: the ceiling states how "
        "much was possible. Published figures often leave out types (boundaries) without saying so.",
    ),
    "relation_bounds": Family(
        "Relations between predicted entities, boundaries",
        "As strict, without the types of the entities.",
        ("joint",),
        "Types of entities do not count, so this is above strict for the same file. Do not compare it "
        "with strict figures of a paper.",
    ),
    "relation_relaxed": Family(
        "Relations between predicted entities, relaxed",
        "As strict, but both entities need only overlap those of the gold. Each predicted relation counts "
        "for at most one gold relation; the number of correct ones is the largest one-to-one pairing.",
        ("joint",),
        "A head of one word matches as well as a whole phrase. This is above strict for the same file. "
        "Against boundaries it can be above or below: types of entities count here, their exact bounds "
        "there.",
    ),
}


def micro_above_macro(values: Mapping[str, float | None]) -> list[str]:
    """Return the prefixes of the keys whose micro F exceeds both macro precision and macro recall."""
    found = []
    for key, micro in values.items():
        prefix = key.removesuffix("micro_f1")
        both = [values.get(f"{prefix}macro_{part}") for part in ("precision", "recall")]
        known = [value for value in both if value is not None]
        if prefix != key and micro is not None and len(known) == 2 and micro > max(known):
            found.append(prefix)
    return found


MICRO_ABOVE_MACRO = (
    "This is not an error: micro adds the counts of all classes, so frequent ones decide it; macro weighs"
    " every class equally, including those with few labels."
)

# Families of the rows per class of a kind of settings; the first that a score has counts.
CLASS_FAMILIES: dict[str, tuple[str, ...]] = {
    "sentence": ("classification",),
    "bag": ("classification", "bags"),
    "document": ("conll",),
    "joint": ("conll",),
}
RELATION_CLASSES = ("relation_strict", "triple_texts")

CLASS = "class"


def class_key(family: str, label: str) -> str:
    """Return the key of the F1 of a class among tested measures."""
    return f"{CLASS} {family} {label}"


def label_of(key: str) -> str:
    """Return the label in the key of a class, or nothing for a measure."""
    kind, _, rest = key.partition(" ")
    return rest.partition(" ")[2] if kind == CLASS else ""
