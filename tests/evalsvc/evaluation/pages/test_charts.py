"""Charts are well-formed, named, styled by class, with literal colours when downloaded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.staticfiles import finders

from evalsvc.core.web import svg
from evalsvc.evaluation.comparison.compared import MOST
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.comparison_charts import dots, series_style
from tests.evalsvc.evaluation.pages.test_board_view import column, runs

COLUMNS = [
    column("micro", a=runs(0.7, 0.72), b=runs(0.6, 0.62)),
    column("macro", a=runs(0.3, 0.32), b=runs(0.5, 0.52)),
]
NAMES = {1: "A <b>net</b>", 2: "Rules & lists"}
DRAWINGS = {
    "rug": charts.rug([0.1, 0.5, 0.5]),
    "strip": charts.run_strip([0.7, 0.72], mean=0.71, sd=0.014, scale=charts.run_scale([0.7, 0.72])),
    "bar": charts.bar(0.3),
    "progress": charts.progress(3, 8),
    "parts": charts.parts_bar([("missed", 3), ("spurious", 1)]),
    "curve": charts.curve([(0.0, 1.0), (0.5, 0.8), (1.0, 0.3)], name="curve", best=(0.5, 0.8), tau="0.418"),
    "narrow curve": charts.curve(
        [(0.0, 1.0), (1.0, 0.3)], name="curve", best=(0.5, 0.8), tau="0.418", narrow=True
    ),
    "ranks": charts.ranks(COLUMNS, NAMES),
    "narrow ranks": charts.ranks(COLUMNS, NAMES, narrow=True),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_an_image_with_a_name_and_no_inline_style(name: str) -> None:
    root = ElementTree.fromstring(DRAWINGS[name])
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert "style=" not in DRAWINGS[name]


def test_a_name_is_escaped() -> None:
    assert "<b>net" not in DRAWINGS["ranks"]
    assert "A &lt;b&gt;net" in DRAWINGS["ranks"]


def test_a_chart_of_ranks_states_the_runs_under_its_means() -> None:
    assert "by means over 2 runs" in DRAWINGS["ranks"]
    assert "(n = 2)" in DRAWINGS["ranks"]


def test_the_highest_mean_is_emphasised_and_marks_on_one_place_are_drawn_once() -> None:
    assert (DRAWINGS["rug"].count("<rect"), DRAWINGS["rug"].count("rug--top")) == (2, 1)
    assert charts.rug([0.1, 0.5, 0.6], best={0.5, 0.6}).count("rug--top") == 2


def test_close_values_of_classes_are_drawn_on_an_axis_of_their_own() -> None:
    lines = [("Cause-Effect(e1,e2)", " (134)", [0.91, 0.93]), ("Cause-Effect(e2,e1)", " (194)", [0.94, 0.92])]
    for narrow in (False, True):
        drawn = dots(lines, names=["A", "B"], title="F1", axis="F1, %", narrow=narrow, class_=None)
        labels = [
            each.text
            for each in ElementTree.fromstring(drawn).iter()
            if (each.get("class") or "").split(" ")[0] in ("ax", "lab")
        ]
        assert labels[2:7] == ["91", "92", "93", "94", "F1, %"]
        assert len(set(labels)) == len(labels)  # names that differ at their ends differ when they are clipped
        assert "Cause-Effect(e1,e2) (134)" in labels
    long = [("/people/ethnicity/geographic_distribution", " (1,200)", [0.2, 0.9])]
    fields: dict[str, Any] = {"names": ["A", "B"], "title": "F1", "axis": "F1, %", "class_": None}
    drawn = dots(long, **fields)
    assert float(ElementTree.fromstring(drawn).attrib["width"]) <= 528  # of the card beside another one
    assert "geographic_distribution (1,200)" in drawn
    born = [("/people/person/place_of_birth", " (113)", [0.2, 0.9])]
    drawn = dots(born, narrow=True, **fields)
    assert "/people/person/place_of_birth (113)" in drawn  # above its marks
    assert "/geographic_distribution (1,200)" in dots(long, narrow=True, **fields)


def test_runs_are_placed_on_the_scale_in_order() -> None:
    scale = charts.run_scale([0.683, 0.713])
    assert scale.low <= 0.683 < 0.713 <= scale.high
    assert scale(0.683) < scale(0.7) < scale(0.713)
    assert 3 < scale(scale.low) < scale(scale.high) < 115  # a ring at either end is whole


def test_equal_runs_still_have_a_scale() -> None:
    scale = charts.run_scale([0.5, 0.5])
    assert scale.low <= 0.5 <= scale.high
    assert scale.low < scale.high


def test_a_system_that_keeps_its_rank_is_grey() -> None:
    still = {3: runs(0.1, 0.1)}
    columns = [replace(column, figures={**column.figures, **still}) for column in COLUMNS]
    drawn = charts.ranks(columns, {**NAMES, 3: "Last"})
    assert drawn.count('class="l0"') == 1
    assert re.findall(r'class="l([1-9])"', drawn) == ["1", "2"]


@pytest.mark.parametrize("name", ["curve", "ranks"])
def test_a_downloaded_drawing_has_colours_instead_of_classes(name: str) -> None:
    plain = svg.literal(DRAWINGS[name])
    ElementTree.fromstring(plain)
    assert "class=" not in plain
    assert "#0072b2" in plain
    assert plain.startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def _luminance(colour: str) -> float:
    values = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return sum(share * v for share, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_ten_systems_differ_in_mark_dash_and_colour_that_each_theme_shows() -> None:
    styles = [series_style(place) for place in range(MOST)]
    for values in zip(*styles, strict=True):
        assert len(set(values)) == MOST
    tokens = finders.find("web/site.css")
    assert tokens
    css = Path(str(tokens)).read_text()
    surfaces = re.search(r"--surface:\s+light-dark\((#\w+), (#\w+)\)", css)
    assert surfaces
    for theme, surface in enumerate(surfaces.groups()):
        colours = [pair[theme] for pair in re.findall(r"--d\d+: light-dark\((#\w+), (#\w+)\)", css)]
        assert len(set(colours)) == MOST + 1
        for colour in colours:
            dark, light = sorted(map(_luminance, (colour, surface)))
            assert (light + 0.05) / (dark + 0.05) >= 3
        if theme == 0:  # files have those of the light theme
            assert {*svg.SERIES} == {*colours}
