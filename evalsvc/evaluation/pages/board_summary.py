"""What the figures of a board say, in words: who is in front, and where two orders disagree.

No test stands behind these sentences, so they claim only what means and standard deviations show:
two systems are called apart when their ranges of one standard deviation do not meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from evalsvc.core.web.formatting import counted, number


class Measured(Protocol):
    """A mean over runs with its doubt."""

    @property
    def mean(self) -> float | None: ...

    @property
    def sd(self) -> float | None: ...

    @property
    def n(self) -> int: ...


@dataclass(frozen=True)
class Column:
    """One measure in one setting, by system; `title` names it in a sentence."""

    title: str
    figures: Mapping[str, Measured]
    higher_is_better: bool = True
    percent: bool = True
    digits: int = 1

    def said(self, value: float) -> str:
        """A value of this column as it is written."""
        return number(value * (100 if self.percent else 1), digits=self.digits)

    def ahead(self, one: str, other: str) -> float | None:
        """By how much one is ahead of the other; None when either is undefined."""
        a, b = self.figures.get(one), self.figures.get(other)
        if a is None or b is None or a.mean is None or b.mean is None:
            return None
        return (a.mean - b.mean) * (1 if self.higher_is_better else -1)

    def apart(self, one: str, other: str) -> bool:
        """Whether the two ranges of one standard deviation do not meet."""
        gap, a, b = self.ahead(one, other), self.figures.get(one), self.figures.get(other)
        if gap is None or a is None or b is None or a.sd is None or b.sd is None:
            return False
        return abs(gap) > a.sd + b.sd

    def ranks(self) -> dict[str, int]:
        """Place by mean, 1 first; equal means share the better place; undefined ones have none."""
        known = [(name, f.mean) for name, f in self.figures.items() if f.mean is not None]
        sign = 1 if self.higher_is_better else -1
        return {name: 1 + sum(sign * other > sign * mean for _, other in known) for name, mean in known}

    def order(self) -> list[str]:
        ranks = self.ranks()
        return sorted(ranks, key=lambda name: (ranks[name], name))


@dataclass(frozen=True)
class Turn:
    """A pair in opposite orders: `first` ahead of `second` by one column, behind it by another."""

    first: str
    second: str
    here: Column
    there: Column
    gain: float
    loss: float

    @property
    def clear(self) -> bool:
        """Whether both orders hold beyond one standard deviation on each side."""
        return self.here.apart(self.first, self.second) and self.there.apart(self.first, self.second)


def turns(here: Column, others: Iterable[Column]) -> list[Turn]:
    """Every pair that another column orders the other way, the clear and wide ones first."""
    found = []
    for there in others:
        for first, second in combinations(here.order(), 2):
            gain, loss = here.ahead(first, second), there.ahead(first, second)
            if gain is not None and loss is not None and gain > 0 > loss:
                found.append(Turn(first, second, here, there, gain, loss))
    return sorted(found, key=lambda turn: (not turn.clear, -min(turn.gain, -turn.loss)))


def figure_in_words(column: Column, name: str) -> str:
    """`69.4 ± 0.4 over 5 runs`."""
    figure = column.figures[name]
    if figure.mean is None:
        return "undefined"
    spread = "" if figure.sd is None else f" ± {column.said(figure.sd)}"
    return f"{column.said(figure.mean)}{spread} over {counted(figure.n, 'run')}"


def leader(column: Column, names: Mapping[str, str]) -> str:
    """Who is in front, by how much, and whether the lead is wider than the runs vary."""
    order = column.order()
    if not order:
        return f"No system has {column.title} yet."
    first = order[0]
    told = figure_in_words(column, first)
    if len(order) == 1:
        return f"{names[first]} is the only system with {column.title} so far: {told}."
    ranks = column.ranks()
    level = [names[name] for name in order if ranks[name] == 1]
    if len(level) > 1:
        return f"{' and '.join(level)} have the same {column.title}: {told}."
    most = "highest" if column.higher_is_better else "lowest"
    return f"{names[first]} has the {most} {column.title}, {told}; {_lead(column, order, names)}."


def _lead(column: Column, order: Sequence[str], names: Mapping[str, str]) -> str:
    first, second = order[0], order[1]
    gap = column.ahead(first, second) or 0.0
    ahead = f"{column.said(gap)} ahead of {names[second]}"
    pair = column.figures[first], column.figures[second]
    if any(figure.sd is None for figure in pair):
        return f"{ahead}, with too few runs to say how much runs vary"
    if column.apart(first, second):
        return f"{ahead}, more than the two vary over runs"
    return f"{ahead}, which is within what the two vary over runs"


def turned(turn: Turn, names: Mapping[str, str]) -> str:
    """One pair in opposite orders, in words."""
    return (
        f"{names[turn.first]} is ahead of {names[turn.second]} by {turn.here.title} "
        f"and behind it by {turn.there.title}."
    )


def sentence(column: Column, groups: Sequence[Sequence[Column]], names: Mapping[str, str]) -> str:
    """The board's first sentence: the leader, then the clearest turn against each group of other orders."""
    told, first = [leader(column, names)], (column.order() or [""])[0]
    for others in groups:
        clear = [turn for turn in turns(column, others) if turn.clear]
        clear.sort(key=lambda turn: turn.first != first)
        told += [turned(turn, names) for turn in clear[:1]]
    return " ".join(told)
