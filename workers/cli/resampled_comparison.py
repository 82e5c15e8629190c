"""Two single runs compared by resampling the items that both answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from workers.cli.arguments import Options
from workers.metrics.classification import accuracy, averaged_classes, confusion_counts
from workers.metrics.counts import Counts, integers
from workers.metrics.matching import PairingCounts, document_pairings
from workers.metrics.ratios import Floats
from workers.metrics.reranking import SortedClaims, bootstrap_ranking, randomise_ranking, sort_claims
from workers.metrics.resampling import (
    Interval,
    Tallies,
    bootstrap,
    label_tallies,
    percentile_interval,
    randomisation_p,
    randomise,
    span_tallies,
    table_tallies,
    word_tallies,
    wrf_of_sums,
)
from workers.metrics.semeval2010 import semeval_figures
from workers.metrics.semeval2013 import muc_figures
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.weights import averages
from workers.metrics.wrf import MODES, gammas, words_of_spans
from workers.scoring.file_scorer import (
    WORDLESS,
    claims_of,
    gold_spans,
    inventory,
    label_codes,
    set_columns,
    words,
)
from workers.scoring.gold import Gold
from workers.scoring.predictions import Answers

Both = tuple[Tallies, Tallies]
Figures = Callable[[Floats], dict[str, float]]
RANKED = ("ap", "auc", "max_f1")
ENDS = ("", "_mean")


class Tested(NamedTuple):
    """What resampling says about one measure."""

    a: float
    b: float
    interval: Interval
    p: float

    @property
    def difference(self) -> float:
        """A − B."""
        return self.a - self.b


@dataclass(frozen=True)
class Draws:
    """How many replicates, and from which seed."""

    replicates: int = 1_000
    seed: int = 0

    @property
    def each(self) -> range:
        """The numbers of the replicates."""
        return range(self.replicates)


def tested(
    gold: Gold, a: Answers, b: Answers, options: Options, *, measures: Sequence[str], draws: Draws
) -> dict[str, Tested]:
    """Paired bootstrap interval and randomisation p of every measure that can be resampled."""
    if (options.task != "entities" and "scores" in (a.form, b.form)) or "bag" in (a.form, b.form):
        return _ranked(gold, a, b, options, [name for name in measures if name in RANKED], draws)
    found: dict[str, Tested] = {}
    for tallies, figures in _families(gold, (a, b), options):
        known = [name for name in measures if name in figures(tallies[0].sums())]
        found |= _counted(tallies, figures, known, draws)
    return found


def _families(gold: Gold, sides: tuple[Answers, Answers], options: Options) -> list[tuple[Both, Figures]]:
    """What each item adds to the counts, for both systems, and the figures made of the sums."""
    if options.task == "entities":
        truth = gold_spans(gold)
        said = [_spans(side, len(gold)) for side in sides]
        size = len(gold.inventory)
        exact = _both(said, lambda one: span_tallies(truth, one, n_labels=size))
        pairs = _both(said, lambda one: table_tallies(document_pairings(truth, one)))
        found: list[tuple[Both, Figures]] = [(exact, lambda sums: _conll(sums, options)), (pairs, _muc)]
        return found + _words(gold, truth, said, options)
    if options.task == "classification" and sides[0].form == sides[1].form == "label":
        names = inventory(gold, options)
        rows = _both(sides, lambda one: label_tallies(*label_codes(gold, one, options), n_labels=len(names)))
        return [(rows, lambda sums: _single(sums, names, options))]
    sets = _both(sides, lambda one: _set_tallies(gold, one, options))
    return [(sets, lambda sums: _conll(sums, options, ""))]


def _words(gold: Gold, truth: Spans, said: list[Spans], options: Options) -> list[tuple[Both, Figures]]:
    """WRF, where the gold has words."""
    tokens, note = words(gold, options)
    if note == WORDLESS or "wrf" not in options.family:
        return []
    target, size = words_of_spans(truth, tokens), len(gold.inventory)
    weights = [gammas(size, mode=mode) for mode in MODES]
    sides = _both(said, lambda one: word_tallies(target, words_of_spans(one, tokens), weights, n_labels=size))
    return [(sides, lambda sums: _wrf(sums, weights))]


def _wrf(sums: Floats, weights: list[Floats]) -> dict[str, float]:
    found = zip(MODES, wrf_of_sums(sums, weights), strict=True)
    return {f"wrf_{mode}{end}": value for mode, two in found for end, value in zip(ENDS, two, strict=True)}


def _both(sides: Sequence[Any], made: Callable[[Any], Tallies]) -> Both:
    left, right = map(made, sides)
    return left, right


def _counted(tallies: Both, figures: Figures, measures: Sequence[str], draws: Draws) -> dict[str, Tested]:
    if not measures:
        return {}

    def vector(sums: Floats) -> Any:
        found = figures(sums)
        return np.array([found[name] for name in measures])

    at_once = cast(Callable[[Floats], float], vector)
    left, right = (bootstrap(side, at_once, seed=draws.seed, replicates=draws.each) for side in tallies)
    swapped = randomise(tallies[0], tallies[1], at_once, seed=draws.seed, replicates=draws.each)
    seen = [vector(side.sums()) for side in tallies]
    return {
        name: _tested(seen[0][at], seen[1][at], (left - right)[:, at], swapped[:, at])
        for at, name in enumerate(measures)
    }


def _tested(a: float, b: float, drawn: Floats, swapped: Floats) -> Tested:
    return Tested(
        float(a), float(b), percentile_interval(drawn), randomisation_p(float(a) - float(b), swapped)
    )


def _ranked(
    gold: Gold, a: Answers, b: Answers, options: Options, measures: Sequence[str], draws: Draws
) -> dict[str, Tested]:
    left, facts = claims_of(gold, a, options)
    right, _ = claims_of(gold, b, options)
    apart = [sort_claims(side, facts) for side in (left, right)]
    both = sort_claims(left, facts, against=right)
    ones = np.ones(facts.n_pairs, dtype=np.int64)
    found = {}
    for name in measures:
        seen = [_figure(side, ones, len(facts), name) for side in apart]
        drawn = [bootstrap_ranking(side, name=name, seed=draws.seed, replicates=draws.each) for side in apart]
        swapped = randomise_ranking(both, name=name, seed=draws.seed, replicates=draws.each)
        found[name] = _tested(seen[0], seen[1], drawn[0] - drawn[1], swapped)
    return found


def _figure(side: SortedClaims, weights: Any, facts: int, name: str) -> float:
    return side.figure(weights.take(side.pair), facts, name)


def _values(found: dict[str, Any]) -> dict[str, float]:
    return {key: value.value for key, value in found.items()}


def _single(sums: Floats, names: list[str], options: Options) -> dict[str, float]:
    matrix = integers(sums).reshape(len(names), len(names) + 1)
    counts = confusion_counts(matrix)
    averaged = averaged_classes(names, negative=options.negative, include_negative=options.include_negative)
    found = averages(counts.select(averaged), beta=options.beta, entropy=options.entropy)
    return _values(found | semeval_figures(matrix, names)) | {"accuracy": accuracy(counts)}


def _conll(sums: Floats, options: Options, prefix: str = "conll_") -> dict[str, float]:
    right, said, gold = integers(sums).reshape(3, -1)
    counts = Counts.from_totals(right, said, gold, items=int(gold.sum()))
    return _values(averages(counts, prefix=prefix, beta=options.beta))


def _muc(sums: Floats) -> dict[str, float]:
    return _values(muc_figures(PairingCounts(*integers(sums).tolist())))


def _spans(answers: Answers, n_documents: int) -> Spans:
    columns = (answers.row, answers.start, answers.end, answers.label)
    return spans_of_columns(
        *(np.asarray(column, dtype=np.int64) for column in columns), n_documents=n_documents
    )


def _set_tallies(gold: Gold, answers: Answers, options: Options) -> Tallies:
    facts, item, label = set_columns(gold, answers, options)
    width = facts.n_relations
    said = np.unique(item * width + label)
    right = np.intersect1d(said, facts.cells)
    parts = (right, said, facts.cells)
    column = np.concatenate([cells % width + at * width for at, cells in enumerate(parts)])
    rows = np.concatenate([cells // width for cells in parts])
    return Tallies(rows, column, np.ones(len(rows)), facts.n_pairs, 3 * width)
