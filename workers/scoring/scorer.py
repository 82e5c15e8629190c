"""From a setting's gold and claims to figures: which suite of measures serves which form and unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Setting
from workers.metrics import bags, matching, suites
from workers.metrics.bags import Claims
from workers.metrics.classification import MISSING
from workers.metrics.report import ClassRow, Curve, Report, Value
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.wrf import Tokens, tokens_of_lists
from workers.scoring import arrays
from workers.scoring.frozen_gold import Gold, Ints, Placed, Predictions

Options = Mapping[str, Any]
Unit = Setting.Unit


@dataclass(slots=True)
class Served:
    """Everything a setting's scoring found: figures, tables per class (the main one first), the curve."""

    values: dict[str, Value] = field(default_factory=dict)
    tables: dict[str, tuple[ClassRow, ...]] = field(default_factory=dict)
    curve: Curve | None = None
    counts: dict[str, float] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, report: Report) -> None:
        self.values |= report.values
        self.tables |= report.classes
        self.curve = report.curve or self.curve
        self.counts |= report.counts
        self.notes += report.notes


def serve(unit: str, options: Options, gold: Gold, predictions: Predictions) -> Served:
    """Score predictions under a setting."""
    if unit == Unit.DOCUMENT:
        served = spans(options, gold, predictions)
    elif unit == Unit.BAG:
        served = pairs(options, gold, predictions)
    else:
        served = sentences(options, gold, predictions)
    return served


# ---- relations -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Cells:
    """(item, label) cells of gold, positive labels only."""

    item: Ints
    label: Ints
    n_items: int

    @property
    def bare(self) -> int:
        """Items without a label."""
        return self.n_items - len(np.unique(self.item))


def _require_known(names: Iterable[str], code: Mapping[str, int]) -> None:
    """A label outside the inventory is the organisers' fault, and said."""
    strange = next((name for name in names if name not in code), None)
    if strange is not None:
        raise InputFault("gold_label", f"The gold has the label {strange}, which the benchmark lacks.")


def cells_of(gold: Gold, labels: list[str]) -> Cells:
    """The gold labels as cells."""
    code = {name: at for at, name in enumerate(labels)}
    rows = [(row, name) for row, names in enumerate(gold.labels) for name in names]
    _require_known((name for _, name in rows), code)
    item = np.array([row for row, _ in rows], dtype=np.int64)
    return Cells(item, np.array([code[name] for _, name in rows], dtype=np.int64), len(gold))


def sentences(options: Options, gold: Gold, predictions: Predictions) -> Served:
    """A sentence is an item: single labels where gold and answers are single, else label sets and ranking."""
    labels = options["labels"]
    cells = cells_of(gold, labels)
    placed, outside = predictions.placed(gold.index)
    answered = sum(key in gold.index for key in predictions.keys)
    single = max(map(len, gold.labels), default=0) <= 1 and (options["negative"] or not cells.bare)
    if predictions.form == "label" and single:
        served = single_labels(options, cells, placed)
    elif predictions.form == "scores":
        claims = _claims(placed, len(gold), len(labels))
        served = ranked(options, cells, claims, negative_items=cells.bare)
    else:
        served = label_sets(options, cells, placed.row, placed.label, negative_items=cells.bare)
    served.counts |= {"left_out": outside, "missing": len(gold) - answered}
    return served


def pairs(options: Options, gold: Gold, predictions: Predictions) -> Served:
    """A bag is an item; its gold is the union of its sentences' labels."""
    labels = options["labels"]
    rows, bag_of = gold.bags()
    sentence = cells_of(gold, labels)
    cells = Cells(bag_of[sentence.item], sentence.label, len(rows))
    placed, outside = predictions.placed(rows if predictions.form == "bag" else gold.index)
    if predictions.form == "bag":
        claims = _claims(placed, len(rows), len(labels))
        served = ranked(options, cells, claims)
    elif predictions.form == "scores":
        claims = _claims(placed, len(gold), len(labels))
        whole = bags.bag_claims(claims, bag_of, aggregation=options["aggregate"], n_bags=len(rows))
        served = ranked(options, cells, whole)
    else:
        served = label_sets(options, cells, bag_of[placed.row], placed.label)
    served.counts |= {"left_out": outside, "bags": len(rows), "sentences": len(gold)}
    return served


def _claims(placed: Placed, n_items: int, n_labels: int) -> Claims:
    return bags.claims_of_columns(
        placed.row, placed.label, placed.score, n_pairs=n_items, n_relations=n_labels
    )


def single_labels(options: Options, cells: Cells, placed: Placed) -> Served:
    """One gold label and one answer an item; the negative class is the last code."""
    negative = options["negative"] or None
    labels = [*options["labels"], negative] if negative else list(options["labels"])
    truth = np.full(cells.n_items, len(options["labels"]), dtype=np.int64)
    truth[cells.item] = cells.label
    answer = np.full(cells.n_items, MISSING, dtype=np.int64)
    answer[placed.row] = placed.label
    report = arrays.single_labels(
        truth,
        answer,
        labels=labels,
        negative=negative,
        include_negative=options["include_negative"],
        beta=options["beta"],
    )
    served = Served()
    served.add(report)
    none = {MISSING, len(options["labels"])}
    served.lost = _lost(truth, answer, sorted(none))
    return served


