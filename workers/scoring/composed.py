"""Measures composed from the menu, computed from the report of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workers.metrics.counts import Counts
from workers.metrics.ratios import Floats, scores
from workers.metrics.report import Report, Value, value_of
from workers.metrics.weights import (
    NO_GOLD,
    NO_PREDICTION,
    micro_averages,
    scheme_averages,
    weighted_average,
)
from workers.metrics.wrf import gammas, weighted_words
from workers.scoring.case import ScoringCase, ScoringOptions

OTHER_FORM = "this form of predictions has no such figures"
UNDEFINED = Value(float("nan"), OTHER_FORM)


def composed(composition: Mapping[str, Any], report: Report, case: ScoringCase) -> Value:
    """Compute a composed measure; undefined where the report lacks its base."""
    base = composition["base"]
    if base == "wrf":
        return _of_words(composition, report, case)
    return _of_counts(composition, report, case) if base in report.classes else UNDEFINED


def _of_words(composition: Mapping[str, Any], report: Report, case: ScoringCase) -> Value:
    if report.words is None:
        return UNDEFINED
    gold = {row.label: row.gold for row in report.classes["conll"]}
    labels = case.options.labels
    weights = gammas_of(composition, labels, [gold[name] for name in labels])
    mean = composition["over"] == "mean"
    return weighted_words(report.words, weights, figure=composition["figure"], mean=mean)


def gammas_of(composition: Mapping[str, Any], labels: Sequence[str], gold: Sequence[int]) -> Floats:
    """Return γ of a measure of words, given the gold entities per class."""
    how = composition["gamma"]
    if how != "custom":
        return gammas(len(labels), mode=how, scheme=composition.get("scheme"), gold=gold)
    given = composition["gammas"]
    together = [given["combined"]] if "combined" in given else []
    return gammas(len(labels), custom=[*(given["classes"][name] for name in labels), *together])


class ClassCounts(NamedTuple):
    """Counts of a base by label, their `items` the N of the entropy scheme; claims of foreign labels."""

    labels: Sequence[str]
    counts: Counts
    foreign: int = 0


def _of_counts(composition: Mapping[str, Any], report: Report, case: ScoringCase) -> Value:
    base = composition["base"]
    rows = report.classes[base]
    columns = [[getattr(row, part) for row in rows] for part in ("correct", "predicted", "gold")]
    counts = Counts.from_totals(
        *(np.array(column, dtype=np.int64) for column in columns), items=_items(base, report, case)
    )
    of_base = ClassCounts([row.label for row in rows], counts, int(report.counts.get(f"{base}_foreign", 0)))
    return of_counts(composition, of_base, case.options)


def averaged(composition: Mapping[str, Any], labels: Sequence[str], options: ScoringOptions) -> list[int]:
    """Return the places of the labels that a composition averages."""
    left_out = None if options.include_negative else options.negative
    chosen = composition.get("labels") or [name for name in labels if name != left_out]
    return [labels.index(name) for name in chosen]


def of_counts(composition: Mapping[str, Any], of_base: ClassCounts, options: ScoringOptions) -> Value:
    """Compute a composed measure from the counts of its base."""
    figure, scheme, beta = composition["figure"], composition["scheme"], composition.get("beta", 1.0)
    places = averaged(composition, of_base.labels, options)
    counts = of_base.counts.select(np.array(places))
    if scheme == "micro":
        foreign = 0 if "labels" in composition else of_base.foreign
        whole = counts.total()
        return micro_averages(replace(whole, fp=whole.fp + foreign), beta=beta)[f"micro_{figure}"]
    if scheme != "custom":
        counts = replace(counts, items=max(of_base.counts.items, int(counts.gold.sum())))
        figures = scheme_averages(counts, beta=beta, schemes=(scheme,))
        return figures[f"{scheme.replace('-', '_')}_{figure}"]
    if not counts.gold.any():
        return value_of(float("nan"), reason=NO_GOLD)
    if figure == "precision" and not counts.predicted.any():
        return value_of(float("nan"), reason=NO_PREDICTION)
    weights = np.array([composition["weights"][of_base.labels[place]] for place in places])
    of_classes = getattr(scores(counts.tp, counts.fp, counts.fn, beta=beta), figure)
    return value_of(weighted_average(of_classes, weights / weights.sum()), reason=NO_GOLD)


def _items(base: str, report: Report, case: ScoringCase) -> int:
    """Return N of the entropy scheme: all items with the negative class, where there is one."""
    if case.suite == "single labels":
        return case.n_items
    positives = sum(row.gold for row in report.classes[base])
    return positives + (case.negative_items if base == "classification" else 0)
