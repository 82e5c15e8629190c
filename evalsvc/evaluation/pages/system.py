"""Page of a system on a board, for every reader of the board, and its downloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.core.web.downloads import svg_file
from evalsvc.core.web.formatting import DASH, counted, day, listed, measured
from evalsvc.core.web.tables import Cell, Head, PaperTable, download
from evalsvc.evaluation import board_reading, leaderboard, roles
from evalsvc.evaluation.benchmarks.file_contract import settings_of
from evalsvc.evaluation.comparison import board_tests, words
from evalsvc.evaluation.comparison.board_tests import Band, BoardComparison
from evalsvc.evaluation.comparison.words import with_deviation
from evalsvc.evaluation.disclosure.policy import Disclosed
from evalsvc.evaluation.leaderboard import Board, BoardRow
from evalsvc.evaluation.measures.families import FAMILIES
from evalsvc.evaluation.measures.menu import Measure, board_measures
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.pages import board_view, charts, score_view
from evalsvc.evaluation.pages.board_tables import board_computation
from evalsvc.evaluation.pages.confusion import Confusion, confusion_for

COMPARABLE = 8  # systems offered for a comparison, those beside this one on the board
RUN_COLUMNS = 4
FORMATS = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"), ("md", "Markdown"))


@dataclass(frozen=True)
class SystemPage:
    """A system on a board, with what its reader may see of its runs.

    `runs` are empty while the gold is hidden: which run is the median would tell more than the board.
    """

    board: Board
    row: BoardRow
    settings: list[Setting]
    runs: list[tuple[Submission, Disclosed]]

    @property
    def setting(self) -> Setting:
        return self.board.setting

    @property
    def measures(self) -> list[Measure]:
        """Measures that the board shows, then the others in the order of the menu."""
        first = [each.key for each in board_measures(self.setting, self.board.columns)]
        keys = dict.fromkeys([self.board.order_by, *first, *self.board.columns])
        return [self.board.columns[key].measure for key in keys if self.row.figure(key)]

    @cached_property
    def tests(self) -> BoardComparison | None:
        """Tests between the first systems of the board, if they are of the runs shown."""
        return board_tests.read([self.board], list(self.board.columns)).get(self.setting.pk)

    def band(self, key: str) -> Band | None:
        """Return the ranks by a measure that tests leave open."""
        return self.tests.bands(key).get(self.row.system.pk) if self.tests else None

    @property
    def median(self) -> tuple[Submission, Disclosed] | None:
        return leaderboard.median_run(self.board, self.runs)


def requested(request: HttpRequest, slug: str, pk: int) -> SystemPage:
    """Return the system on the requested board, by default the first that has it."""
    benchmark = roles.benchmark_for(request.user, slug)
    scored = Setting.objects.filter(
        evaluations__submissions__system__pk=pk,
        evaluations__submissions__benchmark=benchmark,
        evaluations__submissions__withdrawn_at=None,
    )
    having = set(scored.values_list("pk", flat=True))
    settings = [each for each in settings_of(benchmark) if each.pk in having]
    sealed = roles.sealed_from(settings, request.user)
    settings = [each for each in settings if each.pk not in sealed]
    key = request.GET.get("setting", "")
    for setting in settings:
        if key in ("", setting.key):
            board = leaderboard.board(setting, person=request.user)
            if row := next((each for each in board.rows if each.system.pk == pk), None):
                return SystemPage(board, row, settings, leaderboard.open_runs(board, pk, request.user))
    raise Http404


@require_safe
def system_page(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    return render(request, "evaluation/system.html", _context(request, requested(request, slug, pk)))


@require_safe
def system_file(request: HttpRequest, slug: str, pk: int, format: str) -> HttpResponse:
    """Download the scores, runs or classes of a system, or the curve of its median run."""
    page = requested(request, slug, pk)
    name = request.GET.get("table", "scores")
    if name == "curve" and page.median and format == "svg":
        drawn = score_view.draw(page.median[1]) if score_view.points_of(page.median[1]) else ""
        return svg_file(drawn, f"{slug}-{pk}-curve.svg")
    tables = {"scores": _scores_table(page), "runs": _runs_table(page)}
    tables |= {f"classes-{each.anchor}": _class_file(each) for each in _classes(page, request)}
    if name == "curve" and page.median:
        tables[name] = _curve_table(page.median[1])
    if name == "confusion" and (confusion := _confusion(page, request)):
        tables[name] = confusion.table
    if name not in tables:
        raise Http404
    table = tables[name]
    return download(replace(table, caption=f"{table.caption} {board_computation(page.board)}"), format)


def _context(request: HttpRequest, page: SystemPage) -> dict[str, Any]:
    board, row, setting = page.board, page.row, page.setting
    board.columns.load(board.columns)
    benchmark = setting.benchmark
    seen = roles.visible_submissions(request.user).filter(pk__in=[run.pk for run, _ in page.runs])
    files = reverse("system-file", args=[benchmark.slug, row.system.pk, "csv"])
    name = f"{row.system.team_slug}/{row.system.name}"
    names, runs = board_view.system_names(board), _runs_table(page)
    return {
        "benchmark": benchmark,
        "setting": setting,
        "settings": page.settings,
        "system": row.system,
        "row": row,
        "lead": _lead(page),
        "tested": page.band(board.order_by) is not None,
        "held_back": board.held_back,
        "beside": _neighbours(page, names) if page.runs else None,
        "groups": _groups(page),
        "remarks": score_view.micro_above_macro_in_words(_means(page), page.setting),
        "version": board.version,
        "main": board.ordering.measure,
        "formats": FORMATS,
        "declared": _declared(page),
        "checked": _checked(page),
        "runs": runs if page.runs else None,
        "run_rows": [(run, cells[1:]) for (run, _), cells in zip(page.runs, runs.rows, strict=True)],
        "visible": set(seen.values_list("pk", flat=True)),
        "curve": _curve(page, files),
        "errors": score_view.error_charts(page.median[1], benchmark) if page.median else [],
        "class_tables": _classes(page, request),
        "confusion": _confusion(page, request),
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
        reason = figure.reason if figure else board_reading.NOT_COMPUTED
        return f"{_sentence_case(measure.title)} is undefined: {reason}."
    shown = f"{_sentence_case(measure.title)} {with_deviation(figure, measure)}"
    runs = "one run" if figure.n == 1 else f"the mean of {counted(figure.n, 'run')}"
    if band := page.band(measure.key):
        place = (
            f"{'rank' if band.first == band.last else 'ranks'} {band} of {counted(band.of, 'tested system')}"
        )
        rest = _beside(page)
    else:
        systems = counted(len(page.board.rows), "system")
        place = f"rank {page.row.rank} of {systems}" if page.row.rank else "not ranked"
        rest = ["The rank alone claims no difference."]
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


def _groups(page: SystemPage) -> list[tuple[str, list[FamilyRow], list[FamilyRow]]]:
    """Part the measures by family: those of the board, and the rest."""
    first = {page.board.order_by, *(each.key for each in board_measures(page.setting, page.board.columns))}
    families: dict[str, tuple[list[FamilyRow], list[FamilyRow]]] = {}
    for measure in page.measures:
        figure = page.row.figure(measure.key)
        text = with_deviation(figure, measure)
        remark = measure.explains if text != DASH or figure is None else f"undefined: {figure.reason}"
        band, rank = page.band(measure.key), page.row.rank_by(measure.key)
        row = FamilyRow(measure, text, str(band or rank or DASH), remark, bool(band and band.leads))
        shown, rest = families.setdefault(measure.family, ([], []))
        (shown if measure.key in first else rest).append(row)
    ordered = sorted(families.items(), key=lambda each: not each[1][0])
    return [(FAMILIES[family].title, shown, rest) for family, (shown, rest) in ordered]


def _means(page: SystemPage) -> dict[str, float | None]:
    figures = {measure.key: page.row.figure(measure.key) for measure in page.measures}
    return {key: figure.mean for key, figure in figures.items() if figure}


def _scores_table(page: SystemPage) -> PaperTable:
    page.board.columns.load(page.board.columns)
    heads = [
        Head("measure", "Measure", numeric=False),
        Head("mean", "Mean"),
        Head("sd", "SD"),
        Head("n", "Runs"),
        Head("rank", "Rank"),
        Head("band", "Ranks by tests", numeric=False),
    ]
    rows = []
    for measure in page.measures:
        if (figure := page.row.figure(measure.key)) is None:
            continue
        rank, band = page.row.rank_by(measure.key), page.band(measure.key)
        mean, sd = (DASH if each is None else measured(each, measure) for each in (figure.mean, figure.sd))
        rows.append([
            Cell(measure.key, measure.title),
            Cell(figure.mean, mean, bool(band and band.leads)),
            Cell(figure.sd, sd),
            Cell(figure.n, str(figure.n)),
            Cell(rank, DASH if rank is None else str(rank)),
            Cell(str(band or ""), str(band or DASH)),
        ])  # fmt: skip
    caption = f"{page.row.system.name} on {page.setting}, version {page.board.version.number}."
    return PaperTable(_file_name(page, "scores"), caption, heads, rows)


def _file_name(page: SystemPage, what: str) -> str:
    return f"{page.setting.benchmark.slug}-{page.row.system.pk}-{what}"


# ---- runs, curve, classes ------------------------------------------------------------------------
def _runs_table(page: SystemPage) -> PaperTable:
    """List the distinct runs with the first measures of the board."""
    measures = board_measures(page.setting, page.board.columns)[:RUN_COLUMNS]
    heads = [Head("run", "Run", numeric=False), Head("submitted", "Submitted", numeric=False)]
    heads += [Head(measure.key, measure.title) for measure in measures]
    rows = []
    for run, scored in page.runs:
        values = [(measure, scored.values.get(measure.key)) for measure in measures]
        cells = [Cell(value, DASH if value is None else measured(value, each)) for each, value in values]
        rows.append([Cell(run.run, run.run), Cell(run.created_at.date(), day(run.created_at)), *cells])
    caption = f"Runs of {page.row.system.name} on {page.setting} with different answers."
    return PaperTable(_file_name(page, "runs"), caption, heads, rows)


def _curve(page: SystemPage, files: str) -> Any:
    if page.median is None:
        return None
    _, scored = page.median
    query = f"setting={page.setting.key}&table=curve"
    svg = reverse("system-file", args=[page.setting.benchmark.slug, page.row.system.pk, "svg"])
    return score_view.curve_figure(scored, svg_url=f"{svg}?{query}", csv_url=f"{files}?{query}")


def _curve_table(scored: Disclosed) -> PaperTable:
    heads = [Head("recall", "Recall"), Head("precision", "Precision")]
    rows = [[Cell(value, str(value)) for value in point] for point in score_view.points_of(scored)]
    return PaperTable("curve", "Precision against recall of the median run.", heads, rows)


def _confusion(page: SystemPage, request: HttpRequest) -> Confusion | None:
    """Return the confusion matrix of the median run."""
    if page.median is None:
        return None
    return confusion_for(page.median[1], request.user, name=_file_name(page, "confusion"))


def _classes(page: SystemPage, request: HttpRequest) -> list[score_view.ClassTable]:
    """Return the classes of the median run."""
    if page.median is None:
        return []
    order = request.GET.get("order", "")
    tables = score_view.class_tables([page.median[1]], page.setting.benchmark, order=order)
    return [_over_runs(page, table) for table in tables] if len(page.runs) > 1 else tables


def _over_runs(page: SystemPage, table: score_view.ClassTable) -> score_view.ClassTable:
    """Add mean and deviation of each class over the runs."""
    values: dict[str, list[float]] = {}
    for _, scored in page.runs:
        relations = table.anchor == "relations"
        for row in score_view.class_rows(scored, page.setting.benchmark, relations=relations):
            if row.f1 is not None:
                values.setdefault(row.title, []).append(row.f1)
    rows = [
        replace(row, mean=fmean(of_class), sd=stdev(of_class) if len(of_class) > 1 else None)
        if (of_class := values.get(row.title))
        else row
        for row in table.rows
    ]
    return replace(table, rows=rows, runs=len(page.runs))


def _class_file(table: score_view.ClassTable) -> PaperTable:
    heads = [Head("class", table.kind, numeric=False)]
    figures = (*score_view.CLASS_FIGURES, *(("mean", "sd") if table.runs else ()))
    heads += [Head(key, key.capitalize()) for key in figures]
    rows = [
        [
            Cell(row.title, row.title),
            *(
                Cell(value, DASH if value is None else str(value))
                for value in (getattr(row, key) for key in figures)
            ),
        ]
        for row in table.rows
    ]
    return PaperTable(table.anchor, f"{table.title}: {table.caption}.", heads, rows)


# ---- what the team declared, what it may be compared with ----------------------------------------
def _declared(page: SystemPage) -> list[tuple[str, str]]:
    """Return the tags of the team."""
    return [
        (key.replace("_", " ").capitalize(), "yes" if value is True else str(value))
        for key, value in page.row.system.declared.items()
        if value not in (False, None, "") and key not in page.row.system.links
    ]


def _checked(page: SystemPage) -> list[tuple[str, str]]:
    """Return what the service itself knows of the runs."""
    row = page.row
    facts = [("Runs", f"{counted(row.n, 'run')} with different answers")]
    if equal := [f"run {each.run} equals run {each.equals}" for each in row.runs.equal]:
        facts.append(("Same answers", "; ".join(equal)))
    if row.runs.aggregates:
        facts.append(("Bags from sentences", listed(row.runs.aggregates)))
    facts.append(
        (
            "Saw the gold",
            "a team member labelled or adjudicated it"
            if row.saw_gold
            else "nobody of the team labelled or adjudicated it",
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
