"""Sentences of a comparison: what a test allows, and nothing else.

Importable without Django's settings: commands on local files use them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalsvc.core.web.formatting import MeasureFormat, apart, finer, listed, measured, points, run_named


class Side(NamedTuple):
    """A system with its figure, the mean of so many runs; without one there is a reason."""

    name: str
    mean: float | None
    reason: str = ""
    n: int = 1


class Outcome(NamedTuple):
    """Test of A − B; `winner` is the side that is ahead by it, 0 or 1.

    A test `over_items` is of one run of each side. `p` is that before Holm, by which the pair alone would
    differ if `alone`. `runs` are the names of those tested over items, as far as they are known. The p of two
    systems `of_best` of their teams is multiplied for the others.
    """

    test: str
    difference: float | None
    low: float | None
    high: float | None
    p_holm: str
    detectable: float | None
    winner: int | None
    reason: str = ""
    over_items: bool = False
    p: str = ""
    alone: bool = False
    runs: tuple[str, str] = ("", "")
    of_best: bool = False

    @property
    def leaves_out_zero(self) -> bool:
        """True if the interval leaves out zero, but no difference is called one."""
        apart = self.low is not None and self.high is not None and self.low * self.high > 0
        return apart and self.winner is None and bool(self.p_holm)


def without_figure(names: Sequence[str], title: str, reason: str) -> str:
    """Say that systems show no figure of a measure."""
    return f"{listed(names)} {'shows' if len(names) == 1 else 'show'} no {title}: {reason}."


def sentence(title: str, measure: MeasureFormat, a: Side, b: Side, outcome: Outcome) -> str:
    """Compare two systems by a measure; an outcome without interval has a reason."""
    for side in (a, b):
        if side.mean is None:
            return without_figure([side.name], title, side.reason)
    means = (a.mean or 0.0, b.mean or 0.0)
    look_equal = measured(means[0], measure) == measured(means[1], measure)
    if outcome.winner is not None and outcome.difference is not None:
        first, second = (a, b) if outcome.winner == 0 else (b, a)
        ahead = f"{first.name} is ahead of {second.name} by {apart(outcome.difference, measure)} {title}"
        by_median = of_median(outcome, a, b)
        texts = _told_apart(first, second, measure) if look_equal and not by_median else ("", "")
        figures = [" against ".join(texts)] if texts[0] != texts[1] else []
        return f"{ahead} ({', '.join([*figures, f'p {outcome.p_holm}', outcome.test, *by_median])})."
    if look_equal:
        return equal([a.name, b.name], title, measured(means[0], measure))
    if outcome.reason or outcome.low is None or outcome.high is None:
        return unclaimed(title, measure, a, b, outcome.reason)
    shown = means[0] - means[1] if outcome.difference is None else outcome.difference
    interval = f"{points(outcome.low, measure)} to {points(outcome.high, measure)}"
    median = "".join(f" ({words})" for words in of_median(outcome, a, b))
    none = f"No difference between {a.name} and {b.name} could be shown: {points(shown, measure)}{median}"
    return f"{none}, 95 % interval {interval}{_unseen(outcome, measure)}."


def adjustment(*, of_best: bool) -> str:
    """Name what makes p greater than that of a single test."""
    return f"{'the factor for the systems of the two teams and ' if of_best else ''}Holm"


def _unseen(outcome: Outcome, measure: MeasureFormat) -> str:
    """Say what a single test would mostly miss; no two systems differ by more than 1."""
    if (detectable := outcome.detectable) is None:
        return ""
    missed = "any difference" if detectable >= 1 else f"differences under {apart(detectable, measure)}"
    return f"; before {adjustment(of_best=outcome.of_best)}, {missed} would mostly go unseen"


def equal(names: Sequence[str], title: str, shown: str) -> str:
    """Say that figures look equal, which rounding or their digits may make them."""
    return f"{listed(names)} have the same shown {title}, {shown}."


def _told_apart(a: Side, b: Side, measure: MeasureFormat) -> tuple[str, str]:
    """Format two figures with as many digits as they differ in."""
    means = a.mean or 0.0, b.mean or 0.0
    form = finer(measure, *means)
    return measured(means[0], form), measured(means[1], form)


def of_median(outcome: Outcome, a: Side, b: Side) -> list[str]:
    """Name the system that a test over items takes by its median run; the other has one run."""
    if not outcome.over_items:
        return []
    return [
        f"{side.name} by its median{f', {run_named(run)}' if run else ' run'}"
        for side, run in zip((a, b), outcome.runs, strict=True)
        if side.n > 1
    ]


def unclaimed(title: str, measure: MeasureFormat, a: Side, b: Side, reason: str) -> str:
    """State two figures and why nothing is claimed; which is better, a step of rounding may leave open."""
    of_a, of_b = _told_apart(a, b, measure)
    return f"{a.name} has {of_a} {title}, {b.name} {of_b}; nothing is claimed: {reason}."


def remark(outcome: Outcome) -> str:
    """Explain an interval beside zero without a difference that is called one."""
    if not outcome.leaves_out_zero:
        return ""
    if outcome.alone:
        adjusted = adjustment(of_best=outcome.of_best)
        return f"The interval is for this pair alone; p is {outcome.p_holm} after {adjusted} over all pairs."
    return f"The test decides, not the interval: p is {outcome.p} for this pair alone."
