"""Presentation of an agreement report: summary, pairs, coefficients and relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from annotation.models import Project
from annotation.pages.agreement_heatmap import Heatmap, heatmap_of
from annotation.pages.interval_chart import Estimate, IntervalColumn, coefficient, estimate_text, share
from annotation.pages.project_page import label_titles
from evalsvc.core.web.formatting import counted, listed

TENTATIVE = 0.667  # Krippendorff's lowest α for tentative conclusions
RELIABLE = 0.8
MIN_ANSWERS = 10
SHOWN = 20
NA_GAP = 0.1
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


@dataclass(frozen=True, slots=True)
class AgreementView:
    """Page of a finished report."""

    lead: str
    basis: str
    heatmap: Heatmap | None
    outlier_note: str
    overall: CoefficientTable | None
    relations: CoefficientTable | None


def agreement_view(
    project: Project, figures: Figures, *, order: str = "", show_all: bool = False
) -> AgreementView:
    """Present the figures of a report."""
    names, titles = figures["annotators"], label_titles(project)
    heatmap = heatmap_of(figures["pairs"], names) if figures["pairs"] else None
    return AgreementView(
        lead=_lead(figures, titles, heatmap),
        basis=_basis(figures),
        heatmap=heatmap,
        outlier_note=_outlier_note(figures, names, heatmap),
        overall=_overall(figures["overall"]) if figures.get("overall") else None,
        relations=_relations(figures, titles, order=order, show_all=show_all),
    )


def _lead(figures: Figures, titles: Mapping[str, str], heatmap: Heatmap | None) -> str:
    if not figures.get("overall"):
        values = heatmap.values if heatmap else []
        if not values:
            return "No two people marked spans in the same texts, so there is nothing to compare."
        low, middle, high = (coefficient(of(values)) for of in (min, median, max))
        return f"Pairs of annotators agree on spans with an F1 of {low} to {high}, median {middle}."
    alpha = Estimate.of(figures["overall"]["alpha_masi"])
    if alpha.value is None:
        return "Agreement is undefined: no sentence has two answers, or all answers are the same."
    if alpha.value >= RELIABLE:
        verdict = "Agreement is good"
    elif alpha.value >= TENTATIVE:
        verdict = "Agreement allows tentative conclusions"
    else:
        verdict = "Agreement is too low for conclusions"
    weak = _weak_relations(figures["relations"], titles)
    return f"{verdict}: α over whole answers is {estimate_text(alpha)}. {weak}".strip()


def _weak_relations(relations: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Count the relations below the bound and name the lowest."""
    alphas = {name: row["alpha"]["value"] for name, row in relations.items() if _has_enough(row)}
    weak = sorted((name for name in alphas if alphas[name] < TENTATIVE), key=lambda name: alphas[name])
    if not weak:
        return "Every relation with enough answers reaches .667." if alphas else ""
    lowest = listed([titles.get(name, name) for name in weak[:2]])
    if len(weak) <= 2:
        return f"Below .667: {lowest}."
    return f"{len(weak)} of {counted(len(alphas), 'relation')} are below .667, the lowest {lowest}."


def _has_enough(row: Mapping[str, Any]) -> bool:
    return row["answers"] >= MIN_ANSWERS and row["alpha"]["value"] is not None


def _basis(figures: Figures) -> str:
    people = counted(len(figures["annotators"]), "person", "people")
    basis = f"{counted(figures['answers'], 'answer')} by {people} on {counted(figures['items'], 'sentence')}"
    basis = f"{basis}, {figures['several_answers']:,} of them with two or more answers"
    if not figures.get("overall"):
        return f"{basis}."
    resamples = f"{figures['replicates']:,} resamples of sentences"
    return f"{basis}. N/A counts as an answer. 95 % intervals from {resamples}."


def _outlier_note(figures: Figures, names: Sequence[str], heatmap: Heatmap | None) -> str:
    """Compare the outlier's share of N/A with that of the others, if it stands out."""
    if heatmap is None or heatmap.outlier is None:
        return ""
    own = figures["people"][heatmap.outlier]["na"]
    others = [figures["people"][at]["na"] for at in heatmap.shown if at != heatmap.outlier]
    low, high = min(others), max(others)
    if low - NA_GAP < own < high + NA_GAP:
        return ""
    name = names[heatmap.outlier]
    return f"{name} answers N/A in {share(own)} of cases, the others in {share(low)} to {share(high)}."


def _overall(figures: Figures) -> CoefficientTable:
    estimates = {key: Estimate.of(figures[key]) for key, _, _ in OVERALL}
    column = IntervalColumn.of(list(estimates.values()), width=150)
    rows = [
        CoefficientRow(
            title,
            detail,
            {"value": coefficient(estimate.value)},
            column.interval(estimate) if estimate.value is not None else "",
            reason=estimate.reason if estimate.value is None else "",
        )
        for key, title, detail in OVERALL
        for estimate in [estimates[key]]
    ]
    return CoefficientTable(column.axis(), rows)


def _relations(
    figures: Figures, titles: Mapping[str, str], *, order: str, show_all: bool
) -> CoefficientTable | None:
    rows = [(titles.get(name, name), row) for name, row in figures["relations"].items()]
    if not rows:
        return None
    if "na" in figures:
        rows.append(("N/A", figures["na"]))
    rows.sort(key=_lowest_first if order == "least" else lambda row: (-row[1]["answers"], row[0]))
    column = IntervalColumn.of(
        [Estimate.of(row["alpha"]) for _, row in rows if _has_enough(row)], width=300, unit=True
    )
    shown = rows if show_all or len(rows) <= SHOWN + 4 else rows[:SHOWN]
    return CoefficientTable(
        column.axis(),
        [
            _relation_row(title, row, lambda alpha: column.interval(alpha, below=TENTATIVE))
            for title, row in shown
        ],
        more=len(rows) - len(shown),
    )


def _lowest_first(row: tuple[str, Mapping[str, Any]]) -> Any:
    title, figures = row
    enough = _has_enough(figures)
    return (not enough, figures["alpha"]["value"] if enough else -figures["answers"], title)


def _relation_row(title: str, row: Mapping[str, Any], draw: Callable[[Estimate], Any]) -> CoefficientRow:
    estimates = {key: Estimate.of(row[key]) for key in ("observed", "fleiss", "alpha", "ac1")}
    alpha = estimates["alpha"]
    values = {key: coefficient(estimates[key].value, digits=3) for key in ("observed", "ac1")}
    values["answers"] = f"{row['answers']:,}"
    if not _has_enough(row):
        values |= {"alpha": coefficient(None), "fleiss": coefficient(None)}
        return CoefficientRow(title, "", values, "", reason=_reason(row["answers"], alpha))
    values |= {"alpha": coefficient(alpha.value), "fleiss": coefficient(estimates["fleiss"].value)}
    return CoefficientRow(title, "", values, draw(alpha), low=(alpha.value or 0) < TENTATIVE)


def _reason(n: int, alpha: Estimate) -> str:
    if n == 0:
        return "never chosen"
    return alpha.reason if n >= MIN_ANSWERS else f"chosen {counted(n, 'time')}, needs {MIN_ANSWERS}"
