"""Measures that are resampled together, of the same sums; composed ones with those of their base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workers.metrics.counts import Ints
from workers.metrics.ratios import Floats
from workers.metrics.resampling import Tallies, word_tallies, wrf_of_sums
from workers.metrics.words import Words
from workers.metrics.wrf import MODES, gammas
from workers.scoring.case import ScoringCase
from workers.scoring.composed import ClassCounts, averaged, gammas_of, of_counts

BothTallies = tuple[Tallies, Tallies]
Figures = Callable[[Floats], dict[str, float]]
Compositions = Mapping[str, Mapping[str, Any]]


class Family(NamedTuple):
    """Measures of the same sums: tallies of both runs by item, figures of their sums.

    `right` returns the columns that count right answers, by measure; `counts` those of a `base`, whose
    labels come first in these columns.
    """

    tallies: BothTallies
    figures: Figures
    right: Callable[[str], Ints]
    base: str = ""
    counts: Callable[[Floats], ClassCounts] | None = None

    def with_composed(self, compositions: Compositions, case: ScoringCase) -> Family:
        """Return the family with the measures composed of its base."""
        own = {key: each for key, each in compositions.items() if each["base"] == self.base}
        counts, options = self.counts, case.options
        if not own or counts is None:
            return self

        def figures(sums: Floats) -> dict[str, float]:
            of_base = counts(sums)
            values = {key: of_counts(each, of_base, options).value for key, each in own.items()}
            return self.figures(sums) | values

        def right(name: str) -> Ints:
            if name not in own:
                return self.right(name)
            labels = counts(self.tallies[0].sums()).labels
            weights = own[name].get("weights", {})
            places = [at for at in averaged(own[name], labels, options) if weights.get(labels[at], 1)]
            return self.right(name)[places]

        return self._replace(figures=figures, right=right)


class _OfWords(NamedTuple):
    """γ of a measure of words, what they weight, and the keys of its pooled and its mean figure."""

    gamma: Floats
    figure: str
    pooled: str
    mean: str


def of_words(target: Words, sides: Sequence[Words], case: ScoringCase, own: Compositions) -> Family:
    """Return the measures of words of two runs, and composed ones with γ of the whole gold."""
    labels = case.options.labels
    gold = np.bincount(case.gold_spans.label, minlength=len(labels)).tolist()
    measures = [
        _OfWords(gammas(len(labels), mode=mode), "f1", f"wrf_{mode}", f"wrf_{mode}_mean") for mode in MODES
    ]
    for key, each in own.items():
        if each["base"] == "wrf":
            pooled, mean = (key, "") if each["over"] == "pooled" else ("", key)
            measures.append(_OfWords(gammas_of(each, labels, gold), each["figure"], pooled, mean))
    weights, names = [each.gamma for each in measures], [each.figure for each in measures]
    left, right = (word_tallies(target, side, weights, n_labels=len(labels), figures=names) for side in sides)

    def figures(sums: Floats) -> dict[str, float]:
        values: dict[str, float] = {}
        for each, (pooled, mean) in zip(measures, wrf_of_sums(sums, weights, names), strict=True):
            values |= {each.pooled: pooled, each.mean: mean}
        values.pop("", None)
        return values

    def columns(name: str) -> Ints:
        """Return those of |P∩T| of the classes that count."""
        gamma = next(each.gamma for each in measures if name in (each.pooled, each.mean))
        return np.flatnonzero(gamma > 0) if name in own else np.arange(len(labels))

    return Family((left, right), figures, columns)
