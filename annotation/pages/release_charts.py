"""Charts of a test set as files: a drawing or its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpResponse

from annotation.pages.interval_chart import Estimate, axis, interval, scale_of
from annotation.pages.release_figures import pattern_figure, quality_table, share_tick
from annotation.releases.composition import Composition
from annotation.releases.label_charts import LabelBar
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.svg import drawing, element

MEASURES = ("precision", "recall")
COLUMNS = (230, 400)  # where precision and recall begin
ROW = 24


@dataclass(frozen=True)
class ChartFile:
    drawing: str
    table: DataTable


def chart_files(content: Composition) -> dict[str, ChartFile]:
    """Return what the page draws, by name."""
    files: dict[str, ChartFile] = {}
    patterns = pattern_figure(content)
    if patterns and patterns.table:
        files["patterns"] = ChartFile(patterns.drawing, patterns.table)
    for chart in content.charts:
        if chart.bars:
            rows = [(bar.title, bar.n) for bar in chart.bars]
            files[chart.key] = ChartFile(_bars(chart.title, chart.bars), DataTable(("Label", "Count"), rows))
    quality = _quality(content)
    if quality:
        files["source-quality"] = quality
    return files


def chart_file(content: Composition, name: str, format: str) -> HttpResponse:
    """Return a chart as SVG or its data as CSV, or 404."""
    file = chart_files(content).get(name)
    if file is None or format not in ("svg", "csv"):
        raise Http404
    stem = f"{content.set.slug}-{name}"
    if format == "svg":
        return svg_file(file.drawing, f"{stem}.svg")
    return csv_file(f"{stem}.csv", file.table.heads, file.table.rows)


def _bars(title: str, bars: Sequence[LabelBar]) -> str:
    """Draw all labels, also those that the page leaves to its table."""
    parts = []
    for bar in bars:
        box = {"x": 188, "y": bar.top, "width": bar.width, "height": 16, "rx": 2}
        parts += [
            element("text", bar.short, class_="lab", x=178, y=bar.base, text_anchor="end"),
            element("rect", class_="f0" if bar.negative else "f1", **box),
            element("text", f"{bar.n:,}", class_="ax", x=bar.after, y=bar.base),
        ]
    return drawing(520, ROW * len(bars) + 10, title, *parts)


def _quality(content: Composition) -> ChartFile | None:
    table = quality_table(content)
    rows = [*table["rows"], *table["more"]] if table else []
    if not rows:
        return None
    scale = scale_of([Estimate(0.0), Estimate(1.0)], width=150, unit=True)
    heads = zip(COLUMNS, ("Precision", "Recall"), strict=True)
    parts = [element("text", head, class_="lab", x=x, y=14) for x, head in heads]
    ticks = axis(scale, share_tick)
    parts += [element("g", ticks, transform=f"translate({x} 20)") for x in COLUMNS]
    for at, row in enumerate(rows, 1):
        parts.append(
            element("text", row["title"][:34], class_="lab", x=220, y=ROW * at + 26, text_anchor="end")
        )
        for x, measure in zip(COLUMNS, MEASURES, strict=True):
            drawn = interval(row[measure]["estimate"], scale, low=measure == "recall")
            parts.append(element("g", drawn, transform=f"translate({x} {ROW * at + 12})"))
    estimates = [[row[measure]["estimate"] for measure in MEASURES] for row in rows]
    data = [
        (row["title"], row["gold_facts"], row["source_facts"], *_values(precision), *_values(recall))
        for row, (precision, recall) in zip(rows, estimates, strict=True)
    ]
    columns = [f"{measure}{end}" for measure in MEASURES for end in ("", " from", " to")]
    names = ("relation", "facts of the gold", "facts of the source", *columns)
    name = "Quality of the source labels by relation"
    return ChartFile(drawing(560, ROW * (len(rows) + 1) + 20, name, *parts), DataTable(names, data))


def _values(estimate: Estimate) -> list[object]:
    return ["" if value is None else value for value in (estimate.value, estimate.low, estimate.high)]
