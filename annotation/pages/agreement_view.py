"""What the agreement page says of a report: a first sentence, pairs, coefficients, relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from annotation.models import Project
from annotation.ontology.inventory import inventory
from annotation.pages.agreement_heatmap import Heat, heat_of
from annotation.pages.interval_chart import Column, Figure, coefficient, share, spelled
from evalsvc.core.web.formatting import counted, listed

TENTATIVE = 0.667  # Krippendorff's lowest α for tentative conclusions
RELIABLE = 0.8
FEW = 10
SHOWN = 20
APART = 0.1
ORDERS = {"": "Frequent first", "least": "Least agreed first"}
WHOLE = (
    ("observed", "Observed", "share of equal answers"),
    ("fleiss", "Fleiss’ κ", "items with the usual number of answers"),
    ("alpha", "Krippendorff’s α", "a set of relations is one category"),
    ("alpha_masi", "α with MASI", "sets that share a relation are nearer"),
    ("ac1", "Gwet’s AC1", "steady when one answer is common"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One coefficient, or one relation's row."""

    title: str
    detail: str
    figures: dict[str, str]
    drawn: Any
    low: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows on one scale."""

    axis: SafeString
    lines: list[Line]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Concord:
    """The whole page of a report that is done."""

    lead: str
    made: str
    heat: Heat | None
    note: str
    whole: Table | None
    relations: Table | None


def concord(project: Project, told: Mapping[str, Any], *, order: str = "", every: bool = False) -> Concord:
    """The figures of a report in words and rows."""
    names, words = told["annotators"], titles(project)
    heat = heat_of(told["pairs"], names) if told["pairs"] else None
    return Concord(
        lead=_lead(told, words, heat),
        made=_made(told),
        heat=heat,
        note=_note(told, names, heat),
        whole=_whole(told["overall"]) if told.get("overall") else None,
        relations=_relations(told, words, order=order, every=every),
    )


def titles(project: Project) -> dict[str, str]:
    return {choice.name: choice.title for choice in inventory(project)}


def _lead(told: Mapping[str, Any], named: Mapping[str, str], heat: Heat | None) -> str:
    if not told.get("overall"):
        values = heat.values if heat else []
        if not values:
            return "No two people marked spans in the same texts: there is nothing to compare."
        low, middle, high = (coefficient(of(values)) for of in (min, median, max))
        return f"Two people’s spans agree with an F1 of {low} to {high}, in the middle {middle}."
    alpha = Figure.of(told["overall"]["alpha_masi"])
    if alpha.value is None:
        return "Agreement cannot be told yet: no sentence has two answers, or all answers are the same."
    word = (
        "Well"
        if alpha.value >= RELIABLE
        else "Fairly well"
        if alpha.value >= TENTATIVE
        else "Not well enough"
    )
    first = f"{word}: α over whole answers is {spelled(alpha)}."
    return f"{first} {_weak(told['relations'], named)}".strip()


def _weak(relations: Mapping[str, Any], named: Mapping[str, str]) -> str:
    """How many relations stay below the bound, and which are the lowest."""
    seen = {name: one["alpha"]["value"] for name, one in relations.items() if _enough(one)}
    weak = sorted((name for name in seen if seen[name] < TENTATIVE), key=lambda name: seen[name])
    if not weak:
        return "No relation with enough answers stays below .667." if seen else ""
    which = listed([named.get(name, name) for name in weak[:2]])
    if len(weak) <= 2:
        return f"Below .667 {'stays' if len(weak) == 1 else 'stay'} {which}."
    return f"{len(weak)} of {counted(len(seen), 'relation')} stay below .667, lowest {which}."


def _enough(one: Mapping[str, Any]) -> bool:
    return one["answers"] >= FEW and one["alpha"]["value"] is not None


def _made(told: Mapping[str, Any]) -> str:
    who = counted(len(told["annotators"]), "person", "people")
    said = f"{counted(told['answers'], 'answer')} by {who} on {counted(told['items'], 'item')}"
    several = f"{told['several_answers']:,} of them with two answers or more"
    drawn = f"95 % intervals from {told['replicates']:,} resamples of items"
    if not told.get("overall"):
        return f"{said}, {several}."
    return f"{said}, {several}; N/A counts as an answer; {drawn}."


def _note(told: Mapping[str, Any], names: Sequence[str], heat: Heat | None) -> str:
    """Whether the one who is apart answers N/A more or less often than the others."""
    if heat is None or heat.apart is None:
        return ""
    own = told["people"][heat.apart]["na"]
    others = [told["people"][at]["na"] for at in heat.shown if at != heat.apart]
    low, high = min(others), max(others)
    if low - APART < own < high + APART:
        return ""
    return f"{names[heat.apart]} answers N/A in {share(own)}, the others in {share(low)} to {share(high)}."


def _whole(told: Mapping[str, Any]) -> Table:
    found = {key: Figure.of(told[key]) for key, _, _ in WHOLE}
    column = Column.of(list(found.values()), width=150)
    lines = [
        Line(title, detail, {"value": coefficient(found[key].value)}, column.interval(found[key]))
        if found[key].value is not None
        else Line(title, detail, {"value": coefficient(None)}, "", reason=found[key].reason)
        for key, title, detail in WHOLE
    ]
    return Table(column.axis(), lines)


def _relations(told: Mapping[str, Any], named: Mapping[str, str], *, order: str, every: bool) -> Table | None:
    rows = [(named.get(name, name), one) for name, one in told["relations"].items()]
    if not rows:
        return None
    if "na" in told:
        rows.append(("N/A", told["na"]))
    rows.sort(key=_least if order == "least" else _frequent)
    figures = [Figure.of(one["alpha"]) for _, one in rows if _enough(one)]
    column = Column.of(figures, width=300, whole=True)
    shown = rows if every or len(rows) <= SHOWN + 4 else rows[:SHOWN]
    lines = [
        _line(title, one, lambda figure: column.interval(figure, below=TENTATIVE)) for title, one in shown
    ]
    return Table(column.axis(), lines, more=len(rows) - len(shown))


def _frequent(row: tuple[str, Mapping[str, Any]]) -> Any:
    return (-row[1]["answers"], row[0])


def _least(row: tuple[str, Mapping[str, Any]]) -> Any:
    title, one = row
    return (not _enough(one), one["alpha"]["value"] if _enough(one) else -one["answers"], title)


def _line(title: str, one: Mapping[str, Any], draw: Callable[[Figure], Any]) -> Line:
    found = {key: Figure.of(one[key]) for key in ("observed", "fleiss", "alpha", "ac1")}
    alpha = found["alpha"]
    told = {"answers": f"{one['answers']:,}", "observed": coefficient(found["observed"].value, digits=3)}
    told["ac1"] = coefficient(found["ac1"].value, digits=3)
    if not _enough(one):
        told |= {"alpha": coefficient(None), "fleiss": coefficient(None)}
        return Line(title, "", told, "", reason=_why(one["answers"], alpha))
    told |= {"alpha": coefficient(alpha.value), "fleiss": coefficient(found["fleiss"].value)}
    return Line(title, "", told, draw(alpha), low=(alpha.value or 0) < TENTATIVE)


def _why(n: int, alpha: Figure) -> str:
    if n == 0:
        return "nobody chose it"
    return alpha.reason if n >= FEW else f"chosen {counted(n, 'time')}: too few for a figure (needs {FEW})"
