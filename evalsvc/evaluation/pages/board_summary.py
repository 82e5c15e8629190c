"""Summary sentences of a board: its leader, and rank reversals.

No significance test is made. Two systems are apart when their ranges of one standard deviation don't meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Protocol

from django.db.models import Max
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, measured, number, signed
from evalsvc.evaluation.leaderboard import Board, board
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.pages import charts


class Measured(Protocol):
    """Mean over runs with its deviation."""

    @property
    def mean(self) -> float | None: ...

    @property
    def sd(self) -> float | None: ...

    @property
    def n(self) -> int: ...


@dataclass(frozen=True)
class Column:
    """Measure in a setting, by system; `title` names it in a sentence."""

    title: str
    figures: Mapping[str, Measured]
    higher_is_better: bool = True
    percent: bool = True
    digits: int = 1

    def text(self, value: float) -> str:
        return number(value * (100 if self.percent else 1), digits=self.digits)

    def difference(self, value: float) -> str:
        """Format a difference with its sign."""
        return signed(value * (100 if self.percent else 1), digits=self.digits)

    def ahead(self, first: str, second: str) -> float | None:
        """Return the lead of one system over another.

        None when either is undefined.
        """
        a, b = self.figures.get(first), self.figures.get(second)
        if a is None or b is None or a.mean is None or b.mean is None:
            return None
        return (a.mean - b.mean) * (1 if self.higher_is_better else -1)

    def apart(self, first: str, second: str) -> bool:
        """True when the ranges of one standard deviation don't meet."""
        gap, a, b = self.ahead(first, second), self.figures.get(first), self.figures.get(second)
        if gap is None or a is None or b is None or a.sd is None or b.sd is None:
            return False
        return abs(gap) > a.sd + b.sd

    def ranks(self) -> dict[str, int]:
        """Return ranks by mean.

        Equal means share the better one, undefined have none.
        """
        defined = [(name, f.mean) for name, f in self.figures.items() if f.mean is not None]
        sign = 1 if self.higher_is_better else -1
        return {name: 1 + sum(sign * other > sign * mean for _, other in defined) for name, mean in defined}

    def order(self) -> list[str]:
        ranks = self.ranks()
        return sorted(ranks, key=lambda name: (ranks[name], name))


@dataclass(frozen=True)
class Reversal:
    """Pair in which `first` leads by one column, trails by another."""

    first: str
    second: str
    here: Column
    there: Column
    gain: float
    loss: float

    @property
    def clear(self) -> bool:
        """True when the two are apart in both orders."""
        return self.here.apart(self.first, self.second) and self.there.apart(self.first, self.second)


def reversals(here: Column, others: Iterable[Column]) -> list[Reversal]:
    """Return pairs that another column reverses, the clearest and widest first."""
    pairs = []
    for there in others:
        for first, second in combinations(here.order(), 2):
            gain, loss = here.ahead(first, second), there.ahead(first, second)
            if gain is not None and loss is not None and gain > 0 > loss:
                pairs.append(Reversal(first, second, here, there, gain, loss))
    return sorted(pairs, key=lambda pair: (not pair.clear, -min(pair.gain, -pair.loss)))


def figure_in_words(column: Column, name: str) -> str:
    """`69.4 ± 0.4 over 5 runs`."""
    figure = column.figures[name]
    if figure.mean is None:
        return "undefined"
    spread = "" if figure.sd is None else f" ± {column.text(figure.sd)}"
    return f"{column.text(figure.mean)}{spread} over {counted(figure.n, 'run')}"


def leader(column: Column, names: Mapping[str, str]) -> str:
    """Name the leader and compare the lead with the variation of runs."""
    order = column.order()
    if not order:
        return f"No system has a defined {column.title} yet."
    first = order[0]
    value = figure_in_words(column, first)
    if len(order) == 1:
        return f"{names[first]} is the only system with {column.title} so far: {value}."
    ranks = column.ranks()
    leaders = [names[name] for name in order if ranks[name] == 1]
    if len(leaders) > 1:
        return f"{' and '.join(leaders)} have the same {column.title}: {value}."
    most = "highest" if column.higher_is_better else "lowest"
    return f"{names[first]} has the {most} {column.title}, {value}; {_lead(column, order, names)}."


def _lead(column: Column, order: Sequence[str], names: Mapping[str, str]) -> str:
    first, second = order[0], order[1]
    gap = column.ahead(first, second) or 0.0
    ahead = f"{column.text(gap)} ahead of {names[second]}"
    pair = column.figures[first], column.figures[second]
    if any(figure.sd is None for figure in pair):
        return f"{ahead}, with too few runs to estimate their variation"
    if column.apart(first, second):
        return f"{ahead}, more than the variation of their runs"
    return f"{ahead}, within the variation of their runs"


def sentence(column: Column, groups: Sequence[Sequence[Column]], names: Mapping[str, str]) -> str:
    """Describe the leader, and the clearest reversal against each group of columns."""
    sentences, first = [leader(column, names)], (column.order() or [""])[0]
    for others in groups:
        clear = [pair for pair in reversals(column, others) if pair.clear]
        for pair in sorted(clear, key=lambda pair: pair.first != first)[:1]:
            ahead = f"{names[pair.first]} is ahead of {names[pair.second]} by {pair.here.title}"
            sentences.append(f"{ahead} and behind it by {pair.there.title}.")
    return " ".join(sentences)


# ---- the list of boards ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Overview:
    """Benchmark in the list; `front` names the system with the best mean."""

    benchmark: Benchmark
    counts: str
    setting: str = ""
    measure: str = ""
    front: str = ""
    rug: SafeString | str = ""
    last: datetime | None = None


def overviews(benchmarks: Iterable[Benchmark]) -> list[Overview]:
    return [_overview(benchmark) for benchmark in benchmarks]


def _overview(benchmark: Benchmark) -> Overview:
    setting = benchmark.settings.first()
    if setting is None:
        return Overview(benchmark, "no setting yet")
    shown = board(setting, measures=(setting.main,))
    systems, runs = len(shown.rows), sum(row.n for row in shown.rows)
    counts = f"{counted(systems, 'system')}, {counted(runs, 'run')}" if systems else "no system yet"
    return _with_front(benchmark, setting, shown, counts)


def _with_front(benchmark: Benchmark, setting: Setting, shown: Board, counts: str) -> Overview:
    measure = as_shown(setting, setting.main)
    values = [
        (row.figures[setting.main].mean, row.system.name) for row in shown.rows if setting.main in row.figures
    ]
    means = [(mean, name) for mean, name in values if mean is not None]
    if not means:
        return Overview(benchmark, counts)
    best = (max if measure.higher_is_better else min)(mean for mean, _ in means)
    front = ", ".join(name for mean, name in means if mean == best)
    scored = Submission.objects.filter(benchmark=benchmark, state=Submission.State.SCORED)
    return Overview(
        benchmark,
        counts,
        setting=setting.title,
        measure=measure.title,
        front=f"{front}, {measured(best, measure)}",
        rug=charts.rug([mean for mean, _ in means], best=best),
        last=scored.aggregate(at=Max("ended_at"))["at"],
    )
