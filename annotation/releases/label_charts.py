"""Charts of the labels of a test set: how often each occurs, and which do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.releases.shown_statistics import Statistics
from annotation.testset import Kind, TestSet, label_titles
from evalsvc.core.web.formatting import counted

MAX_BARS = 20
MAX_TITLE = 26
MAX_NAMED = 30


@dataclass(frozen=True, slots=True)
class LabelBar:
    """Bar of one label's lines, with its coordinates in the chart."""

    title: str
    n: int
    negative: bool
    width: float
    at: int

    @property
    def short(self) -> str:
        return self.title if len(self.title) <= MAX_TITLE else f"{self.title[: MAX_TITLE - 1]}…"

    @property
    def top(self) -> int:
        return 5 + 24 * self.at

    @property
    def base(self) -> int:
        return 17 + 24 * self.at

    @property
    def after(self) -> float:
        return 194 + self.width


@dataclass(frozen=True, slots=True)
class LabelChart:
    """Numbers of labels, most frequent first; `key` names its files."""

    key: str
    title: str
    bars: list[LabelBar]

    unsupported: list[str] = field(default_factory=list)
    """Titles of labels that no line has."""

    @property
    def shown(self) -> list[LabelBar]:
        return self.bars[:MAX_BARS]

    @property
    def height(self) -> int:
        return 24 * len(self.shown) + 6

    @property
    def nothing(self) -> str:
        """Name the labels without a line."""
        if not self.unsupported:
            return ""
        shown = ", ".join(self.unsupported[:MAX_NAMED])
        more = len(self.unsupported) - MAX_NAMED
        shown += f" and {more:,} more" if more > 0 else ""
        labels = counted(len(self.unsupported), "label")
        return f"{labels} without any line, for which nothing can be measured: {shown}."

    @property
    def finding(self) -> str:
        positive = [bar for bar in self.bars if not bar.negative and bar.n]
        if not positive:
            return "No label occurs"
        total = sum(bar.n for bar in positive)
        share = f"{100 * positive[0].n / total:.0f} %"
        return f"“{positive[0].title}” makes up {share} of {counted(total, 'label')}"


def label_charts(test_set: TestSet, statistics: Statistics, negative_title: str) -> list[LabelChart]:
    """Chart the labels; of joint gold the types, and the relations."""
    counts: dict[str, int] = dict(statistics.get("labels") or {})
    if statistics.get("na_sentences"):
        counts[negative_title] = statistics["na_sentences"]
    what = "Sentences by label" if test_set.kind == Kind.RELATIONS else "Entities by type"
    between = statistics.get("relation_labels") or {}
    charts = [
        _chart(test_set, what, counts, "entity"),
        _chart(test_set, "Relations between entities by label", between, "relation"),
    ]
    return [chart for chart in charts if chart.bars or chart.unsupported]


def _chart(test_set: TestSet, title: str, counts: Mapping[str, int], part: str) -> LabelChart:
    """Chart the labels that occur, and name the others."""
    titles = label_titles(label for label in test_set.labels if label.get("part", part) == part)
    order = sorted(((name, n) for name, n in counts.items() if n), key=lambda entry: -entry[1])
    most = max((n for _, n in order), default=1)
    bars = [
        LabelBar(titles.get(name, name), n, name not in titles, round(270 * n / most, 1), at)
        for at, (name, n) in enumerate(order)
    ]
    absent = [titles.get(name, name) for name, n in counts.items() if not n]
    return LabelChart("labels" if part == "entity" else "relations", title, bars, absent)
