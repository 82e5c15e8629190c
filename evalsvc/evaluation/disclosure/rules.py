"""Rules on what a score may give away, as pure functions.

A figure is rounded to the least step above what one gold label moves. The submitter chooses the
denominators, so that fewer digits alone protect nothing: counts, rows of small classes and the points of a
curve are held back as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import ceil, log2

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
CLASS_STEP = 0.01
P_BOUNDS = ((0.001, "< .001"), (0.01, "< .01"), (0.05, "< .05"))
PER_DAY, REFUSALS_PER_DAY = 5, 20
WARN_ABOVE = 0.1
LEAST_STEPS = 5  # of a test's width
FEW_RUNS = 4  # from so many on, Welch's t keeps its level of .05 within about .01
TINY = 1e-12


def step_for(change: float) -> float | None:
    """Return the least step above a change; None withholds the figure.

    A step equal to the change would show exact figures: all are its multiples.
    """
    return next((step for step in STEPS if change < step - TINY), None)


def rounded(value: float, step: float) -> float:
    """Round half up to a multiple of the step."""
    return _multiple(_decimal(value) / _decimal(step) + Decimal("0.5"), step, ROUND_FLOOR)


def around(shown: float, low: float, high: float, step: float) -> tuple[float, float]:
    """Return an interval around a shown difference, a step wider to each side than the exact one.

    Rounded ends would be two more figures, each with other borders of its steps.
    """
    width = _decimal(at_least((high - low) / 2 + step, step))
    return float(_decimal(shown) - width), float(_decimal(shown) + width)


def at_least(width: float, step: float) -> float:
    """Return a width of a test rounded up to the step, some steps at least.

    The width of files that differ in a few answers tells how many outcomes differ: at 0, whether any does.
    """
    return max(_multiple(_decimal(width) / _decimal(step), step, ROUND_CEILING), LEAST_STEPS * step)


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.12f}")


def _multiple(count: Decimal, step: float, rounding: str) -> float:
    return float(count.to_integral_value(rounding) * _decimal(step))


def p_range(p: float) -> str:
    """Return the range of a p value, such as < .05."""
    return next((text for bound, text in P_BOUNDS if p < bound), "≥ .05")


def greatest_p(p: float) -> float:
    """Return the greatest p of the range that a p value is in."""
    return next((bound - TINY for bound, _ in P_BOUNDS if p < bound), 1.0)


def greatest_of(range_shown: str) -> float:
    """Return the greatest p of a range as it is shown."""
    return next((bound - TINY for bound, text in P_BOUNDS if text == range_shown), 1.0)


def ladder(scores: Iterable[float], eta: float, *, higher: bool = True) -> list[float]:
    """Return the figures that a Ladder of step η shows.

    A score is shown, to the nearest multiple of η, only if it improves the last one shown by more than η
    (Blum and Hardt 2015).
    """
    shown: list[float] = []
    sign = 1 if higher else -1
    for score in scores:
        improves = not shown or sign * (score - shown[-1]) > eta + TINY
        shown.append(rounded(score, eta) if improves else shown[-1])
    return shown


# ---- files ---------------------------------------------------------------------------------------
def in_total(items: int) -> int:
    """Return the default quota of a phase with so many items."""
    return min(100, max(3, items // 50))


def least_claims(positives: int) -> int:
    """Return the claims that a ranking needs: about as many as the gold has labels.

    Anybody may have a file checked, and the number of labels is secret.
    """
    step = max(50, 10 ** (len(str(positives)) - 2))
    return ceil(max(positives, 1) / step) * step


def near_below(positives: int) -> int:
    """Return the number of changed claims from which two files differ."""
    return max(20, ceil(positives / 50))


# ---- the ledger ----------------------------------------------------------------------------------
def bits(step: float) -> float:
    """Return the most bits that a figure of this step gives away."""
    return log2(1 + 1 / step)


def label_bits(counts: Iterable[int]) -> float:
    """Return N·H of the labels: the bits of the whole gold."""
    present = [count for count in counts if count]
    total = sum(present)
    return sum(count * log2(total / count) for count in present)


def few_against_many(one: int, other: int) -> bool:
    """True if Welch's t errs too often over so many runs: of equal systems with 2 and 20, 12 % at .05."""
    few, many = sorted((one, other))
    return few < FEW_RUNS and many > 2 * few
