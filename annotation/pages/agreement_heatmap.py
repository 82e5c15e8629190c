"""Heat map of pairs of annotators, as table and as drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from annotation.pages.interval_chart import coefficient, tick_label
from evalsvc.core.web.formatting import DASH, counted
from evalsvc.core.web.svg import drawing, element

MAX_NAMED = 12
MEASURES = {
    "kappa": ("Cohen’s κ", (0.0, 0.2, 0.4, 0.6, 0.8)),
    "f1": ("F1 of spans", (0.5, 0.6, 0.7, 0.8, 0.9)),
}
NONE_COMMON = "no sentences in common"
Pair = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeatmapCell:
    """Text, colour step and tip of a cell."""

    text: str
    style: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class HeatmapRow:
    """Cells of one annotator; `head` is also the head of the column."""

    name: str
    head: str
    cells: list[HeatmapCell]


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Coefficients below the diagonal, numbers of common items above it; `dashes` say why some lack one."""

    finding: str
    dashes: str
    measure: str
    ends: tuple[str, str]
    rows: list[HeatmapRow]
    values: list[float]
    shown: list[int]
    people: int

    @property
    def dense(self) -> bool:
        return len(self.rows) > MAX_NAMED


def heatmap_of(pairs: Sequence[Pair], names: Sequence[str]) -> Heatmap:
    """Return the heat map of these pairs, annotators sorted by name."""
    measure, bounds = MEASURES[pairs[0]["measure"]]
    at = {(pair["first"], pair["second"]): pair for pair in pairs}
    at |= {(second, first): pair for (first, second), pair in list(at.items())}
    shown = sorted({person for person, _ in at}, key=lambda person: _natural_order(names[person]))
    values = [pair["value"] for pair in pairs if pair["value"] is not None]
    reasons = dict.fromkeys(_reason(at.get(pair)) for pair in combinations(shown, 2))
    dashes = "; ".join(filter(None, reasons))
    return Heatmap(
        finding=_finding(values) if values else f"{measure} is undefined for every pair: {dashes}",
        dashes=dashes,
        measure=measure,
        ends=(f"below {tick_label(bounds[0])}", f"{tick_label(bounds[-1])} and above"),
        rows=_rows(at, shown, names, bounds, measure),
        values=values,
        shown=shown,
        people=len(names),
    )


def _natural_order(name: str) -> list[Any]:
    """Sort key that ignores case and puts 2 before 10."""
    return [int(part) if part.isdecimal() else part.casefold() for part in re.split(r"(\d+)", name)]


def _finding(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"The only pair has {coefficient(values[0])}"
    low, high = coefficient(min(values)), coefficient(max(values))
    return f"Pairs range from {low} to {high}, median {coefficient(median(values))}"


def _rows(
    at: Mapping[tuple[int, int], Pair],
    shown: Sequence[int],
    names: Sequence[str],
    bounds: Sequence[float],
    measure: str,
) -> list[HeatmapRow]:
    dense = len(shown) > MAX_NAMED

    def cell(r: int, c: int) -> HeatmapCell:
        person, other = shown[r], shown[c]
        pair = at.get((person, other))
        if c < r:
            return _value_cell(pair, f"{names[person]} and {names[other]}", bounds, measure)
        if c == r:
            return HeatmapCell("", "self")
        return HeatmapCell("") if dense else HeatmapCell(f"{pair['common']:,}" if pair else "0", "n")

    places = range(len(shown))
    return [
        HeatmapRow(names[shown[r]], str(r + 1) if dense else names[shown[r]], [cell(r, c) for c in places])
        for r in places
    ]


def _reason(pair: Pair | None) -> str:
    """Return why a pair has no coefficient, empty if it has one; older reports do not always say it."""
    if pair is None:
        return NONE_COMMON
    return "" if pair["value"] is not None else pair.get("reason") or "no marks, or always the same answer"


def _value_cell(pair: Pair | None, both: str, bounds: Sequence[float], measure: str) -> HeatmapCell:
    if pair is None:
        return HeatmapCell(DASH, "self", f"{both}: {NONE_COMMON}")
    common = counted(pair["common"], "sentence")
    if reason := _reason(pair):
        return HeatmapCell(DASH, "self", f"{both}: {common} in common, undefined: {reason}")
    step = 1 + sum(pair["value"] >= bound for bound in bounds)
    title = f"{both}: {measure} {coefficient(pair['value'])} on {common}"
    return HeatmapCell(coefficient(pair["value"]), f"h{step}", title)


LEFT, TOP, HEIGHT = 150, 30, 36


def heatmap_svg(heatmap: Heatmap) -> SafeString:
    """Draw the heat map."""
    wide = HEIGHT if heatmap.dense else 66
    parts: list[SafeString] = []
    for r, row in enumerate(heatmap.rows):
        y = TOP + HEIGHT * r
        name = f"{row.head}  {row.name}" if heatmap.dense else row.name
        parts.append(
            element("text", _clipped(name, 20), class_="lab", x=LEFT - 8, y=y + 22, text_anchor="end")
        )
        head = {"x": LEFT + wide * (r + 0.5), "y": TOP - 8, "text_anchor": "middle"}
        parts.append(element("text", _clipped(row.head, 9), class_="ax", **head))
        parts += [
            part for c, cell in enumerate(row.cells) for part in _cell_parts(cell, LEFT + wide * c, y, wide)
        ]
    width, height = LEFT + wide * len(heatmap.rows) + 8, TOP + HEIGHT * len(heatmap.rows) + 8
    return drawing(width, height, f"{heatmap.measure} of each pair of annotators", *parts)


def _clipped(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1].rstrip()}…"


def _cell_parts(cell: HeatmapCell, x: int, y: int, wide: int) -> list[SafeString]:
    parts = []
    if cell.style.startswith("h") or cell.style == "self":
        style = "track" if cell.style == "self" else cell.style
        box = {"x": x + 1, "y": y + 1, "width": wide - 2, "height": HEIGHT - 2, "rx": 3}
        title = (element("title", cell.title),) if cell.title else ()
        parts.append(element("rect", *title, class_=style, **box))
    style = "on-dark" if cell.style == "h6" else "lab" if cell.style.startswith("h") else "ax"
    place = {"x": x + wide / 2, "y": y + 22, "text_anchor": "middle"}
    return [*parts, element("text", cell.text, class_=style, **place)]
