"""Page of a system on a board, for every reader of the board, and its downloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.core.accounts.teams import name_with_team
from evalsvc.core.errors.exceptions import Unknown
from evalsvc.core.web.downloads import svg_file
from evalsvc.core.web.formatting import DASH, counted, listed, measured, quoted, run_named
from evalsvc.core.web.tables import Cell, Head, PaperTable, download
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.boards.reading import NOT_COMPUTED
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.comparison import words
from evalsvc.evaluation.comparison.tables import with_deviation
from evalsvc.evaluation.disclosure.policy import undefined
from evalsvc.evaluation.measures.families import FAMILIES
from evalsvc.evaluation.measures.menu import Measure, board_measures
from evalsvc.evaluation.pages import charts, class_view, score_view, system_figures, word_view
from evalsvc.evaluation.pages.board_tables import board_computation, file_computation
from evalsvc.evaluation.pages.system_request import SystemPage, file_name, requested

COMPARABLE = 8  # systems offered for a comparison, those beside this one on the board
RUN_COLUMNS = 4
FORMATS = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"), ("md", "Markdown"))
OF_ONE_RUN = ("curve", "words", "confusion")
WHOLE = ("csv", "json")  # for programs, with runs without figures in columns


@require_safe
def system_page(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    return render(request, "evaluation/system.html", _context(request, requested(request, slug, pk)))


@require_safe
def system_file(request: HttpRequest, slug: str, pk: int, format: str) -> HttpResponse:
    """Download the scores, runs or classes of a system, or the curve of its median run."""
    page = requested(request, slug, pk)
    name = request.GET.get("table", "scores")
    if name == "curve" and page.median and format == "svg":
        return svg_file(system_figures.curve_drawing(page), f"{slug}-{pk}-curve.svg")
    tables = {"scores": _scores_table(page, every=format in WHOLE), "runs": system_figures.runs_table(page)}
    tables |= {
        f"classes-{each.anchor}": system_figures.class_file(each)
        for each in system_figures.classes(page, request)
    }
    if words_ := system_figures.word_table(page):
        tables["words"] = word_view.words_file(words_, file_name(page, "words"))
    if name == "curve" and page.median:
        tables[name] = system_figures.curve_table(page, page.median[1])
    stored = system_figures.outcomes(page, request) if name == "confusion" else None
    if confusion := system_figures.confusion(page, stored):
        tables[name] = confusion.table
    if name not in tables:
        raise Unknown("unknown_table", "table", name, where="The system", known=tables)
    table = tables[name]
    system = page.row.system
    named = name_with_team(system.name, system.team_slug)
    parts = [f"{named} on {page.setting}, version {page.board.version.number}.", table.caption]
    parts += [f"Of the {row_rules.run_drawn(page.setting)}."] if name in OF_ONE_RUN else []
    caption = " ".join(part for part in (*parts, file_computation(page.board)) if part)
    return download(replace(table, caption=caption), format)


def _context(request: HttpRequest, page: SystemPage) -> dict[str, Any]:
    board, row, setting = page.board, page.row, page.setting
    board.columns.load(board.columns)
    board.declarations.load([row.runs.system])
    benchmark = setting.benchmark
    outcomes = system_figures.outcomes(page, request)
    seen = roles.visible_submissions(request.user).filter(pk__in=[run.pk for run, _ in page.runs])
    files = reverse("system-file", args=[benchmark.slug, row.system.pk, "csv"])
    name = f"{row.system.team_slug}/{row.system.name}"
    names, runs = names_on_board(board), system_figures.runs_table(page)
    return {
        "benchmark": benchmark,
        "setting": setting,
        "settings": page.settings,
        "system": row.system,
        "title": names[row.system.pk],
        "name_quoted": quoted(names[row.system.pk]),
        "row": row,
        "lead": _lead(page),
        "tested": page.band(board.order_by) is not None,
        "row_rule": row_rules.run_shown(setting),
        "held_back": board.held_back,
        "computation": board_computation(board),
        "beside": _neighbours(page, names) if page.runs else None,
        "groups": _groups(page),
        "remarks": [
            *score_view.micro_above_macro_in_words(_means(page), page.setting),
            *(score_view.macro_flip_in_words([scored for _, scored in page.runs]) if page.runs else ()),
        ],
        "version": board.version,
        "main": board.ordering.measure,
        "formats": FORMATS,
        "declared": _declared(page),
        "checked": _checked(page),
        "runs": runs if page.runs else None,
        "run_rows": [(run, cells[1:]) for (run, _), cells in zip(page.runs, runs.rows, strict=True)],
        "visible": set(seen.values_list("pk", flat=True)),
        "curve": system_figures.curve(page, files),
        "errors": class_view.error_charts(page.median[1], benchmark, outcomes) if page.median else [],
        "words": system_figures.word_table(page),
        "class_tables": system_figures.classes(page, request),
        "confusion": system_figures.confusion(page, outcomes),
        "median": page.median[0] if page.median else None,
        "files": files,
        "query": urlencode({"setting": setting.key}),
        "others": _others(page, names),
        "name": name,
        "errors_query": urlencode({"setting": setting.key, "a": name}) if page.runs else "",
        "address": request.path,
    }


def _lead(page: SystemPage) -> str:
    """Say the main figure and the rank, without claiming a difference."""
    measure, figure = page.board.ordering.measure, page.row.figure(page.board.order_by)
    if figure is None or figure.mean is None:
        reason = figure.reason if figure else NOT_COMPUTED
        return f"{_sentence_case(measure.title)} is {undefined(reason)}."
    shown = f"{_sentence_case(measure.title)} {with_deviation(figure, measure)}"
    of_several = f"one of {counted(page.row.n, 'run')}" if page.row.n > 1 else "one run"
    runs = of_several if figure.n == 1 else f"the mean of {counted(figure.n, 'run')}"
    runs += f" ({page.row.omitted_text})" if page.row.omitted_text else ""
    if band := page.band(measure.key):
        place = (
            f"{'rank' if band.first == band.last else 'ranks'} {band} of {counted(band.of, 'tested system')}"
        )
        rest = _beside(page)
    else:
        place, rest = "no rank by tests", list[str]()
    return " ".join([f"{shown}, {runs}: {place} on “{page.setting.title}”.", *rest])


def _beside(page: SystemPage) -> list[str]:
    """Compare the system with the tested ones above and below it."""
    tests, column = page.tests, page.board.ordering
    bands = tests.bands(column.measure.key) if tests else {}
    order = [system for system in column.order if system in bands]
    place = order.index(page.row.system.pk)
    pairs = zip(order[max(place - 1, 0) : place + 1], order[max(place, 1) : place + 2], strict=False)
    return [
        words.sentence(tests, column, *(tests.places[system] for system in pair)) for pair in pairs if tests
    ]


def _sentence_case(title: str) -> str:
    return title[:1].upper() + title[1:]


class Beside(NamedTuple):
    """System and its neighbours on the board, with their runs on one scale."""

    axis: SafeString
    rows: list[tuple[str, bool, SafeString, str]]


def _neighbours(page: SystemPage, names: Mapping[int, str]) -> Beside | None:
    """Draw the runs beside those of the next systems by the main measure, if it is a percentage."""
    board, column = page.board, page.board.ordering
    own, measure = page.row.system.pk, column.measure
    if own not in column.order or measure.unit != "%":
        return None
    place = column.order.index(own)
    runs = board.figures.by_measure.run_values(measure.key)
    values = {
        system: [value for value in runs[system] if value is not None]
        for system in column.order[max(place - 1, 0) : place + 2]
    }
    scale = charts.run_scale(value for of_system in values.values() for value in of_system)
    rows = []
    for system, of_system in values.items():
        figure = column.figures[system]
        strip = charts.run_strip(
            of_system, mean=figure.mean or 0.0, sd=figure.sd, scale=scale, digits=measure.digits
        )
        rows.append((names[system], system == own, strip, with_deviation(figure, measure)))
    return Beside(charts.strip_axis(scale), rows)


# ---- scores by family ----------------------------------------------------------------------------
@dataclass(frozen=True)
class FamilyRow:
    """Measure of a family: figure, rank, and one line of explanation or the reason of a dash."""

    measure: Measure
    text: str
    rank: str
    remark: str
    leads: bool = False
    best: str = ""


def _best(page: SystemPage, measure: Measure) -> str:
    """Return the best figure that the board shows; several systems may have it, or others by exact figures.

    Measures that order no board, such as thresholds, have none; systems without a rank have figures, too.
    """
    figures = page.board.columns[measure.key].figures.values() if measure.ranks else ()
    shown = [each.mean for each in figures if each.mean is not None]
    best = max if measure.higher_is_better else min
    return measured(best(shown), measure) if shown else ""


def _groups(page: SystemPage) -> list[tuple[str, list[FamilyRow], list[FamilyRow]]]:
    """Part the measures by family: those of the board, and the rest."""
    first = {page.board.order_by, *(each.key for each in board_measures(page.setting, page.board.columns))}
    families: dict[str, tuple[list[FamilyRow], list[FamilyRow]]] = {}
    for measure in page.measures:
        figure = page.row.figure(measure.key)
        text = with_deviation(figure, measure)
        remark = measure.explains if text != DASH or figure is None else undefined(figure.reason)
        band = page.band(measure.key)
        leads, best = bool(band and band.leads), _best(page, measure)
        row = FamilyRow(measure, text, str(band or DASH), remark, leads, best)
        shown, rest = families.setdefault(measure.family, ([], []))
        (shown if measure.key in first else rest).append(row)
    ordered = sorted(families.items(), key=lambda each: not each[1][0])
    return [(FAMILIES[family].title, shown, rest) for family, (shown, rest) in ordered]


def _means(page: SystemPage) -> dict[str, float | None]:
    figures = {measure.key: page.row.figure(measure.key) for measure in page.measures}
    return {key: figure.mean for key, figure in figures.items() if figure}


def _scores_table(page: SystemPage, *, every: bool) -> PaperTable:
    page.board.columns.load(page.board.columns)
    heads = [
        Head("measure", "Measure", numeric=False),
        Head("mean", "Mean"),
        Head("sd", "SD"),
        Head("n", "Runs"),
        Head("place", "Place"),
        Head("band", "Ranks by tests", numeric=False),
    ]
    omitted = {"withdrawn": page.row.runs.withdrawn, "withheld": page.row.runs.withheld} if every else {}
    heads += [Head(key, f"{key.capitalize()} runs") for key in omitted]
    rows = []
    for measure in page.measures:
        if (figure := page.row.figure(measure.key)) is None:
            continue
        place, band = page.row.rank_by(measure.key), page.band(measure.key)
        mean, sd = (DASH if each is None else measured(each, measure) for each in (figure.mean, figure.sd))
        rows.append([
            Cell(measure.key, measure.title),
            Cell(figure.mean, mean, bool(band and band.leads)),
            Cell(figure.sd, sd),
            Cell(figure.n, str(figure.n)),
            Cell(place, DASH if place is None else str(place)),
            Cell(str(band or ""), str(band or DASH)),
            *(Cell(runs, "") for runs in omitted.values()),
        ])  # fmt: skip
    caption = f"{page.row.runs_text}." if page.row.omitted_text else ""
    return PaperTable(file_name(page, "scores"), caption, heads, rows)


# ---- what the team declared, what it may be compared with ----------------------------------------
def _declared(page: SystemPage) -> list[tuple[str, str]]:
    """Return the tags of the team."""
    return [
        (key.replace("_", " ").capitalize(), "yes" if value is True else str(value))
        for key, value in page.row.declared.tags.items()
        if value not in (False, None, "") and key not in page.row.declared.links
    ]


def _checked(page: SystemPage) -> list[tuple[str, str]]:
    """Return what the service itself knows of the runs."""
    row = page.row
    withheld = (
        f"; figures of {counted(row.runs.withheld, 'further run')} withheld" if row.runs.withheld else ""
    )
    untested = "; no test is made of the others" if row.is_selection else ""
    of_similar = "" if row.withdrawn_text else untested
    facts = [("Runs", f"{counted(row.n, 'run')} with different answers{withheld}{of_similar}")]
    if row.withdrawn_text:
        facts.append(("Withdrawn", f"{row.withdrawn_text} after scoring{untested}"))
    if equal := [f"{run_named(each.run)} equals {run_named(each.equals)}" for each in row.runs.equal]:
        facts.append(("Same answers", "; ".join(equal)))
    if row.runs.aggregates:
        facts.append(("Bags from sentences", listed(row.runs.aggregates)))
    facts.append(
        (
            "Labelled the gold",
            "a team member labelled or adjudicated it"
            if row.saw_gold
            else "nobody of the team; who else may read it, such as its importer, is not recorded here",
        )
    )
    if row.system.baseline:
        facts.append(("Baseline", "named by the organisers"))
    return facts


def _others(page: SystemPage, names: dict[int, str]) -> list[tuple[str, str, str]]:
    """Return the systems beside this one on the board: name for a comparison, title, main figure."""
    rows = page.board.rows
    place = rows.index(page.row)
    first = max(0, min(place - COMPARABLE // 2, len(rows) - COMPARABLE - 1))
    measure = page.board.ordering.measure
    return [
        (
            f"{other.system.team_slug}/{other.system.name}",
            names[other.system.pk],
            with_deviation(other.figure(measure.key), measure),
        )
        for other in rows[first : first + COMPARABLE + 1]
        if other.system.pk != page.row.system.pk
    ]
