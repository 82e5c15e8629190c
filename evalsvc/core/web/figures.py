"""Tables and figures as the partials `web/table.html` and `web/figure.html` take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DataTable:
    """Column titles, and rows that begin with their header."""

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Figure:
    """Chart with its finding as title, data table and downloads."""

    title: str
    drawing: str
    name: str
    """Accessible name of the scrolling regions."""
    caption: str = ""
    table: DataTable | None = None
    svg_url: str = ""
    csv_url: str = ""
    id: str = ""
    """HTML id of the title, for `aria-labelledby`."""


@dataclass(frozen=True)
class Stat:
    """Big figure with its name and what it counts, for `web/stats.html`."""

    name: str
    figure: str
    detail: str = ""
