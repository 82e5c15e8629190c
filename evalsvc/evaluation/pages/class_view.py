"""Figures per class of a scored submission, and its errors by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from django.utils.safestring import SafeString

from annotation.testset import label_titles
from evalsvc.core.web.formatting import count, counted, listed
from evalsvc.evaluation.benchmarks.training_counts import shown_counts
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.outcomes import DIRECTION, Outcomes
from evalsvc.evaluation.measures.computation import computation, f_title, operating_point
from evalsvc.evaluation.measures.families import CLASS_FAMILIES, RELATION_CLASSES
from evalsvc.evaluation.measures.inventory import ENTITY, RELATION
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.pages import charts

ORDERS = (("gold", "Frequent first"), ("f1", "Lowest F first"), ("lost", "Most errors first"))
ORDERS_BESIDE_BEST = (*ORDERS, ("behind", "Furthest behind first"))
CLASS_FIGURES = ("f1", "gold", "correct", "predicted", "precision", "recall")
ERRORS = {
    "missed": "missed: in the gold, nothing predicted in its place",
    "spurious": "spurious: predicted, nothing in the gold in its place",
    "confused": "wrong label: another label in the gold",
    "another": "wrong relation: another one in the gold",
    "turned": "wrong direction: the gold has the relation the other way round",
    "wrong type": "correct bounds, wrong type",
    "wrong bounds": "correct type, wrong bounds",
    "wrong type and bounds": "overlap with wrong type and bounds",
}
RELATION_ERRORS = {
    "direction": "direction turned",
    "relation": "another relation between the same entities",
    "label": "the type of an entity is wrong",
    "bounds": "the bounds of an entity are wrong",
    "argument": "an entity is not in the gold",
    "spurious": "no relation between these entities in the gold",
}


@dataclass(frozen=True)
class ShownClass:
    """Figures of a class; `mean` and `sd` are of its F over the runs of a system, as far as it is defined.

    `best` is the greatest mean of a system of the board, and `by` its name.
    """

    title: str
    f1: float | None
    gold: int = 0
    correct: int = 0
    predicted: int = 0
    precision: float | None = None
    recall: float | None = None
    training: int | None = None
    mean: float | None = None
    sd: float | None = None
    best: float | None = None
    by: str = ""

    @property
    def drawn(self) -> float | None:
        """F of the bar: the mean over the runs, if there are several."""
        return self.f1 if self.mean is None else self.mean

    @property
    def behind(self) -> float:
        """Distance to the best system of the board."""
        return (self.best or 0.0) - (self.drawn or 0.0)

    @property
    def false_positives(self) -> int:
        return self.predicted - self.correct

    @property
    def false_negatives(self) -> int:
        return self.gold - self.correct


@dataclass(frozen=True)
class ClassTable:
    """Table of the classes of a setting."""

    title: str
    kind: str
    caption: str
    key: str
    order: str
    rows: list[ShownClass]
    anchor: str = "classes"
    training: bool = False
    counts: bool = True
    f: str = "F1"
    runs: int = 0
    best: str = ""
    orders: Sequence[tuple[str, str]] = ORDERS
    settings: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class ErrorChart:
    """Errors of an evaluation by kind: title, count, total."""

    title: str
    caption: str
    parts: list[tuple[str, int, int]]
    svg: SafeString


def operating_point_of(evaluation: Disclosed) -> str:
    """Name the score from which averages, classes and errors count claims."""
    return operating_point(computation(evaluation.options))


def class_family(
    evaluation: Disclosed, benchmark: Benchmark, *, relations: bool = False
) -> tuple[str, dict[str, str]]:
    """Return the family of the figures per class, and the titles of the averaged classes."""
    families = RELATION_CLASSES if relations else CLASS_FAMILIES[evaluation.setting.kind]
    part = RELATION if relations else ENTITY
    titles = label_titles(label for label in benchmark.labels if label.get("part", part) == part)
    if evaluation.options.get("include_negative") and benchmark.negative:
        titles[benchmark.negative] = benchmark.negative
    present = {row["family"] for row in evaluation.classes}
    return next((name for name in families if name in present), ""), titles


def class_rows(
    evaluation: Disclosed,
    benchmark: Benchmark,
    *,
    relations: bool = False,
    training: Mapping[str, int] = MappingProxyType({}),
) -> list[ShownClass]:
    """Return the figures of each averaged class; of joint benchmarks types or relations."""
    family, titles = class_family(evaluation, benchmark, relations=relations)
    return [
        ShownClass(
            titles[row["label"]],
            **{key: row[key] for key in CLASS_FIGURES if key in row},
            training=training.get(row["label"]),
        )
        for row in evaluation.classes
        if row["label"] in titles and row["family"] == family
    ]


def class_tables(
    evaluations: Sequence[Disclosed],
    benchmark: Benchmark,
    *,
    key: str = "",
    order: str = "",
    orders: Sequence[tuple[str, str]] = ORDERS,
) -> list[ClassTable]:
    """Build the class tables of the requested setting, or the first: types apart from relations."""
    with_rows = {e.setting.key: e for e in evaluations if e.classes}
    if not with_rows:
        return []
    evaluation = with_rows.get(key) or next(iter(with_rows.values()))
    settings = [(key, e.setting.title) for key, e in with_rows.items()]
    kinds = {
        Benchmark.Task.RELATIONS: [("Relation", "classes", False)],
        Benchmark.Task.ENTITIES: [("Type", "classes", False)],
        Benchmark.Task.JOINT: [("Relation", "relations", True), ("Type", "classes", False)],
    }[Benchmark.Task(benchmark.task)]
    training = shown_counts(benchmark)
    tables = [
        _class_table(
            evaluation,
            class_rows(evaluation, benchmark, relations=relations, training=training),
            kind,
            anchor,
            order if order in dict(orders) else "gold",
        )
        for kind, anchor, relations in kinds
    ]
    return [
        replace(table, training=bool(training), settings=settings, orders=orders)
        for table in tables
        if table.rows
    ]


def _class_table(
    evaluation: Disclosed, rows: list[ShownClass], kind: str, anchor: str, order: str
) -> ClassTable:
    strict = "strict" if anchor == "relations" and evaluation.options["form"] == "spans" else ""
    parts = (
        evaluation.setting.title,
        strict,
        operating_point_of(evaluation),
        dict(ORDERS_BESIDE_BEST)[order].lower(),
    )
    caption, counts = ", ".join(filter(None, parts)), not evaluation.policy.hidden
    shown = [row for row in _ordered(rows, order) if row.gold or row.predicted or not counts]
    if len(shown) < len(rows):
        caption += f"; {count(len(rows) - len(shown))} without gold and predictions not shown"
    return ClassTable(
        f"{kind} by {kind.lower()}",
        kind,
        caption,
        evaluation.setting.key,
        order,
        shown,
        anchor,
        counts=counts,
        f=f_title(evaluation.options.get("beta", 1)),
    )


def _ordered(rows: Sequence[ShownClass], order: str) -> list[ShownClass]:
    if order == "f1":
        return sorted(rows, key=lambda row: (row.f1 is None, row.f1 or 0.0, -row.gold, row.title))
    if order == "lost":
        return sorted(rows, key=lambda row: (-row.false_negatives - row.false_positives, row.title))
    return sorted(rows, key=lambda row: (-row.gold, row.title))


def error_charts(evaluation: Disclosed, benchmark: Benchmark, outcomes: Outcomes | None) -> list[ErrorChart]:
    """Errors by kind, with the classes that have most; those of relations apart."""
    counts = evaluation.detail.get("wrong_relations", {})
    where = evaluation.setting.title
    relations = _error_chart(where, "Wrong relations by kind", "wrong relation", counts, RELATION_ERRORS)
    rows = _ordered(class_rows(evaluation, benchmark), "lost")[:3]
    most = listed([row.title for row in rows if row.false_negatives + row.false_positives])
    parts = (operating_point_of(evaluation), most and f"most in {most}")
    title = "Wrong entities by kind" if relations else "Errors by kind"
    lost = _with_directions(evaluation.detail.get("lost", {}), outcomes)
    entities = _error_chart(where, title, "error", lost, ERRORS, parts)
    return [chart for chart in (relations, entities) if chart]


def _with_directions(counts: Mapping[str, int], outcomes: Outcomes | None) -> Mapping[str, int]:
    """Tell wrong directions from other wrong labels, as far as the outcomes are stored."""
    turned = Counter(outcomes.masks)[1 << DIRECTION] if outcomes and counts.get("confused") else 0
    if not turned:
        return counts
    others = {kind: n for kind, n in counts.items() if kind != "confused"}
    return others | {"another": counts["confused"] - turned, "turned": turned}


def _error_chart(
    where: str,
    title: str,
    noun: str,
    counts: Mapping[str, int],
    titles: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> ErrorChart | None:
    counts = {kind: n for kind, n in counts.items() if n}
    total = sum(counts.values())
    if not total:
        return None
    parts = [(titles.get(kind, kind), n) for kind, n in counts.items()]
    caption = ", ".join(filter(None, (f"{counted(total, noun)} on “{where}”", *remarks)))
    rows = [(name, n, total) for name, n in parts]
    return ErrorChart(title, caption, rows, charts.parts_bar(parts))
