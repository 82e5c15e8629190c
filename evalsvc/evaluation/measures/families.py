"""Families of measures: what is computed together, and by which units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that are computed together, and the units of settings that have them."""

    title: str
    explains: str
    units: tuple[str, ...]


FAMILIES: dict[str, Family] = {
    "classification": Family(
        "Relations, counted",
        "Right, spurious and missed labels are counted per relation, divided once, then averaged. Scores "
        "become label sets at the benchmark's threshold. The negative class is no class of the average "
        "unless the benchmark asks for it, but its items count as spurious and missed for the others.",
        ("sentence", "bag"),
    ),
    "semeval2010": Family(
        "SemEval-2010 Task 8",
        "Relations with a direction, as the task's own scorer counts them.",
        ("sentence",),
    ),
    "bags": Family(
        "Ranked claims",
        "Claims (pair, relation, score) sorted by score; one point of the curve per distinct score, so "
        "nothing depends on the order of the file. In sentence settings the sentence stands for the pair. "
        "Recall is over all facts, also those never claimed.",
        ("bag", "sentence"),
    ),
    "opennre": Family(
        "Ranked claims, as OpenNRE computes them",
        "For comparison with published figures: one point per claim, ties in the order of the file, no "
        "starting point of the curve, and per relation only facts whose pair was scored for it.",
        ("bag", "sentence"),
    ),
    "conll": Family(
        "Entities, exact",
        "A span is right when its start, end and type are those of a gold span.",
        ("document",),
    ),
    "muc": Family(
        "Entities, with partial credit",
        "Each gold span is paired with at most one predicted span that shares text with it; one pairing "
        "serves all four readings. With COR correct, INC incorrect, PAR partial, MIS missed, SPU spurious, "
        "P = (COR + ½·PAR) / (COR + INC + PAR + SPU) and R = (COR + ½·PAR) / (COR + INC + PAR + MIS).",
        ("document",),
    ),
    "wrf": Family(
        "Entities, by their words",
        "Per document and type the sets of words inside gold and predicted entities are compared, then "
        "weighted over types and all types together.",
        ("document",),
    ),
}
