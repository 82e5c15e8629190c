"""Outcome of each item: kinds of errors, F1 and WRF, confusion."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.evaluation.disclosure.outcomes import (
    BOUNDS,
    CLAIM_KINDS,
    DIRECTION,
    LINK_MISSED,
    MISSED,
    RELATION,
    RIGHT,
    SPURIOUS,
    TYPE,
    TYPE_AND_BOUNDS,
    Claims,
    Column,
    Outcomes,
)
from workers.metrics.counts import Ints
from workers.metrics.encoding import distinct, row_keys
from workers.metrics.matching import pair_spans
from workers.metrics.ratios import Floats
from workers.metrics.relations import Links, distinct_links, kinds_of_claims
from workers.metrics.spans import Spans
from workers.metrics.text_answers import Answer
from workers.metrics.words import words_of_spans, wrf_counts
from workers.metrics.wrf import gammas, wrf
from workers.scoring.case import ScoringCase

ENDS = ("(e1,e2)", "(e2,e1)")
TYPES = {"H": np.uint16, "I": np.uint32, "B": np.uint8, "f": np.float32}
EQUAL = 1e-9  # WRF and CoNLL F1 of a document that differ by less are equal
WIDEST = 20
NONE = -1
Cells = list[tuple[int, int, float]]
FOREIGN = "not in the inventory"  # the label of answers with another one
_AnswerRows = list[list[tuple[tuple[str, ...], int, int]]]  # texts, label and kind, by document


def outcomes_of(case: ScoringCase) -> Outcomes:
    """Return the outcome of each sentence, bag or document."""
    if case.form in TEXT_FORMS:
        return _answers(case)
    return _documents(case) if case.options.unit == "document" else _label_sets(case)


def _column(type: str, values: NDArray[np.generic]) -> Column:
    return Column(type, np.ascontiguousarray(values, dtype=TYPES[type]).tobytes())


def _claims(
    item: Ints, label: Ints, kind: Ints, n_items: int, places: tuple[Ints, Ints] | None = None
) -> Claims:
    """Make columns of claims that are in the order of their items."""
    first = np.searchsorted(item, np.arange(n_items + 1))
    columns = (_column("I", places[0]), _column("I", places[1])) if places else None
    return Claims(_column("I", first), _column("H", label), _column("B", kind), columns)


def _f1(right: Ints, gold: Ints, predicted: Ints) -> Floats:
    size = (gold + predicted).astype(np.float64)
    return np.divide(2.0 * right, size, out=np.full(len(size), np.nan), where=size > 0)


# ---- sentences and bags --------------------------------------------------------------------------
def _label_sets(case: ScoringCase) -> Outcomes:
    n, width, bag = case.facts.n_pairs, case.facts.n_relations, case.bag_of_item
    gold = np.sort(case.facts.cells)
    item, label = case.predicted_sets
    predicted = distinct(item * width + label)
    found, correct = np.isin(gold, predicted), np.isin(predicted, gold)
    missed, spurious = gold[~found], predicted[~correct]
    lacks, adds = (np.bincount(cells // width, minlength=n) > 0 for cells in (missed, spurious))
    kind = np.select([lacks & adds, lacks, adds], [RELATION, MISSED, SPURIOUS], RIGHT)
    kind[_turned(case.options.labels, missed, spurious)] = DIRECTION
    size = [np.bincount(cells // width, minlength=n) for cells in (gold, predicted, gold[found])]
    return Outcomes(
        labels=list(case.options.labels),
        relations=[],
        ids=list(case.gold.index) if bag is None else [" → ".join(pair) for pair in case.gold.pairs],
        sentences=None if bag is None else _sentences_of(bag, list(case.gold.index), n),
        mask=_column("H", 1 << kind),
        f1=_column("f", _f1(size[2], size[0], size[1])),
        wrf=None,
        gold=_claims(gold // width, gold % width, np.where(found, RIGHT, kind[gold // width]), n),
        predicted=_claims(
            predicted // width, predicted % width, np.where(correct, RIGHT, kind[predicted // width]), n
        ),
        gold_links=None,
        predicted_links=None,
        confusion=_confusion_of_sets(gold[found] % width, missed, spurious, width, size[0] + size[1] == 0),
        apart=[],
    )


def _sentences_of(bag: Ints, ids: list[str], n: int) -> list[list[str]]:
    """Return the sentences of each bag."""
    sentences: list[list[str]] = [[] for _ in range(n)]
    for name, at in zip(ids, bag.tolist(), strict=True):
        sentences[at].append(name)
    return sentences


def _turned(labels: list[str], missed: Ints, spurious: Ints) -> Ints:
    """Return the items that miss a label and have its other direction."""
    stems: dict[str, int] = {}
    stem = np.array(
        [stems.setdefault(name.removesuffix(ENDS[0]).removesuffix(ENDS[1]), len(stems)) for name in labels],
        dtype=np.int64,
    )
    width, n = len(labels), max(len(stems), 1)
    lacks, adds = (cells // width * n + stem[cells % width] for cells in (missed, spurious))
    return np.asarray(np.intersect1d(lacks, adds) // n, dtype=np.int64)


def _confusion_of_sets(
    right: Ints, missed: Ints, spurious: Ints, width: int, bare: NDArray[np.bool_]
) -> Cells:
    """Return rows of gold label, predicted label and weight.

    With a labels that an item misses and b that it adds, each pair of them weighs 1 / max(a, b); what a label
    lacks then goes to none. So rows sum to gold counts and columns to claims.
    """
    cells: dict[tuple[int, int], float] = defaultdict(float)
    labels, counts = np.unique(right, return_counts=True)
    cells |= {(at, at): float(count) for at, count in zip(labels.tolist(), counts.tolist(), strict=True)}
    if n_bare := int(np.count_nonzero(bare)):
        cells[NONE, NONE] = float(n_bare)
    n, sides = len(bare), (missed, spurious)
    lost_of, added_of = (np.bincount(claims // width, minlength=n) for claims in sides)
    several = (lost_of > 1) | (added_of > 1)
    # most items lack one label at most and add one at most
    pairs = np.full((n, 2), NONE)
    for side, claims in enumerate(sides):
        single = claims[~several[claims // width]]
        pairs[single // width, side] = single % width
    wrong = pairs[(lost_of + added_of > 0) & ~several] + 1
    keys, counts = np.unique(wrong[:, 0] * (width + 1) + wrong[:, 1], return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        cells[key // (width + 1) - 1, key % (width + 1) - 1] += count
    _add_several(cells, [claims[several[claims // width]] for claims in sides], width)
    return _rows(cells)


def _add_several(cells: dict[tuple[int, int], float], sides: list[Ints], width: int) -> None:
    """Add the items that miss or add several labels."""
    by_item: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, claims in enumerate(sides):
        for item, label in zip((claims // width).tolist(), (claims % width).tolist(), strict=True):
            by_item[item][side].append(label)
    for lost, added in by_item.values():
        most = max(len(lost), len(added))
        for g, p in product(lost, added):
            cells[g, p] += 1 / most
        for g in lost if len(added) < most else ():
            cells[g, NONE] += 1 - len(added) / most
        for p in added if len(lost) < most else ():
            cells[NONE, p] += 1 - len(lost) / most


def _rows(cells: dict[tuple[int, int], float]) -> Cells:
    return [(g, p, weight) for (g, p), weight in sorted(cells.items())]


# ---- answers without offsets ---------------------------------------------------------------------
def _answers(case: ScoringCase) -> Outcomes:
    """Compare the distinct answers of each document, as the set measures do."""
    names = case.options.labels if case.form == "entity_texts" else case.options.relations
    sides: tuple[_AnswerRows, _AnswerRows] = ([], [])
    masks: list[int] = []
    f1_scores: list[float] = []
    for gold, predicted in zip(case.gold_texts.sets, case.predicted_texts.sets, strict=True):
        kinds = [_kinds_of_answers(gold, predicted, MISSED), _kinds_of_answers(predicted, gold, SPURIOUS)]
        for side, of_side in zip(sides, kinds, strict=True):
            side.append(sorted((answer.texts, answer.label, kind) for answer, kind in of_side.items()))
        masks.append(sum({1 << kind for of_side in kinds for kind in of_side.values()}))
        size = len(gold) + len(predicted)
        f1_scores.append(2 * len(gold & predicted) / size if size else np.nan)
    return Outcomes(
        labels=[*names, FOREIGN],
        relations=[],
        ids=list(case.gold.index),
        mask=_column("H", np.array(masks, dtype=np.int64)),
        f1=_column("f", np.array(f1_scores)),
        wrf=None,
        gold=_claims_of_answers(sides[0], len(names)),
        predicted=_claims_of_answers(sides[1], len(names)),
        gold_links=None,
        predicted_links=None,
        confusion=[],
        apart=[],
        answers=(_texts_of(sides[0]), _texts_of(sides[1])),
    )


def _kinds_of_answers(answers: frozenset[Answer], others: frozenset[Answer], alone: int) -> dict[Answer, int]:
    """Return the kind of each answer against those of the other side."""
    texts = {other.texts: other.label for other in others}

    def kind(answer: Answer) -> int:
        if answer in others:
            return RIGHT
        if answer.texts in texts:
            return TYPE if len(answer.texts) == 1 else RELATION
        turned = answer._replace(texts=answer.texts[::-1])
        return DIRECTION if len(answer.texts) > 1 and turned in others else alone

    return {answer: kind(answer) for answer in answers}


def _texts_of(rows: _AnswerRows) -> list[list[str]]:
    return [list(texts) for of_item in rows for texts, _, _ in of_item]


def _claims_of_answers(rows: _AnswerRows, n_labels: int) -> Claims:
    item = np.repeat(np.arange(len(rows)), [len(of_item) for of_item in rows])
    label = np.array([min(label, n_labels) for of_item in rows for _, label, _ in of_item], dtype=np.int64)
    kind = np.array([kind for of_item in rows for _, _, kind in of_item], dtype=np.int64)
    return _claims(item, label, kind, len(rows))


# ---- documents -----------------------------------------------------------------------------------
def _documents(case: ScoringCase) -> Outcomes:
    n = case.n_items
    gold, predicted = case.gold_spans, case.predicted_spans
    pairs = pair_spans(gold, predicted)
    sides = gold.select(pairs.gold), predicted.select(pairs.predicted)
    bounds = (sides[0].start == sides[1].start) & (sides[0].end == sides[1].end)
    labels = sides[0].label == sides[1].label
    of_pair = np.select([bounds & labels, bounds, labels], [RIGHT, TYPE, BOUNDS], TYPE_AND_BOUNDS)
    gold_kind, kind = np.full(len(gold), MISSED), np.full(len(predicted), SPURIOUS)
    gold_kind[pairs.gold], kind[pairs.predicted] = of_pair, of_pair
    mask = np.zeros(n, dtype=np.int64)
    for spans, kinds in ((gold, gold_kind), (predicted, kind)):
        np.bitwise_or.at(mask, spans.document, 1 << kinds)
    size = [np.bincount(spans.document, minlength=n) for spans in (gold, predicted)]
    right = np.bincount(sides[0].document[bounds & labels], minlength=n)
    f1 = _f1(right, *size)
    words = _document_wrf(case)
    against, widest = _against(words, f1) if words is not None else (None, [])
    gold_order, order = (np.lexsort(spans.columns[::-1]) for spans in (gold, predicted))
    links = _links(case, gold_order, order, mask) if case.options.relations else (None, None)
    confusion, apart = _confusion_of_spans(sides, bounds, gold.select(gold_kind == MISSED), predicted, kind)
    return Outcomes(
        labels=list(case.options.labels),
        relations=list(case.options.relations),
        ids=list(case.gold.index),
        mask=_column("H", mask),
        f1=_column("f", f1),
        wrf=None if words is None else _column("f", words),
        gold=_spans(gold.select(gold_order), gold_kind[gold_order], n),
        predicted=_spans(predicted.select(order), kind[order], n),
        gold_links=links[0],
        predicted_links=links[1],
        confusion=confusion,
        apart=apart,
        against_f1=against,
        widest=widest,
    )


def _spans(spans: Spans, kind: Ints, n: int) -> Claims:
    return _claims(spans.document, spans.label, kind, n, (spans.start, spans.end))


def _document_wrf(case: ScoringCase) -> Floats | None:
    """Return the strict WRF of each document, nan without words on both sides."""
    tokens = case.words[0]
    if tokens is None:
        return None
    sides = [words_of_spans(spans, tokens) for spans in (case.gold_spans, case.predicted_spans)]
    n_labels = len(case.options.labels)
    counts = wrf_counts(*sides, n_labels=n_labels, per_document=True)
    values = np.full(case.n_items, np.nan)
    used = np.unique(np.concatenate([words.document for words in sides]))
    values[used] = wrf(counts.f1, gammas(n_labels))
    return values


def _against(words: Floats, f1: Floats) -> tuple[tuple[int, int, int, int], list[tuple[int, float, float]]]:
    """Count documents whose WRF is above, at and below CoNLL F1; list the widest differences."""
    known = np.flatnonzero(~np.isnan(words) & ~np.isnan(f1))
    gap = words[known] - f1[known]
    above, below = int(np.count_nonzero(gap > EQUAL)), int(np.count_nonzero(gap < -EQUAL))
    counts = (above, len(known) - above - below, below, len(words) - len(known))
    # of differences equal but for rounding the earlier document comes first
    wide = np.argsort(-np.round(np.abs(gap), 12), kind="stable")[:WIDEST]
    rows = known[wide[np.abs(gap[wide]) > EQUAL]].tolist()
    return counts, [(row, float(words[row]), float(f1[row])) for row in rows]


def _confusion_of_spans(
    sides: tuple[Spans, Spans], bounds: NDArray[np.bool_], missed: Spans, predicted: Spans, kind: Ints
) -> tuple[Cells, Cells]:
    """Return the pairs of equal bounds with missed and spurious spans, and those that only overlap."""
    parts = []
    for chosen in (bounds, ~bounds):
        both = zip(sides[0].label[chosen].tolist(), sides[1].label[chosen].tolist(), strict=True)
        cells: dict[tuple[int, int], float] = defaultdict(float)
        for pair in both:
            cells[pair] += 1
        parts.append(cells)
    for label in missed.label.tolist():
        parts[0][label, NONE] += 1
    for label in predicted.label[kind == SPURIOUS].tolist():
        parts[0][NONE, label] += 1
    return _rows(parts[0]), _rows(parts[1])


def _links(case: ScoringCase, gold_order: Ints, order: Ints, mask: Ints) -> tuple[Claims, Claims]:
    """Return the relations of both sides by kind, and add their kinds to the masks."""
    claims, places = kinds_of_claims(case.gold_links, case.predicted_links)
    kinds = np.array([code for _, code in CLAIM_KINDS])[places]
    facts = distinct_links(case.gold_links, labels=True)
    fact, claim = row_keys(facts.columns(labels=True), claims.columns(labels=True))
    gold_kinds = np.where(np.isin(fact, claim), RIGHT, LINK_MISSED)
    made = []
    for links, of_links, sorted_rows in ((facts, gold_kinds, gold_order), (claims, kinds, order)):
        np.bitwise_or.at(mask, links.document, 1 << of_links)
        made.append(_link_claims(links, of_links, sorted_rows, case.n_items))
    return made[0], made[1]


def _link_claims(links: Links, kinds: Ints, sorted_rows: Ints, n: int) -> Claims:
    """Number the ends of relations among the sorted spans of their document."""
    at = np.empty(len(sorted_rows), dtype=np.int64)
    at[sorted_rows] = np.arange(len(sorted_rows))
    first = np.searchsorted(links.spans.document[sorted_rows], np.arange(n))
    document = links.document
    order = np.argsort(document, kind="stable")
    ends = [(at[end] - first[document])[order] for end in (links.head, links.tail)]
    return _claims(document[order], links.relation[order], kinds[order], n, (ends[0], ends[1]))
