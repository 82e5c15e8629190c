"""The heat map of pairs of annotators: a table on the page, a drawing to be taken away."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from annotation.pages.interval_chart import coefficient, tick_word
from evalsvc.core.web.formatting import DASH
from evalsvc.core.web.svg import drawing, element

MOST_NAMED = 12
APART = 0.1
MEASURES = {
    "kappa": ("Cohen’s κ", (0.0, 0.2, 0.4, 0.6, 0.8)),
    "f1": ("F1 of their spans", (0.5, 0.6, 0.7, 0.8, 0.9)),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One field: what it shows, its step, and what it says in full."""

    text: str
    style: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    head: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Heat:
    """Values below the diagonal, items in common above it."""

    finding: str
    measure: str
    ends: tuple[str, str]
    rows: list[Row]
    values: list[float]
    shown: list[int]
    people: int
    apart: int | None

    @property
    def dense(self) -> bool:
        return len(self.rows) > MOST_NAMED


def heat_of(pairs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Heat:
    """People in order of their names."""
    measure, bounds = MEASURES[pairs[0]["measure"]]
    at = {(pair["first"], pair["second"]): pair for pair in pairs}
    at |= {(second, first): pair for (first, second), pair in list(at.items())}
    shown = sorted({person for person, _ in at}, key=lambda person: _in_order(names[person]))
    values = [pair["value"] for pair in pairs if pair["value"] is not None]
    apart = _apart(pairs, shown)
    return Heat(
        finding=_finding(values, names[apart] if apart is not None else "", len(shown)),
        measure=measure,
        ends=(f"below {tick_word(bounds[0])}", f"{tick_word(bounds[-1])} and above"),
        rows=_rows(at, shown, names, bounds, measure),
        values=values,
        shown=shown,
        people=len(names),
        apart=apart,
    )


def _in_order(name: str) -> list[Any]:
    """As people sort: without case, and the second before the tenth."""
    return [int(part) if part.isdecimal() else part.casefold() for part in re.split(r"(\d+)", name)]


def _apart(pairs: Sequence[Mapping[str, Any]], shown: Sequence[int]) -> int | None:
    """The one person whose every value lies under the middle of the others', and on the whole far under."""
    far = []
    for person in shown:
        known = [pair for pair in pairs if pair["value"] is not None]
        own = [pair["value"] for pair in known if person in (pair["first"], pair["second"])]
        others = [pair["value"] for pair in known if person not in (pair["first"], pair["second"])]
        if len(own) > 1 and others and max(own) < median(others) and median(own) < median(others) - APART:
            far.append(person)
    return far[0] if len(far) == 1 else None


def _finding(values: Sequence[float], apart: str, people: int) -> str:
    if apart:
        everybody = len(values) == people * (people - 1) / 2
        return f"Pairs: {apart} differs from all {'others' if everybody else 'it shares items with'}"
    if not values:
        return "No pair has enough items in common for a figure"
    if len(values) == 1:
        return f"The one pair stands at {coefficient(values[0])}"
    low, middle, high = min(values), median(values), max(values)
    ends = f"between {coefficient(low)} and {coefficient(high)}"
    return f"Pairs lie {ends}, in the middle {coefficient(middle)}"


def _rows(
    at: Mapping[tuple[int, int], Mapping[str, Any]],
    shown: Sequence[int],
    names: Sequence[str],
    bounds: Sequence[float],
    measure: str,
) -> list[Row]:
    dense = len(shown) > MOST_NAMED

    def cell(r: int, c: int) -> Cell:
        person, other = shown[r], shown[c]
        pair = at.get((person, other))
        if c < r:
            return _below(pair, f"{names[person]} and {names[other]}", bounds, measure)
        return Cell("", "self") if c == r else Cell("") if dense else _above(pair)

    places = range(len(shown))
    return [
        Row(names[shown[r]], str(r + 1) if dense else names[shown[r]], [cell(r, c) for c in places])
        for r in places
    ]


def _above(pair: Mapping[str, Any] | None) -> Cell:
    return Cell(f"{pair['common']:,}" if pair else "0", "n")


def _below(pair: Mapping[str, Any] | None, both: str, bounds: Sequence[float], measure: str) -> Cell:
    if pair is None:
        return Cell(DASH, "self", f"{both}: no item in common")
    if pair["value"] is None:
        why = pair.get("reason") or "neither marked anything, or both always said the same"
        return Cell(DASH, "self", f"{both}: {pair['common']:,} items in common, no figure: {why}")
    step = 1 + sum(pair["value"] >= bound for bound in bounds)
    told = f"{both}: {measure} {coefficient(pair['value'])} on {pair['common']:,} items"
    return Cell(coefficient(pair["value"]), f"h{step}", told)


LEFT, TOP, HIGH = 150, 30, 36


def heat_svg(heat: Heat) -> SafeString:
    """The same table as a drawing."""
    wide = HIGH if heat.dense else 66
    parts: list[SafeString] = []
    for r, row in enumerate(heat.rows):
        y = TOP + HIGH * r
        name = f"{row.head}  {row.name}" if heat.dense else row.name
        parts.append(
            element("text", _clipped(name, 20), class_="lab", x=LEFT - 8, y=y + 22, text_anchor="end")
        )
        head = {"x": LEFT + wide * (r + 0.5), "y": TOP - 8, "text_anchor": "middle"}
        parts.append(element("text", _clipped(row.head, 9), class_="ax", **head))
        parts += [part for c, cell in enumerate(row.cells) for part in _drawn(cell, LEFT + wide * c, y, wide)]
    width, height = LEFT + wide * len(heat.rows) + 8, TOP + HIGH * len(heat.rows) + 8
    return drawing(width, height, f"{heat.measure} of every two people", *parts)


def _clipped(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1].rstrip()}…"


def _drawn(cell: Cell, x: int, y: int, wide: int) -> list[SafeString]:
    parts = []
    if cell.style.startswith("h") or cell.style == "self":
        style = "track" if cell.style == "self" else cell.style
        box = {"x": x + 1, "y": y + 1, "width": wide - 2, "height": HIGH - 2, "rx": 3}
        title = (element("title", cell.title),) if cell.title else ()
        parts.append(element("rect", *title, class_=style, **box))
    style = "on-dark" if cell.style == "h6" else "lab" if cell.style.startswith("h") else "ax"
    place = {"x": x + wide / 2, "y": y + 22, "text_anchor": "middle"}
    return [*parts, element("text", cell.text, class_=style, **place)]
