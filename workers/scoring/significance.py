"""Tests of one measure between two systems: Welch over runs, else paired over items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.measures.families import label_of
from evalsvc.evaluation.measures.menu import MEASURES
from workers.metrics.systems import detectable_difference, spread, welch
from workers.scoring.case import ScoringCase
from workers.scoring.replicates import Replicates
from workers.scoring.resampled_comparison import Draws, resampled
from workers.scoring.resampled_families import Compositions

UNDEFINED = "the measure is undefined for a run"
NOT_RESAMPLED = "a side has one run, and this measure is not resampled"
TURNED = "the mean of all runs and the median run, which is tested, do not agree on which one is better"
NEAR = "the means of all runs differ by no more than their rounding"
CLASS_NOT_RESAMPLED = "a side has one run, and these figures per class are not resampled"
NAN = float("nan")
Values = Mapping[str, float]
NOT_ROUNDED: Values = {}


class ComparedMeasure(NamedTuple):
    """One measure: both systems, their difference, and its significance."""

    measure: str
    a: float = NAN
    a_sd: float = NAN
    b: float = NAN
    b_sd: float = NAN
    difference: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    p_holm: float = NAN
    d: float = NAN
    word: str | None = None
    reason: str | None = None
    detectable: float = NAN
    differing: int | None = None


def _over_runs(
    name: str, left: Sequence[float], right: Sequence[float], *, least_df: bool, step: float
) -> ComparedMeasure:
    """Compare the figures of several runs on each side by Welch's test."""
    if not np.isfinite([*left, *right]).all():
        return ComparedMeasure(name, reason=UNDEFINED)
    one, two, test = spread(left), spread(right), welch(left, right, least_df=least_df, step=step)
    return ComparedMeasure(
        name,
        a=one.mean,
        a_sd=one.deviation,
        b=two.mean,
        b_sd=two.deviation,
        difference=test.difference,
        low=test.low,
        high=test.high,
        p=test.p,
        d=test.d,
        word=test.word,
        reason=test.reason,
        detectable=detectable_difference(one, two, least_df=least_df) + step,
    )


def compare_runs(
    names: Sequence[str],
    left: Sequence[Values],
    right: Sequence[Values],
    *,
    least_df: bool = False,
    steps: Values = NOT_ROUNDED,
) -> list[ComparedMeasure]:
    """Compare two systems of several runs by each measure; figures may be rounded to steps."""
    return [
        _over_runs(
            *(name, [run[name] for run in left], [run[name] for run in right]),
            least_df=least_df,
            step=steps.get(name, 0.0),
        )
        for name in names
    ]


def median_runs(
    names: Sequence[str], left: Sequence[Values], right: Sequence[Values]
) -> dict[str, tuple[int, int]]:
    """Return the places of the median runs of both sides, by measure.

    Of an even number it is the middle one nearer to the other side: by the lower one, a system of two runs
    would be represented by its worse run. Ties go to the lower one, then by place.
    """
    middles = ((name, product(_middle_runs(left, name), _middle_runs(right, name))) for name in names)
    return {
        name: min(pairs, key=lambda pair: round(abs(left[pair[0]][name] - right[pair[1]][name]), 12))
        for name, pairs in middles
    }


