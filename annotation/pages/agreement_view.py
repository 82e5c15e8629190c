"""Presentation of an agreement report: summary, pairs, coefficients and relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from annotation.models import Project
from annotation.pages.agreement_heatmap import heatmap_of
from annotation.pages.interval_chart import Estimate, IntervalColumn, coefficient, share
from annotation.pages.project_page import label_titles
from evalsvc.core.web.formatting import counted, listed

TENTATIVE = 0.667  # Krippendorff's lowest α for tentative conclusions
MIN_ANSWERS = 10
SHOWN = 20
SIDES = {"below": "lies below", "around": "includes", "above": "lies above"}
ORDERS = {"": "Most frequent first", "least": "Lowest agreement first"}
OVERALL = (
    ("observed", "Observed", "share of equal answers"),
    ("fleiss", "Fleiss’ κ", "sentences with the usual number of answers"),
    ("alpha", "Krippendorff’s α", "each set of relations is one category"),
    ("alpha_masi", "α with MASI distance", "sets that overlap count as partly equal"),
    ("ac1", "Gwet’s AC1", "robust if one answer is very common"),
)
Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CoefficientRow:
    """One overall coefficient, or the coefficients of one relation."""

    title: str
    detail: str
    values: dict[str, str]
    chart: Any
    low: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """Rows with charts on one scale; `more` rows are left out."""

    axis: SafeString
    rows: list[CoefficientRow]
    more: int = 0


class AgreementView:
    """Figures of a report as the page shows them."""

    def __init__(
        self, project: Project, figures: Figures, *, order: str = "", show_all: bool = False
    ) -> None:
        self.figures, self.order, self.show_all = figures, order, show_all
        self.titles = label_titles(project)
        self.heatmap = heatmap_of(figures["pairs"], figures["annotators"]) if figures["pairs"] else None

    @property
    def lead(self) -> str:
        if not self.figures.get("overall"):
            values = self.heatmap.values if self.heatmap else []
            if not values:
                return "No two people marked spans in the same texts, so there is nothing to compare."
            low, middle, high = (coefficient(of(values)) for of in (min, median, max))
            pairs = f"Pairs of annotators agree on spans with an F1 of {low} to {high}, median {middle}."
            return f"{pairs} {self._tokens}".strip()
        alpha = Estimate.of(self.figures["overall"]["alpha_masi"])
        measure = "α with MASI distance over whole answers"
        if alpha.value is None:
            reason = alpha.reason or "no sentence has two answers, or all answers are the same"
            return f"{measure} is undefined: {reason}."
        if alpha.low is None or alpha.high is None:
            return f"{measure} is {coefficient(alpha.value)}, without an interval. {self.by_bound}".strip()
        side = f"{SIDES[_side(alpha)]} .667, Krippendorff’s bound for tentative conclusions"
        ends = f"{coefficient(alpha.low)} to {coefficient(alpha.high)}"
        value = coefficient(alpha.value)
        return f"{measure} is {value}. Its 95 % interval, {ends}, {side}. {self.by_bound}".strip()

    @property
    def _tokens(self) -> str:
        if not (spans := self.figures.get("spans")):
            return ""
        alpha = Estimate.of(spans["token_alpha"])
        if alpha.value is None or alpha.low is None or alpha.high is None:
            return f"α of tokens is undefined: {alpha.reason}." if alpha.reason else ""
        ends = f"{coefficient(alpha.low)} to {coefficient(alpha.high)}"
        return f"Krippendorff’s α of tokens is {coefficient(alpha.value)}, its 95 % interval {ends}."

    @cached_property
    def span_types(self) -> CoefficientTable | None:
        """Return F1 over all spans, by type, and α of tokens; earlier reports have none."""
        if not (spans := self.figures.get("spans")):
            return None
        types = sorted(spans["types"].items(), key=lambda row: (-row[1]["spans"], row[0]))
        entries = [(self.titles.get(name, name), f"{row['spans']:,}", row["f1"]) for name, row in types]
        total = sum(row["spans"] for _, row in types)
        entries = [
            ("All types", f"{total:,}", spans["f1"]),
            *entries,
            ("α of tokens", "", spans["token_alpha"]),
        ]
        estimates = [Estimate.of(figure) for _, _, figure in entries]
        column = IntervalColumn.of([each for each in estimates if each.low is not None], width=300, unit=True)
        rows = [
            CoefficientRow(
                title,
                "",
                {"spans": n, "value": coefficient(estimate.value, digits=3)},
                column.interval(estimate) if estimate.low is not None else "",
                reason=estimate.reason if estimate.value is None else "",
            )
            for (title, n, _), estimate in zip(entries, estimates, strict=True)
        ]
        return CoefficientTable(column.axis(), rows)

    @cached_property
    def confused(self) -> list[tuple[str, list[tuple[int, bool]]]]:
        """Return a row per type that two people gave to the same words."""
        if not (spans := self.figures.get("spans")):
            return []
        names, table = list(spans["types"]), spans["confused"]
        used = [at for at, row in enumerate(table) if any(row)]
        return [(self.titles.get(names[a], names[a]), [(table[a][b], a == b) for b in used]) for a in used]

    @property
    def confused_finding(self) -> str:
        """Return the two types that are confused most."""
        cells = [
            (n, name, self.confused[b][0])
            for a, (name, row) in enumerate(self.confused)
            for b, (n, _) in enumerate(row)
            if b > a
        ]
        n, first, second = max(cells, key=lambda cell: cell[0], default=(0, "", ""))
        if not n:
            return "No two types are confused"
        return f"{first} and {second} are confused most: {counted(n, 'pair')} of answers"

    @cached_property
    def relations_by_side(self) -> dict[str, list[str]]:
        """Return titles of relations by side of the bound, lowest α first."""
        rows = [(name, Estimate.of(row["alpha"])) for name, row in self._tested()]
        rows.sort(key=lambda row: (row[1].value or 0, row[0]))
        return {side: [self.titles.get(name, name) for name, a in rows if _side(a) == side] for side in SIDES}

    def _tested(self) -> list[tuple[str, Figures]]:
        return [(name, row) for name, row in self.figures["relations"].items() if _has_enough(row)]

    @property
    def by_bound(self) -> str:
        """Count the relations whose interval lies below, around and above the bound."""
        if not self._tested():
            return ""
        below, around, above = (self.relations_by_side[side] for side in ("below", "around", "above"))
        lowest = f" (lowest: {listed(below[:2])})" if below else ""
        relations = counted(len(below), "relation")
        return (
            f"By relation, the whole interval lies below .667 for {relations}{lowest} and above for "
            f"{len(above)}; for {len(around)} it includes .667."
        )

    @property
    def basis(self) -> str:
        figures = self.figures
        answers, people = counted(figures["answers"], "answer"), len(figures["annotators"])
        by = f"{counted(people, 'person', 'people')} on {counted(figures['items'], 'sentence')}"
        basis = f"{answers} by {by}, {figures['several_answers']:,} of them with two or more answers"
        if not figures.get("overall") and not figures.get("spans"):
            return f"{basis}."
        resamples = f"{figures['replicates']:,} resamples of sentences"
        return f"{basis}. N/A counts as an answer. 95 % intervals from {resamples}."

    @property
    def na_range(self) -> str:
        """Return the range of the shares of N/A in a sentence."""
        if self.heatmap is None or not self.figures.get("overall"):
            return ""
        people, names = self.figures["people"], self.figures["annotators"]
        low, *_, high = sorted(self.heatmap.shown, key=lambda at: people[at]["na"])
        ends = [f"{share(people[at]['na'])} ({names[at]})" for at in (low, high)]
        return f"Share of N/A in a person’s answers: {' to '.join(ends)}."

    @cached_property
    def overall(self) -> CoefficientTable | None:
        if not self.figures.get("overall"):
            return None
        estimates = {key: Estimate.of(self.figures["overall"][key]) for key, _, _ in OVERALL}
        column = IntervalColumn.of(list(estimates.values()), width=150)
        rows = [
            CoefficientRow(
                title,
                detail,
                {"value": coefficient(estimates[key].value)},
                column.interval(estimates[key]),
                reason=estimates[key].reason if estimates[key].value is None else "",
            )
            for key, title, detail in OVERALL
        ]
        return CoefficientTable(column.axis(), rows)

    @cached_property
    def relations(self) -> CoefficientTable | None:
        relations = self.figures["relations"]
        rows = [(self.titles.get(name, name), row) for name, row in relations.items()]
        if not rows:
            return None
        if "na" in self.figures:
            rows.append(("N/A", self.figures["na"]))
        rows.sort(key=lambda row: (-row[1]["answers"], row[0]))
        if self.order == "least":  # relations with too few answers last
            rows.sort(
                key=lambda row: (row[1]["alpha"]["value"], row[0]) if _has_enough(row[1]) else (inf, "")
            )
        estimates = [Estimate.of(row["alpha"]) for _, row in rows if _has_enough(row)]
        column = IntervalColumn.of(estimates, width=300, unit=True)
        shown = rows if self.show_all or len(rows) <= SHOWN + 4 else rows[:SHOWN]
        shown_rows = [_relation_row(title, row, column) for title, row in shown]
        return CoefficientTable(column.axis(), shown_rows, more=len(rows) - len(shown))


def _side(alpha: Estimate) -> str:
    """Return the side of the bound that holds the whole interval."""
    if alpha.low is None or alpha.high is None:
        return "around"
    return "below" if alpha.high < TENTATIVE else "above" if alpha.low >= TENTATIVE else "around"


def _has_enough(row: Figures) -> bool:
    return row["answers"] >= MIN_ANSWERS and row["alpha"]["value"] is not None


def _relation_row(title: str, row: Figures, column: IntervalColumn) -> CoefficientRow:
    n, estimates = (
        row["answers"],
        {key: Estimate.of(row[key]) for key in ("observed", "fleiss", "alpha", "ac1")},
    )
    alpha = estimates["alpha"]
    values = {key: coefficient(estimates[key].value, digits=3) for key in ("observed", "ac1")}
    values["answers"] = f"{n:,}"
    if not _has_enough(row):
        values |= {"alpha": coefficient(None), "fleiss": coefficient(None)}
        reason = alpha.reason if n >= MIN_ANSWERS else f"chosen {counted(n, 'time')}, needs {MIN_ANSWERS}"
        return CoefficientRow(title, "", values, "", reason=reason if n else "never chosen")
    values |= {"alpha": coefficient(alpha.value), "fleiss": coefficient(estimates["fleiss"].value)}
    low = _side(alpha) == "below"
    return CoefficientRow(title, "", values, column.interval(alpha, low=low), low=low)
