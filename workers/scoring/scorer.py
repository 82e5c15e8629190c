"""From gold and predictions to figures, by unit and form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from workers.metrics import suites
from workers.metrics.report import Report
from workers.metrics.words import Tokens
from workers.scoring.case import ScoringCase


def report_of(case: ScoringCase) -> Report:
    """Compute every figure of the suite that serves the case."""
    return SUITES[case.suite](case)


def _single_labels(case: ScoringCase) -> Report:
    """Score one label per item, with SemEval-2010 where relations are directed."""
    options = case.options
    return suites.classification_suite(
        *case.answers,
        labels=options.labels if options.negative is None else [*options.labels, options.negative],
        negative=options.negative,
        include_negative=options.include_negative,
        beta=options.beta,
        entropy=options.entropy,
    )


def _label_sets(case: ScoringCase) -> Report:
    """Score sets of labels; the negative class is the empty set."""
    facts = case.facts
    return suites.sets_suite(
        facts.pair,
        facts.cells % facts.n_relations,
        *case.predicted_sets,
        n_items=facts.n_pairs,
        labels=case.options.labels,
        beta=case.options.beta,
        negative_items=case.negative_items,
    )


def _ranking(case: ScoringCase) -> Report:
    """Score claims by rank and, at one operating point, as label sets."""
    report, sets = _of_profile(case.ranked, case.options.profile), _label_sets(case)
    return replace(
        report,
        values=sets.values | report.values,
        classes=sets.classes | report.classes,
        counts=sets.counts | report.counts,
    )


def _of_profile(report: Report, profile: str) -> Report:
    """Keep the figures of one profile of ranked claims, or of both."""
    if profile == "both":
        return report
    opennre = profile == "opennre"
    return replace(
        report,
        values={key: value for key, value in report.values.items() if key.startswith("opennre_") == opennre},
        classes={key: rows for key, rows in report.classes.items() if (key == "opennre") == opennre},
        curve=None if opennre else report.curve,
    )


def _entities(case: ScoringCase) -> Report:
    """Score spans exactly, in part and by words, and their relations."""
    words, note = case.words
    report = suites.entities_suite(
        case.gold_spans,
        case.predicted_spans,
        labels=case.options.labels,
        tokens=Tokens(*[np.zeros(0, dtype=np.int64)] * 4) if words is None else words,
        beta=case.options.beta,
        families=[family for family in case.options.families if family != "wrf" or words is not None],
    )
    duplicates = case.warnings.get("duplicate_span", 0)
    counts = report.counts | {"duplicates": float(duplicates)}
    report = replace(report, notes=(note,) if note else (), counts=counts)
    if not case.options.relations:
        return report
    links = suites.relations_suite(
        case.gold_links,
        case.predicted_links,
        relations=case.options.relations,
        beta=case.options.beta,
    )
    return replace(
        report,
        values=report.values | links.values,
        classes=report.classes | links.classes,
        counts=report.counts | links.counts,
    )


def _entity_texts(case: ScoringCase) -> Report:
    """Score entities without offsets, as sets and where they are found in the text."""
    return suites.texts_suite(
        case.documents,
        case.gold_in_characters,
        case.gold_texts,
        case.predicted_texts,
        labels=case.options.labels,
        beta=case.options.beta,
        grounding=case.options.grounding,
        families=case.options.families,
    )


def _triples(case: ScoringCase) -> Report:
    """Score relations without offsets."""
    return suites.triples_suite(
        case.documents,
        case.gold_texts,
        case.predicted_texts,
        relations=case.options.relations,
        beta=case.options.beta,
    )


SUITES: dict[str, Callable[[ScoringCase], Report]] = {
    "single labels": _single_labels,
    "label sets": _label_sets,
    "ranking": _ranking,
    "entities": _entities,
    "entity texts": _entity_texts,
    "triple texts": _triples,
}