def _middle_runs(runs: Sequence[Values], name: str) -> list[int]:
    """Return the place of the middle run, or of both."""
    places = sorted(range(len(runs)), key=lambda at: (runs[at][name], at))
    return places[(len(runs) - 1) // 2 : len(runs) // 2 + 1]


class Sides(NamedTuple):
    """Figures of the runs of two systems, and those that choose the median runs, if others."""

    left: Sequence[Values]
    right: Sequence[Values]
    shown: tuple[Sequence[Values], Sequence[Values]] | None = None

    def medians(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        return median_runs(names, *(self.shown or (self.left, self.right)))


def compare_sides(
    names: Sequence[str],
    left: Sequence[Values],
    right: Sequence[Values],
    *,
    case: Callable[[int, int], ScoringCase],
    draws: Draws,
) -> list[ComparedMeasure]:
    """Compare two systems by each measure, given the figures of their runs.

    With a single run on a side the median runs are resampled: `case` returns the run of a side and place.
    Rows without a test are of these, too.
    """
    if min(len(left), len(right)) > 1:
        return compare_runs(names, left, right)
    sides = Sides(left, right)
    rows = compare_items(names, sides, replicates_of(names, sides, case=case, draws=draws))
    digits = {name: MEASURES[name].last_digit for name in names}
    tested = without_turned(rows, means_of(names, left), means_of(names, right), digits)
    return [
        kept if kept is row else kept._replace(a=row.a, b=row.b, difference=row.difference)
        for row, kept in zip(rows, tested, strict=True)
    ]


def replicates_of(
    names: Sequence[str],
    sides: Sides,
    *,
    case: Callable[[int, int], ScoringCase],
    draws: Draws,
    own: Compositions | None = None,
) -> dict[str, Replicates]:
    """Resample the median runs of two systems; measures with the same runs share the replicates.

    `own` are the compositions of contributed ones by key.
    """
    medians = sides.medians(names)
    found: dict[str, Replicates] = {}
    for one, other in sorted(set(medians.values())):
        of_pair = [name for name in names if medians[name] == (one, other)]
        found |= resampled(case(0, one), case(1, other), measures=of_pair, draws=draws, own=own)
    return found


def compare_items(
    names: Sequence[str], sides: Sides, replicates: Mapping[str, Replicates]
) -> list[ComparedMeasure]:
    """Compare two systems by each measure, given the replicates of their median runs."""
    left, right, _ = sides
    single = len(left) == len(right)
    rows = []
    for name, (one, other) in sides.medians(names).items():
        if single or np.isfinite([run[name] for run in (*left, *right)]).all():
            rows.append(_over_items(name, replicates.get(name), left[one][name], right[other][name]))
        else:
            rows.append(ComparedMeasure(name, reason=UNDEFINED))
    return rows


def means_of(names: Sequence[str], runs: Sequence[Values]) -> Values:
    """Return the mean of the runs by measure."""
    return {name: float(np.mean([run[name] for run in runs])) for name in names}


def without_turned(
    rows: Sequence[ComparedMeasure], left: Values, right: Values, roundings: Values = NOT_ROUNDED
) -> Sequence[ComparedMeasure]:
    """Take away the tests of median runs that differ where the means are near, or ordered otherwise.

    Means that differ by less than their rounding, by measure, are near: readers see one figure twice.
    """
    return [
        _turned(row, left[row.measure], right[row.measure], roundings.get(row.measure, TINY)) or row
        for row in rows
    ]


def _turned(row: ComparedMeasure, a: float, b: float, rounding: float) -> ComparedMeasure | None:
    """Return the row of the means without a test if these do not confirm the order of the tested runs."""
    difference = a - b
    differ = row.differing is not None and abs(row.difference) >= TINY
    if not differ or abs(row.difference - difference) < TINY:  # the tested runs differ as the means do
        return None
    near = abs(difference) < max(rounding - TINY, TINY)
    if not near and row.difference * difference > 0:
        return None
    return ComparedMeasure(row.measure, a=a, b=b, difference=difference, reason=NEAR if near else TURNED)


def within_steps(row: ComparedMeasure, a: float, b: float, step: float) -> ComparedMeasure:
    """Put figures rounded to a step in place of the exact ones; a difference within the step is none."""
    p = 1.0 if abs(a - b) < step - TINY else row.p
    return row._replace(a=a, b=b, difference=a - b, p=p if np.isfinite(row.p) else row.p)


def _over_items(name: str, replicates: Replicates | None, a: float, b: float) -> ComparedMeasure:
    """Compare two single runs with the figures a and b by resampling."""
    if not np.isfinite([a, b]).all():
        return ComparedMeasure(name, a=a, b=b, reason=UNDEFINED)
    if replicates is None:
        reason = CLASS_NOT_RESAMPLED if label_of(name) else NOT_RESAMPLED
        return ComparedMeasure(name, a=a, b=b, difference=a - b, reason=reason)
    tested = replicates.tested()
    low, high = tested.interval
    return ComparedMeasure(
        name,
        a=tested.a,
        b=tested.b,
        difference=tested.a - tested.b,
        low=low,
        high=high,
        p=tested.p,
        detectable=tested.detectable,
        differing=tested.differing,
    )