def _lost(truth: Ints, answer: Ints, none: list[int]) -> dict[str, int]:
    wrong = truth != answer
    bare, silent = np.isin(truth, none), np.isin(answer, none)
    return {
        "missed": int(np.count_nonzero(wrong & ~bare & silent)),
        "spurious": int(np.count_nonzero(wrong & bare & ~silent)),
        "confused": int(np.count_nonzero(wrong & ~bare & ~silent)),
    }


def label_sets(options: Options, cells: Cells, item: Ints, label: Ints, *, negative_items: int = 0) -> Served:
    """Counts per label; the negative class is the empty set."""
    positive = label < len(options["labels"])
    report = suites.sets_suite(
        cells.item,
        cells.label,
        item[positive],
        label[positive],
        n_items=cells.n_items,
        labels=options["labels"],
        beta=options["beta"],
        negative_items=negative_items,
    )
    served = Served()
    served.add(report)
    served.lost = _lost_sets(cells, item[positive], label[positive], len(options["labels"]))
    return served


def _lost_sets(cells: Cells, item: Ints, label: Ints, width: int) -> dict[str, int]:
    """Labels missed and spurious, and how many of these lie where gold and answer both say something."""
    gold = np.unique(cells.item * width + cells.label)
    said = np.unique(item * width + label)
    missed, spurious = np.setdiff1d(gold, said) // width, np.setdiff1d(said, gold) // width
    confused = np.intersect1d(missed, spurious)
    return {
        "missed": int(np.count_nonzero(~np.isin(missed, confused))),
        "spurious": int(np.count_nonzero(~np.isin(spurious, confused))),
        "confused": len(confused),
    }


def ranked(options: Options, cells: Cells, claims: Claims, *, negative_items: int = 0) -> Served:
    """Claims by score in both profiles, and as label sets at the threshold."""
    facts = bags.facts_of_columns(
        cells.item, cells.label, n_pairs=cells.n_items, n_relations=len(options["labels"])
    )
    made = claims.score >= options["threshold"]
    served = label_sets(
        options, cells, claims.pair[made], claims.relation[made], negative_items=negative_items
    )
    served.add(suites.bags_suite(claims, facts, relations=options["labels"]))
    return served


# ---- entities ------------------------------------------------------------------------------------
def spans(options: Options, gold: Gold, predictions: Predictions) -> Served:
    """A document is an item; its spans are compared exactly, in part, and by their words."""
    code = {name: at for at, name in enumerate(options["labels"])}
    _require_known((name for found in gold.spans for _, _, name in found), code)
    truth = arrays.spans_of_rows(gold.spans, code)
    placed, outside = predictions.placed(gold.index)
    said = spans_of_columns(placed.row, placed.start, placed.end, placed.label, n_documents=len(gold))
    tokens, note = _tokens(gold, casefold=options["casefold"])
    served = Served()
    served.add(
        suites.entities_suite(truth, said, labels=options["labels"], tokens=tokens, beta=options["beta"])
    )
    served.lost = _lost_spans(truth, said)
    answered = sum(key in gold.index for key in predictions.keys)
    served.counts |= {"left_out": outside, "missing": len(gold) - answered}
    served.notes += [note] if note else []
    return served


def _tokens(gold: Gold, *, casefold: bool) -> tuple[Tokens, str]:
    """The gold's own tokens, else spaCy's of its texts."""
    given = [tokens for tokens in gold.tokens if tokens is not None]
    if len(given) == len(gold):
        return tokens_of_lists(given, casefold=casefold), ""
    if given or None in gold.texts:
        raise InputFault("no_tokens", "Some documents of the gold have neither tokens nor text.")
    texts = [text or "" for text in gold.texts]
    return arrays.words_of_texts(texts, casefold=casefold), arrays.TOKENIZER


def _lost_spans(truth: Spans, said: Spans) -> dict[str, int]:
    total = matching.PairingCounts(*matching.document_pairings(truth, said).sum(axis=0).tolist())
    return {
        "missed": total.gold - total.pairs,
        "spurious": total.predicted - total.pairs,
        "wrong type": total.bounds - total.both,
        "wrong bounds": total.labels - total.both,
        "wrong type and bounds": total.pairs - total.bounds - total.labels + total.both,
    }


# ---- the menu's other side -----------------------------------------------------------------------
COOKS: dict[str, Callable[..., Served]] = {
    "classification": label_sets,
    "semeval2010": single_labels,
    "bags": ranked,
    "opennre": ranked,
    "conll": spans,
    "muc": spans,
    "wrf": spans,
}


def dishes() -> dict[str, Callable[..., Served]]:
    """Every measure that a setting can be scored by, and who computes it."""
    return {key: COOKS[measure.family] for key, measure in MENU.items()}
