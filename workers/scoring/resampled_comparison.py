"""Two single runs compared by resampling the items of the gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.evaluation.measures.families import class_key
from workers.metrics.classification import accuracy, averaged_classes, confusion_counts
from workers.metrics.counts import Counts, Ints, integers
from workers.metrics.encoding import distinct
from workers.metrics.matching import PairingCounts, document_pairings
from workers.metrics.ratios import Floats, f_score
from workers.metrics.relations import MODES as RELATION_MODES
from workers.metrics.reranking import SortedClaims, bootstrap_ranking, randomise_ranking, sort_claims
from workers.metrics.resampling import (
    Tallies,
    bootstrap,
    differing_items,
    label_tallies,
    link_tallies,
    randomise,
    span_tallies,
    table_tallies,
)
from workers.metrics.semeval2010 import evaluate_confusion, semeval_figures
from workers.metrics.semeval2013 import muc_figures
from workers.metrics.text_answers import (
    averages_with_foreign,
    folded,
    inventory,
    label_codes_used,
    words_of_answers,
)
from workers.metrics.weights import averages
from workers.metrics.words import words_of_spans
from workers.scoring.case import ScoringCase, ScoringOptions
from workers.scoring.composed import ClassCounts
from workers.scoring.replicates import Replicates
from workers.scoring.resampled_families import BothTallies, Compositions, Family, of_words

RANKED = ("ap", "auc", "max_f1")
MUC_RIGHT = {"strict": 5, "exact": 3, "partial": 3, "type": 4}  # places in `PairingCounts`

FAMILIES = {"conll_": "conll", "string_": "entity_texts", "triple_": "triple_texts"}
"""Families of the figures per class of answers without offsets."""

EVERY = 50  # replicates between two reports of progress


@dataclass(frozen=True)
class Draws:
    """Numbers of the replicates, their seed, and a report of progress.

    Replicate r depends on the seed and r alone, so any division into ranges gives the same figures.
    """

    numbers: range = range(1_000)
    seed: int = 0
    tick: Callable[[], None] = lambda: None

    @property
    def keywords(self) -> dict[str, Any]:
        return {"seed": self.seed, "replicates": self._numbers()}

    def _numbers(self) -> Iterator[int]:
        for number in self.numbers:
            if number % EVERY == 0:
                self.tick()
            yield number


def resampled(
    a: ScoringCase, b: ScoringCase, *, measures: Sequence[str], draws: Draws, own: Compositions | None = None
) -> dict[str, Replicates]:
    """Return bootstrap and randomisation replicates of each resampled measure.

    `own` are the compositions of contributed ones by key.
    """
    if "ranking" in (a.suite, b.suite):
        ranks = [name for name in measures if name in RANKED]  # none if a side has labels alone
        at_point = [name for name in measures if name not in RANKED]
        by_rank = _ranked(a, b, ranks, draws) if ranks else {}
        families = [_label_sets(a, b)]
    else:
        by_rank, at_point, families = {}, [*measures], _families(a, b, own or {})
    families = [family.with_composed(own or {}, a) for family in families]
    return by_rank | _of_families(families, at_point, draws)


def _of_families(families: Sequence[Family], measures: Sequence[str], draws: Draws) -> dict[str, Replicates]:
    results: dict[str, Replicates] = {}
    for family in families:
        computed = family.figures(family.tallies[0].sums())
        known = [name for name in measures if name in computed]
        results |= _counted(family, known, draws) if known else {}
    return results


def _families(a: ScoringCase, b: ScoringCase, own: Compositions) -> list[Family]:
    options = a.options
    if a.form in TEXT_FORMS or b.form in TEXT_FORMS:
        return _texts(a, b, own)
    if a.suite == "entities":
        return _entities(a, b, own)
    if a.suite == b.suite == "single labels":
        labels = options.labels if options.negative is None else [*options.labels, options.negative]
        rows = _both(a, b, lambda case: label_tallies(*case.answers, n_labels=len(labels)))
        diagonal = np.arange(len(labels)) * (len(labels) + 2)
        return [
            Family(
                rows,
                lambda sums: _single(sums, labels, options),
                lambda name: diagonal,
                "classification",
                lambda sums: ClassCounts(labels, _confusion(sums, len(labels))[1]),
            )
        ]
    return [_label_sets(a, b)]


def _label_sets(a: ScoringCase, b: ScoringCase) -> Family:
    """Return the measures of label sets; of scores, those from the operating point of each run on."""
    facts = a.facts
    places, exact = np.arange(facts.n_relations), np.array([3 * facts.n_relations + 1])
    return Family(
        _both(a, b, _set_tallies),
        lambda sums: _set_figures(sums, a.options, facts.n_pairs),
        lambda name: exact if name == "accuracy" else places,
        "classification",
        lambda sums: ClassCounts(a.options.labels, _set_counts(sums)[0]),
    )


def _first(size: int) -> Callable[[str], Ints]:
    """Return the columns of right answers where they come first."""
    return lambda name: np.arange(size)


def _pairings(tallies: BothTallies) -> Family:
    """Return the measures of paired spans, whose right ones are counted by schema."""

    def figures(sums: Floats) -> dict[str, float]:
        return _values(muc_figures(PairingCounts(*integers(sums).tolist())))

    return Family(tallies, figures, lambda name: np.array([MUC_RIGHT[name.split("_")[1]]]))


def _entities(a: ScoringCase, b: ScoringCase, own: Compositions) -> list[Family]:
    truth, options, size = a.gold_spans, a.options, len(a.options.labels)
    exact = _both(a, b, lambda case: span_tallies(truth, case.predicted_spans, n_labels=size))
    pairs = _both(a, b, lambda case: table_tallies(document_pairings(truth, case.predicted_spans)))
    families = [
        _of_labels(exact, options, "conll_"),
        _pairings(pairs),
    ]
    for mode in RELATION_MODES if options.relations else ():
        families.append(_links(a, b, mode))
    words, _ = a.words
    if words is not None:
        sides = [words_of_spans(case.predicted_spans, words) for case in (a, b)]
        families.append(of_words(words_of_spans(truth, words), sides, a, own))
    return families


def _of_labels(tallies: BothTallies, options: ScoringOptions, prefix: str) -> Family:
    """Return the averages over labels or relations from correct, predicted and gold of each."""
    base = prefix.removesuffix("_")
    labels = options.relations if base.startswith("relation") else options.labels
    return Family(
        tallies,
        lambda sums: _averages(sums, labels, options, prefix),
        _first(len(labels)),
        base,
        lambda sums: ClassCounts(labels, _counts(sums)),
    )


def _texts(a: ScoringCase, b: ScoringCase, own: Compositions) -> list[Family]:
    """Return tallies of answers without offsets: of sets, of places in the text, and of words.

    Places are compared with the spans of another system too.
    """
    forms = {a.form, b.form}
    if "triple_texts" in forms:
        return [_sets_of_texts(a, b, "triple_")] if len(forms) == 1 else []
    truth, size, options = a.gold_in_characters, len(a.options.labels), a.options
    codes = max(label_codes_used(case.predicted_in_characters, size) for case in (a, b))
    exact = _both(a, b, lambda case: span_tallies(truth, case.predicted_in_characters, n_labels=codes))
    pairs = _both(a, b, lambda case: table_tallies(document_pairings(truth, case.predicted_in_characters)))
    families = [
        _of_answers(exact, size, options, "conll_", _first(codes)),
        _pairings(pairs),
    ]
    if len(forms) > 1:
        return families
    target, *sides = words_of_answers(a.gold_texts, a.predicted_texts, b.predicted_texts)
    return [_sets_of_texts(a, b, "string_"), *families, of_words(target, sides, a, own)]


def _sets_of_texts(a: ScoringCase, b: ScoringCase, prefix: str) -> Family:
    size, options = a.gold_texts.n_labels, a.options
    return _of_answers(_both(a, b, _answer_tallies), size, options, prefix, _first(size + 1))


def _of_answers(
    tallies: BothTallies, size: int, options: ScoringOptions, prefix: str, right: Callable[[str], Ints]
) -> Family:
    """Return the averages over the inventory, with false claims of foreign labels."""
    labels, base = options.relations if prefix == "triple_" else options.labels, FAMILIES[prefix]

    def counts(sums: Floats) -> Counts:
        return folded(_counts(sums), size)

    def figures(sums: Floats) -> dict[str, float]:
        found = counts(sums)
        of_classes = _class_f1(inventory(found), labels, options, base)
        return _values(averages_with_foreign(found, prefix=prefix, beta=options.beta)) | of_classes

    def of_base(sums: Floats) -> ClassCounts:
        found = counts(sums)
        known = inventory(found)
        return ClassCounts(labels, replace(known, items=int(known.gold.sum())), int(found.fp[-1]))

    return Family(tallies, figures, right, base, of_base)


def _answer_tallies(case: ScoringCase) -> Tallies:
    """Make tallies of distinct answers per document: correct, predicted and gold of each label."""
    size = case.gold_texts.n_labels
    rows, columns = [], []
    for at, (gold, predicted) in enumerate(zip(case.gold_texts.sets, case.predicted_texts.sets, strict=True)):
        for part, answers in enumerate((gold & predicted, predicted, gold)):
            rows += [at] * len(answers)
            columns += [min(answer.label, size) + part * (size + 1) for answer in answers]
    documents, column = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return Tallies(documents, column, np.ones(len(rows)), len(case.documents), 3 * (size + 1))


def _links(a: ScoringCase, b: ScoringCase, mode: str) -> Family:
    size = len(a.options.relations)

    def tallies(case: ScoringCase) -> Tallies:
        return link_tallies(a.gold_links, case.predicted_links, mode=mode, n_relations=size)

    return _of_labels(_both(a, b, tallies), a.options, f"relation_{mode}_")


def _both(a: ScoringCase, b: ScoringCase, tallies: Callable[[ScoringCase], Tallies]) -> BothTallies:
    return tallies(a), tallies(b)


def _counted(family: Family, measures: Sequence[str], draws: Draws) -> dict[str, Replicates]:
    tallies = family.tallies

    def vector(sums: Floats) -> Any:
        values = family.figures(sums)
        return np.array([values[name] for name in measures])

    at_once = cast(Callable[[Floats], float], vector)
    left, right = (bootstrap(side, at_once, **draws.keywords) for side in tallies)
    swapped = randomise(tallies[0], tallies[1], at_once, **draws.keywords)
    a, b = (vector(side.sums()) for side in tallies)
    drawn = left - right
    return {
        name: Replicates(
            float(a[at]),
            float(b[at]),
            drawn[:, at],
            swapped[:, at],
            differing_items(*tallies, family.right(name)),
        )
        for at, name in enumerate(measures)
    }


def _ranked(a: ScoringCase, b: ScoringCase, measures: Sequence[str], draws: Draws) -> dict[str, Replicates]:
    facts = a.facts
    sides = [sort_claims(case.claims, facts) for case in (a, b)]
    both = sort_claims(a.claims, facts, against=b.claims)
    ones, results = np.ones(facts.n_pairs, dtype=np.int64), {}
    one, other = (np.bincount(_first_hits(side, len(facts)), minlength=facts.n_pairs) for side in sides)
    differing = int(np.count_nonzero(one != other))
    for name in measures:
        left, right = (side.figure(ones.take(side.pair), len(facts), name) for side in sides)
        drawn = [bootstrap_ranking(side, name=name, **draws.keywords) for side in sides]
        swapped = randomise_ranking(both, name=name, **draws.keywords)
        results[name] = Replicates(float(left), float(right), drawn[0] - drawn[1], swapped, differing)
    return results


def _first_hits(ranked: SortedClaims, claims: int) -> NDArray[np.intp]:
    """Return the pairs of the right ones among the first claims."""
    return ranked.pair[ranked.hit_at[ranked.hit_at < claims]]


def _values(figures: dict[str, Any]) -> dict[str, float]:
    return {key: value.value for key, value in figures.items()}


def _confusion(sums: Floats, size: int) -> tuple[Ints, Counts]:
    matrix = integers(sums).reshape(size, size + 1)
    return matrix, confusion_counts(matrix)


def _counts(sums: Floats) -> Counts:
    """Make counts from correct, predicted and gold of each label."""
    correct, predicted, gold = integers(sums).reshape(3, -1)
    return Counts.from_totals(correct, predicted, gold, items=int(gold.sum()))


def _single(sums: Floats, labels: list[str], options: ScoringOptions) -> dict[str, float]:
    matrix, counts = _confusion(sums, len(labels))
    averaged = averaged_classes(labels, negative=options.negative, include_negative=options.include_negative)
    figures = averages(counts.select(averaged), beta=options.beta, entropy=options.entropy)
    figures |= semeval_figures(evaluate_confusion(matrix, labels=labels))
    names = [label for label, chosen in zip(labels, averaged, strict=True) if chosen]
    of_classes = _class_f1(counts.select(averaged), names, options, "classification")
    return _values(figures) | {"accuracy": accuracy(counts)} | of_classes


def _averages(sums: Floats, labels: Sequence[str], options: ScoringOptions, prefix: str) -> dict[str, float]:
    counts = _counts(sums)
    of_classes = _class_f1(counts, labels, options, prefix.removesuffix("_"))
    return _values(averages(counts, prefix=prefix, beta=options.beta)) | of_classes


def _class_f1(
    counts: Counts, labels: Sequence[str], options: ScoringOptions, family: str
) -> dict[str, float]:
    """Return the F1 of each class under its key among tested measures."""
    f1 = np.asarray(f_score(counts.tp, counts.fp, counts.fn, beta=options.beta), dtype=np.float64).tolist()
    return {class_key(family, label): value for label, value in zip(labels, f1, strict=True)}


def _set_tallies(case: ScoringCase) -> Tallies:
    """Make tallies of label sets.

    Correct, predicted and gold of each label, items of the negative class, and items with the exact set.
    """
    facts, (item, label) = case.facts, case.predicted_sets
    width, items = facts.n_relations, facts.n_pairs
    predicted = distinct(item * width + label)
    parts = (np.intersect1d(predicted, facts.cells), predicted, facts.cells)
    n_correct, n_predicted, n_gold = (np.bincount(cells // width, minlength=items) for cells in parts)
    negative = np.flatnonzero(n_gold == 0)[: case.negative_items]  # bags have none
    exact = np.flatnonzero((n_correct == n_predicted) & (n_predicted == n_gold))
    columns = [cells % width + at * width for at, cells in enumerate(parts)]
    columns += [np.full(len(rows), 3 * width + at) for at, rows in enumerate((negative, exact))]
    rows = np.concatenate([*(cells // width for cells in parts), negative, exact])
    return Tallies(rows, np.concatenate(columns), np.ones(len(rows)), items, 3 * width + 2)


def _set_counts(sums: Floats) -> tuple[Counts, int]:
    """Return counts, with items of the negative class, and the number of exact sets."""
    *totals, negative, exact = integers(sums).tolist()
    correct, predicted, gold = np.array(totals, dtype=np.int64).reshape(3, -1)
    return Counts.from_totals(correct, predicted, gold, items=int(gold.sum()) + negative), exact


def _set_figures(sums: Floats, options: ScoringOptions, items: int) -> dict[str, float]:
    counts, exact = _set_counts(sums)
    of_classes = _class_f1(counts, options.labels, options, "classification")
    return _values(averages(counts, beta=options.beta)) | {"accuracy": exact / items} | of_classes
