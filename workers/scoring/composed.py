"""Measures composed from the menu, computed from the report of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workers.metrics.counts import Counts
from workers.metrics.ratios import scores
from workers.metrics.report import Report, Value, value_of
from workers.metrics.weights import (
    NO_GOLD,
    NO_PREDICTION,
    micro_averages,
    scheme_averages,
    weighted_average,
)
from workers.metrics.wrf import gammas, weighted_words
from workers.scoring.case import ScoringCase

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
    labels, how = case.options.labels, composition["gamma"]
    if how == "custom":
        given = composition["gammas"]
        together = [given["combined"]] if "combined" in given else []
        weights = gammas(len(labels), custom=[*(given["classes"][name] for name in labels), *together])
    else:
        gold = {row.label: row.gold for row in report.classes["conll"]}
        counts = [gold[name] for name in labels]
        weights = gammas(len(labels), mode=how, scheme=composition.get("scheme"), gold=counts)
    mean = composition["over"] == "mean"
    return weighted_words(report.words, weights, figure=composition["figure"], mean=mean)


def _of_counts(composition: Mapping[str, Any], report: Report, case: ScoringCase) -> Value:
    base, figure, scheme = composition["base"], composition["figure"], composition["scheme"]
    rows = {row.label: row for row in report.classes[base]}
    left_out = None if case.options.include_negative else case.options.negative
    chosen = composition.get("labels") or [name for name in rows if name != left_out]
    columns = [[getattr(rows[name], part) for name in chosen] for part in ("correct", "predicted", "gold")]
    counts = Counts.from_totals(*(np.array(column, dtype=np.int64) for column in columns))
    beta = composition.get("beta", 1.0)
    if scheme == "micro":
        foreign = 0 if "labels" in composition else int(report.counts.get(f"{base}_foreign", 0))
        whole = counts.total()
        return micro_averages(replace(whole, fp=whole.fp + foreign), beta=beta)[f"micro_{figure}"]
    if scheme != "custom":
        counts = replace(counts, items=max(_items(base, report, case), int(counts.gold.sum())))
        figures = scheme_averages(counts, beta=beta, schemes=(scheme,))
        return figures[f"{scheme.replace('-', '_')}_{figure}"]
    if not counts.gold.any():
        return value_of(float("nan"), reason=NO_GOLD)
    if figure == "precision" and not counts.predicted.any():
        return value_of(float("nan"), reason=NO_PREDICTION)
    weights = np.array([composition["weights"][name] for name in chosen])
    of_classes = getattr(scores(counts.tp, counts.fp, counts.fn, beta=beta), figure)
    return value_of(weighted_average(of_classes, weights / weights.sum()), reason=NO_GOLD)


def _items(base: str, report: Report, case: ScoringCase) -> int:
    """Return N of the entropy scheme: all items with the negative class, where there is one."""
    if case.suite == "single labels":
        return case.n_items
    positives = sum(row.gold for row in report.classes[base])
    return positives + (case.negative_items if base == "classification" else 0)
