"""Families of measures: what a suite computes together, and for which settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Measures computed together, and the kinds of settings that have them.

    A kind is the unit of a setting, or `joint` for entities and relations together.
    """

    title: str
    explains: str
    kinds: tuple[str, ...]


FAMILIES: dict[str, Family] = {
    "classification": Family(
        "Relations by label",
        "Correct labels, false positives and false negatives are counted per relation, divided once, then "
        "averaged. Scores become label sets at the benchmark's threshold, by default at τ* of each run. The "
        "negative class is not averaged unless the benchmark includes it, but its items count as "
        "false positives and false negatives of the other classes.",
        ("sentence", "bag"),
    ),
    "semeval2010": Family(
        "SemEval-2010 Task 8",
        "Relations with a direction, counted as the task's own scorer counts them: the mean is over the "
        "relations that occur in the gold, and claims of other relations only miss theirs.",
        ("sentence",),
    ),
    "bags": Family(
        "Ranked claims",
        "Claims (pair, relation, score) sorted by score. The curve has one point per distinct score, so "
        "nothing depends on the order of the file. In sentence settings, a sentence takes the place of the "
        "pair. Recall is over all facts, including those never claimed.",
        ("bag", "sentence"),
    ),
    "opennre": Family(
        "Ranked claims as in OpenNRE",
        "For comparison with published figures: one point per claim, ties in the order of the file, no "
        "starting point of the curve, and per relation only facts whose pair was scored for it.",
        ("bag", "sentence"),
    ),
    "conll": Family(
        "Entities, exact match",
        "A span is correct if its start, end and type are those of a gold span.",
        ("document", "joint"),
    ),
    "muc": Family(
        "Entities, partial credit",
        "Each gold span is paired with at most one predicted span that overlaps it; one pairing serves all "
        "four schemas. With COR correct, INC incorrect, PAR partial, MIS missed, SPU spurious, "
        "ACT = COR + INC + PAR + SPU and POS = COR + INC + PAR + MIS: P = (COR + ½·PAR) / ACT and "
        "R = (COR + ½·PAR) / POS. Per type, POS counts the gold spans of the type and ACT its predicted "
        "spans, whatever they are paired with: so strict per type equals exact match per type.",
        ("document", "joint"),
    ),
    "wrf": Family(
        "Entities by word",
        "Per document and type, the sets of words inside gold and predicted entities are compared, then "
        "weighted over the types and all types together.",
        ("document", "joint"),
    ),
    "entity_texts": Family(
        "Entities as text",
        "Answers without offsets. The distinct pairs of text and label of a document are compared; labels "
        "outside the inventory are wrong. Exact match and partial credit count the places of the text at "
        "which the answers are found, outside of words; what occurs nowhere is one wrong answer. WRF "
        "takes the words of the texts, split at blanks.",
        ("document",),
    ),
    "triple_texts": Family(
        "Relations as text",
        "Triples without offsets. The distinct triples of head, relation and tail of a document are "
        "compared; relations outside the inventory are wrong.",
        ("joint",),
    ),
    "answers": Family(
        "Answers as text, shares",
        "They describe how a system answers, whatever the gold.",
        ("document", "joint"),
    ),
    "relation_strict": Family(
        "Relations between predicted entities, strict",
        "A relation is correct if its name, its direction, and bounds and types of both entities are. "
        "Relations without direction are correct either way. A relation said twice counts once.",
        ("joint",),
    ),
    "relation_bounds": Family(
        "Relations between predicted entities, boundaries",
        "As strict, without the types of the entities.",
        ("joint",),
    ),
    "relation_relaxed": Family(
        "Relations between predicted entities, relaxed",
        "As strict, but both entities need only overlap those of the gold. Each predicted relation counts "
        "for one gold relation at most: correct are the most that can be paired one to one.",
        ("joint",),
    ),
}
