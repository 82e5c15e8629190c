"""Whether a reported system's figures are possible on the gold of its setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from evalsvc.core.web.formatting import counted, listed
from evalsvc.evaluation.disclosure import gold_counts
from evalsvc.evaluation.disclosure.sensitivity import OF_RELATIONS, GoldCounts
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting, SettingVersion
from evalsvc.evaluation.reported.entries import PrintedFigure, figures_of
from evalsvc.evaluation.reported.feasibility import Counts, Interval, count_solutions, right_answers

ACCURACY = "accuracy"
TRIPLES = (
    *(
        (f"{prefix}micro_precision", f"{prefix}micro_recall", f"{prefix}micro_f1")
        for prefix in ("", "conll_")
    ),
    *(
        (f"{prefix}precision_at_tau", f"{prefix}recall_at_tau", f"{prefix}max_f1")
        for prefix in ("", "opennre_")
    ),
    *(
        tuple(f"muc_{mode}_{ratio}" for ratio in ("precision", "recall", "f1"))
        for mode in ("strict", "exact", "type")
    ),
    *(
        tuple(f"relation_{mode}_micro_{ratio}" for ratio in ("precision", "recall", "f1"))
        for mode in ("strict", "bounds")
    ),
)
SEVERAL_RUNS = "a mean over runs can have any value"
RUNS_UNKNOWN = "the number of runs is not stated, and a mean can have any value"
AVERAGES = "only precision, recall and F1 from summed counts, and accuracy, can be checked"
NO_GOLD = "the gold has no label of this kind"


class Check(NamedTuple):
    """Verdict on the figures that one set of counts would give."""

    verdict: Literal["possible", "impossible", "undecidable"]
    measures: list[str]
    reason: str
    solutions: int | None = None


def checks(row: ReportedSystem, version: SettingVersion | None = None) -> list[Check]:
    """Check the figures of a system against the gold of a version, by default the newest."""
    figures = figures_of(row)
    if row.runs != 1:
        return [Check("undecidable", list(figures), SEVERAL_RUNS if row.runs else RUNS_UNKNOWN)]
    setting = row.setting
    gold, made = gold_counts.of_version(setting, version), []
    for triple in TRIPLES:
        if present := [key for key in triple if key in figures]:
            printed = {key: figures[key] for key in present}
            # a negative class may be averaged, but not in sets of labels, nor at a threshold of scores
            sizes = gold.readings if triple[0] == "micro_precision" else gold.readings[-1:]
            forms = [_check_triple(setting, each, triple, printed) for each in sizes]
            made.append(next((check for check in forms if check.verdict == "possible"), forms[0]))
    if ACCURACY in figures:
        found = right_answers(gold.items, Interval.of(figures[ACCURACY].value))
        made.append(_verdict(setting, [ACCURACY], found, f"{gold.items:,} items", "number of right answers"))
    rest = [key for key in figures if not any(key in check.measures for check in made)]
    return [*made, Check("undecidable", rest, AVERAGES)] if rest else made


def _check_triple(
    setting: Setting, gold: GoldCounts, triple: tuple[str, ...], figures: Mapping[str, PrintedFigure]
) -> Check:
    keys = [
        key for key in figures if gold.beta == 1 or key != triple[2]
    ]  # F of another β is no ratio of counts
    relations = OF_RELATIONS.fullmatch(triple[0])
    counts = gold.of_relations(relations[1]) if relations else gold
    if not counts.positives or not keys:
        return Check("undecidable", list(figures), AVERAGES if counts.positives else NO_GOLD)
    single = setting.unit == Setting.Unit.SENTENCE and gold.positives + gold.negative == gold.items
    intervals = (Interval.of(figures[key].value) if key in keys else None for key in triple)
    found = count_solutions(counts.positives, gold.items if single else None, *intervals)
    return _verdict(setting, keys, found, f"{counted(counts.positives, 'gold label')}", "pair of counts")


def _verdict(setting: Setting, keys: list[str], counts: Counts, size: str, noun: str) -> Check:
    titles = listed([as_shown(setting, key).title for key in keys])
    if not counts.solutions:
        return Check("impossible", keys, f"no {noun} gives {titles} as printed, with {size}", 0)
    solutions = counted(counts.solutions, noun, noun.replace("number", "numbers").replace("pair", "pairs"))
    gives = "gives" if counts.solutions == 1 else "give"
    return Check("possible", keys, f"{solutions} {gives} {titles} as printed, with {size}", counts.solutions)
