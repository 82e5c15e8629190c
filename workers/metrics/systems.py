"""Comparison of systems over runs: Welch's t, effect sizes, Holm."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.ratios import Floats

FEW_RUNS = "a side has fewer than two runs"
NO_VARIANCE = "the runs of both sides do not vary"
ROUNDED_TO_ZERO = "both deviations are 0 to their last printed digit"
TINY = 1e-12  # figures that differ by less are equal but for the last digits of a float
_NAN = float("nan")
_POWER, _QUANTILES, _HALVINGS = 0.8, 40, 40
_SHARES = np.linspace(0, 1, 21)
_WORDS = (
    (2.0, "huge"),
    (1.2, "very large"),
    (0.8, "large"),
    (0.5, "medium"),
    (0.2, "small"),
    (0.01, "very small"),
)


class Spread(NamedTuple):
    """Runs of one system; a single run has no *deviation* (ddof 1)."""

    n: int
    mean: float
    deviation: float
    minimum: float
    maximum: float


def spread(runs: ArrayLike) -> Spread:
    """Compute mean, sample standard deviation and range of runs.

    Runs that differ in the last digits of a float alone do not vary: by such a deviation any difference would
    be significant.

    Parameters
    ----------
    runs : array_like of float
        One figure per run; at least one, all finite.

    Returns
    -------
    Spread

    Raises
    ------
    ValueError
        If there is no run, or a figure is not finite.

    Examples
    --------
    >>> spread([1.0, 3.0]).deviation.__round__(4)
    1.4142
    """
    x = _runs(runs)
    least, most = float(x.min()), float(x.max())
    if most - least < TINY:  # even the mean of equal numbers is rounded, so that they deviate from it
        return Spread(len(x), least, 0.0 if len(x) > 1 else _NAN, least, most)
    return Spread(len(x), float(x.mean()), float(x.std(ddof=1)), least, most)


def _runs(runs: ArrayLike) -> Floats:
    x = np.asarray(runs, dtype=np.float64).reshape(-1)
    if not len(x) or not np.isfinite(x).all():
        raise ValueError("expected one finite figure per run, and at least one run")
    return x


class Comparison(NamedTuple):
    """Two systems over their runs.

    p, interval and d are nan if *reason* is given.
    """

    difference: float
    t: float
    df: float
    p: float
    low: float
    high: float
    d: float
    word: str | None
    reason: str | None = None


def welch(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, least_df: bool = False, step: float = 0.0
) -> Comparison:
    """Compute Welch's two-sided t test of a − b.

    d is Cohen's d (Harbecke et al. 2022, eq. 4).

    Parameters
    ----------
    a, b : array_like of float
        Figures of the runs of each system.
    level : float, default 0.95
        Coverage of the interval of the difference.
    least_df : bool, default False
        Take n − 1 of the smaller side as df, the least that Welch's can be: the test then never errs more
        often than its level allows (Mickey and Brown 1966, Ann. Math. Stat. 37).
    step : float, default 0
        To which the figures are rounded. Either mean may be half a step off: t and p are those of the least
        difference that rounds to this one, |a − b| less a step.

    Returns
    -------
    Comparison
        t, df, p, interval and d are nan below two runs on a side, or if neither side varies; *reason* tells
        them apart.

    Examples
    --------
    >>> test = welch([0.71, 0.72, 0.705, 0.731, 0.718], [0.69, 0.702, 0.655, 0.71, 0.699, 0.688])
    >>> round(test.p, 6), round(test.df, 4)
    (0.020844, 7.7427)
    """
    x, y = _runs(a), _runs(b)
    first, second = spread(x), spread(y)
    return welch_of_moments(first, second, level=level, least_df=least_df, step=step)


def welch_of_moments(
    first: Spread, second: Spread, *, level: float = 0.95, least_df: bool = False, step: float = 0.0
) -> Comparison:
    """Compute the test from mean, deviation and n, as published.

    Parameters
    ----------
    first, second : Spread
    level : float, default 0.95
    least_df, step
        As for `welch`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> test = welch_of_moments(Spread(5, 72.5, 0.3, 0, 0), Spread(5, 71.5, 0.4, 0, 0))
    >>> round(test.p, 4), round(test.d, 2), test.word
    (0.0025, 2.83, 'huge')
    """
    from scipy.special import stdtr, stdtrit

    difference = first.mean - second.mean
    if min(first.n, second.n) < 2:
        return _unknown(difference, FEW_RUNS)
    error, df = _standard_error(first, second, least_df=least_df)
    if error == 0:
        return _unknown(difference, NO_VARIANCE)
    t = math.copysign(max(abs(difference) - step, 0), difference) / error
    reach = float(stdtrit(df, (1 + level) / 2)) * error
    d = cohens_d(first, second)
    p = float(2 * stdtr(df, -abs(t)))
    return Comparison(difference, t, df, p, difference - reach, difference + reach, d, size_word(d))


class Printed(NamedTuple):
    """Mean and deviation as printed, each with half a unit of its last digit."""

    n: int
    mean: float
    deviation: float
    half_of_mean: float
    half_of_deviation: float


class PrintedComparison(NamedTuple):
    """Test of printed figures, and p and d over all figures that round to these.

    Ranges are (least, greatest); *called* if even the greatest p is below 1 − level.
    """

    test: Comparison
    p_range: tuple[float, float]
    d_range: tuple[float, float]
    called: bool


def welch_of_printed(first: Printed, second: Printed, *, level: float = 0.95) -> PrintedComparison:
    """Compute Welch's test and d of printed figures, with what their rounding allows.

    The ranges are over both means ± half a last digit and both deviations ± half a last digit, no deviation
    below 0. Where the means may be equal, the greatest p is 1.

    Parameters
    ----------
    first, second : Printed
    level : float, default 0.95

    Returns
    -------
    PrintedComparison
        nan and not called below two runs, or if both deviations are 0 as printed.

    Examples
    --------
    >>> compared = welch_of_printed(Printed(5, 88.7, 0.3, 0.05, 0.05), Printed(5, 88.1, 0.3, 0.05, 0.05))
    >>> round(compared.test.p, 4), [round(p, 4) for p in compared.p_range], compared.called
    (0.0133, [0.0022, 0.0538], False)
    """
    test = welch_of_moments(Spread(*first[:3], _NAN, _NAN), Spread(*second[:3], _NAN, _NAN), level=level)
    if test.reason == NO_VARIANCE and first.half_of_deviation + second.half_of_deviation > 0:
        test = test._replace(reason=ROUNDED_TO_ZERO)
    if test.reason:
        return PrintedComparison(test, (_NAN, _NAN), (_NAN, _NAN), False)
    corners = [welch_of_moments(a, b, level=level) for a in _corners(first) for b in _corners(second)]
    p = [0.0 if corner.reason else corner.p for corner in corners]  # no variance: as certain as can be
    least = min(*p, _least_p(first, second, level), _least_p(second, first, level))
    d = [float(np.sign(corner.difference)) * np.inf if corner.reason else corner.d for corner in corners]
    differences = [corner.difference for corner in corners]
    greatest = 1.0 if min(differences) <= 0 <= max(differences) else max(p)
    return PrintedComparison(test, (least, greatest), (min(d), max(d)), greatest < 1 - level)


def _least_p(first: Printed, second: Printed, level: float) -> float:
    """Return the least p with the first deviation at its least.

    A larger deviation on one side can lower p, as the degrees of freedom grow with it. If both deviations
    shrink alike, so does p: its least value lies where one of them is at its least.
    """
    from scipy.optimize import minimize_scalar

    gap = abs(first.mean - second.mean) + first.half_of_mean + second.half_of_mean
    a = Spread(first.n, gap, _corners(first)[0].deviation, _NAN, _NAN)
    least, most = (each.deviation for each in _corners(second)[:2])

    def p(deviation: float) -> float:
        test = welch_of_moments(a, Spread(second.n, 0.0, float(deviation), _NAN, _NAN), level=level)
        return 0.0 if test.reason else test.p

    return float(minimize_scalar(p, bounds=(least, most), method="bounded", options={"xatol": 1e-9}).fun)


def _corners(printed: Printed) -> list[Spread]:
    """Return the extreme figures that round to the printed ones."""
    n, mean, deviation, half_of_mean, half_of_deviation = printed
    return [
        Spread(n, mean + sign * half_of_mean, max(deviation + way * half_of_deviation, 0.0), _NAN, _NAN)
        for sign in (-1, 1)
        for way in (-1, 1)
    ]


def _unknown(difference: float, reason: str) -> Comparison:
    return Comparison(difference, _NAN, _NAN, _NAN, _NAN, _NAN, _NAN, None, reason)


def cohens_d(first: Spread, second: Spread) -> float:
    """Compute Cohen's d, (μ₁−μ₂)/√((σ₁²+σ₂²)/2) for equal n.

    For unequal n, variances are pooled by degrees of freedom.

    Parameters
    ----------
    first, second : Spread

    Returns
    -------
    float
        nan below two runs on a side, or when neither side varies.

    Examples
    --------
    >>> round(cohens_d(Spread(5, 1.0, 1.0, 0, 0), Spread(5, 0.0, 1.0, 0, 0)), 4)
    1.0
    """
    if min(first.n, second.n) < 2:
        return _NAN
    free = first.n - 1, second.n - 1
    pooled = float(np.sqrt((free[0] * first.deviation**2 + free[1] * second.deviation**2) / sum(free)))
    return (first.mean - second.mean) / pooled if pooled else _NAN


def size_word(d: float) -> str | None:
    """Return Sawilowsky's (2009) word for an effect size.

    Parameters
    ----------
    d : float

    Returns
    -------
    str or None
        None when *d* is nan.

    Examples
    --------
    >>> size_word(-0.6), size_word(0.001), size_word((88.1 - 88.7) / 0.3)
    ('medium', 'none', 'huge')
    """
    if np.isnan(d):
        return None
    # .6/.3 is a little less than 2 in binary numbers
    return next((word for least, word in _WORDS if abs(d) + 1e-9 >= least), "none")


def detectable_difference(first: Spread, second: Spread, *, least_df: bool = False) -> float:
    """Compute the smallest difference that a single Welch test mostly detects.

    At α .05, two-sided, before any correction, and power 80 %, with the deviations as they are. The degrees
    of freedom vary with the deviations that a test sees, so the power is a mean over these.

    Parameters
    ----------
    first, second : Spread
    least_df : bool, default False
        As for `welch`.

    Returns
    -------
    float
        nan below two runs on a side, or when neither side varies.

    Examples
    --------
    >>> round(detectable_difference(Spread(5, 0, 0.4, 0, 0), Spread(5, 0, 0.3, 0, 0)), 6)
    0.74239
    """
    if min(first.n, second.n) < 2:
        return _NAN
    error, _ = _standard_error(first, second, least_df=least_df)
    if not error:
        return _NAN
    share = first.deviation**2 / first.n / error**2
    return float(np.interp(share, _SHARES, _detected(first.n, second.n, least_df)) * error)


@lru_cache(maxsize=256)
def _detected(first: int, second: int, least_df: bool) -> tuple[float, ...]:
    """Return what a test detects in standard errors, by the share of the first side in their square.

    The mean power is taken over quantiles of the squared deviations that both sides may show.
    """
    from scipy.special import chdtri, ndtr, stdtrit

    free = first - 1, second - 1
    quantiles = [chdtri(n, (np.arange(_QUANTILES) + 0.5) / _QUANTILES) / n for n in free]
    parts = np.meshgrid(*quantiles)
    shares = _SHARES[:, None, None]
    one, two = shares * parts[0], (1 - shares) * parts[1]
    df = min(free) if least_df else (one + two) ** 2 / (one**2 / free[0] + two**2 / free[1])
    limit = stdtrit(df, 0.975) * np.sqrt(one + two)
    low, high = np.zeros_like(shares), np.full_like(shares, 100.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        power = (ndtr(middle - limit) + ndtr(-middle - limit)).mean(axis=(1, 2), keepdims=True)
        low, high = np.where(power < _POWER, middle, low), np.where(power < _POWER, high, middle)
    return tuple(high.ravel().tolist())


def _standard_error(first: Spread, second: Spread, *, least_df: bool) -> tuple[float, float]:
    """Compute the standard error of the difference and its degrees of freedom."""
    parts = first.deviation**2 / first.n, second.deviation**2 / second.n
    if sum(parts) == 0:
        return 0.0, _NAN
    df = sum(parts) ** 2 / (parts[0] ** 2 / (first.n - 1) + parts[1] ** 2 / (second.n - 1))
    if least_df:
        df = min(first.n, second.n) - 1
    return float(np.sqrt(sum(parts))), df


def holm(p: ArrayLike) -> Floats:
    """Adjust p-values by Holm's (1979) step-down method.

    Parameters
    ----------
    p : array_like of float
        nan entries (no test) stay nan and are not counted.

    Returns
    -------
    float64 ndarray
        Adjusted values, at most 1, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    real = np.flatnonzero(~np.isnan(values))
    order = real[np.argsort(values[real], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return adjusted
