"""Page that compares 2 to 10 systems of a board, and its downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_safe

from evalsvc.core.accounts import users
from evalsvc.core.errors.exceptions import Unknown
from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.downloads import svg_file, text_file
from evalsvc.core.web.figures import DataTable, Figure
from evalsvc.core.web.formatting import DASH, counted, quoted, run_named
from evalsvc.core.web.tables import Cell, Head, PaperTable, download, latex_text
from evalsvc.core.web.views import takes
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.boards.ranking import Column
from evalsvc.evaluation.comparison import bibtex, board_comparison, compared, tables, words
from evalsvc.evaluation.comparison.across_settings import (
    JOINT_METHOD,
    AcrossSettings,
    across,
    caption,
    finding,
    joint_table,
    settings_table,
)
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.run_figures import run_figures
from evalsvc.evaluation.pages import charts, compare_figures, comparison_charts
from evalsvc.evaluation.pages.boards import chosen
from evalsvc.evaluation.pages.compare_differences import differences, grouped_columns

WHOLE = ("csv", "json")  # with every measure; papers have room for those of the board
NAMES = {"curves": "Precision against recall", "classes": "F1 per class", "weights": "Weight of each class"}
VERDICTS = {"W": "ahead of", "L": "behind", "=": "no difference shown from", "·": "not tested against"}


def requested(request: HttpRequest, slug: str) -> Comparison:
    """Return the comparison in the query, or refuse it."""
    _, _, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    systems = request.GET.getlist("systems")
    return board_comparison.compared_on_board(setting, systems, person=request.user)


@takes((), compute=(), cancel=(), settings=())
@require_http_methods(["GET", "HEAD", "POST"])
def compare_page(request: HttpRequest, slug: str) -> HttpResponse:
    if request.method == "POST" and not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    comparison = requested(request, slug)
    if request.method == "POST":
        _act(request, comparison)
        return redirect(request.get_full_path())
    waits = comparison.state in (Job.State.QUEUED, Job.State.RUNNING)
    response = render(request, "evaluation/compare.html", _context(request, comparison) | {"waits": waits})
    if request.headers.get("HX-Request") and not waits:
        response["HX-Refresh"] = "true"
    return response


def _act(request: HttpRequest, comparison: Comparison) -> None:
    """Compute or cancel the tests, or compute those of the other settings."""
    person, action = users.person(request), request.POST.get("action")
    if action == "cancel":
        compared.cancel(comparison, by=person)
    elif action == "settings":
        for other in across(comparison, person=person).others:
            compared.start(other, by=person)
    else:
        compared.start(comparison, by=person)


@require_safe
def compare_file(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """Download a table of the comparison, or its BibTeX entries."""
    comparison = requested(request, slug)
    if format == "bib":
        address = request.build_absolute_uri(reverse("board", args=[slug]))
        return text_file(f"{slug}.bib", bibtex.entries(comparison, address=address), "application/x-bibtex")
    name = request.GET.get("table", "systems")
    if name == "systems":
        table = tables.figures_table(comparison, every=format in WHOLE)
    elif name == "tests":
        table = tables.tests_table(comparison, every=format in WHOLE)
    elif name == "matrix":
        table = _matrix_table(comparison)
    elif name == "joint":
        table = joint_table(across(comparison, person=request.user))
    else:
        together = across(comparison, person=request.user)
        part = (_drawn(comparison, together.held_out) | _drawn_across(together)).get(name)
        if part is None:
            known = ("systems", "tests", "matrix", "joint", *_drawn(comparison, together.held_out))
            raise Unknown("unknown_table", "table", name, where="The comparison", known=known)
        if format == "svg":
            return svg_file(part.drawing, f"{slug}-{name}.svg")
        table = part.table
    return download(replace(table, caption=f"{table.caption} {tables.computation(comparison)}."), format)


@dataclass(frozen=True)
class Drawn:
    """Drawing for downloads and for both widths, with its table."""

    title: str
    caption: str
    drawing: str
    both: str
    table: PaperTable


def _drawn(comparison: Comparison, held_out: Comparison | None) -> dict[str, Drawn]:
    """Return the drawings for which the policy lets figures out."""
    runs, drawn = run_figures(comparison), {}
    if curves := compare_figures.curves(comparison, runs, held_out):
        drawn["curves"] = Drawn(
            compare_figures.finding_of_curves(curves),
            compare_figures.caption_of_curves(curves, comparison, held_out),
            *_both(partial(compare_figures.draw_curves, curves)),
            compare_figures.curves_table(curves, comparison.setting),
        )
    if classes := compare_figures.classes(comparison, runs):
        table = compare_figures.classes_table(comparison, classes)
        source = "training data" if compare_figures.training_counts(comparison.setting) else "gold"
        flips = (run.macro_flip for of_system in runs for run in of_system)
        flip = compare_figures.macro_flip_in_words(comparison.board, flips)
        drawn["classes"] = Drawn(
            compare_figures.finding_of_classes(comparison, classes),
            f"Frequent classes of the {source} first. {table.caption} {flip}".rstrip(),
            *_both(partial(compare_figures.draw_classes, comparison, classes)),
            table,
        )
    if parts := compare_figures.weights(comparison, classes):
        drawn["weights"] = Drawn(
            compare_figures.finding_of_weights(parts),
            "What a class counts in an average. Upper axis: the items with which it does so in weighted F1.",
            *_both(partial(compare_figures.draw_weights, parts)),
            compare_figures.weights_table(parts),
        )
    return drawn


def _both(draw: Callable[..., str]) -> tuple[str, str]:
    """Draw for a download, and for both widths of a page."""
    return draw(), draw(class_="wide-only") + draw(narrow=True, class_="narrow-only")


def _drawn_across(together: AcrossSettings) -> dict[str, Drawn]:
    """Return a drawing for each other setting, where figures are shares of one."""
    drawn = {}
    for found in together.drawn if together.column.measure.unit == "%" else ():
        names = (found.first.title, found.second.title)
        draw = partial(comparison_charts.dumbbell, found.rows, names=names, title=found.column.title)
        drawn[f"{found.first.key}-{found.second.key}"] = Drawn(
            finding(found),
            caption(found),
            *_both(draw),
            settings_table(found),
        )
    return drawn


def _charts(comparison: Comparison, drawn: dict[str, Drawn], query: str) -> list[Figure]:
    address = reverse("board-compare-file", args=[comparison.setting.benchmark.slug, "svg"])
    csv = reverse("board-compare-file", args=[comparison.setting.benchmark.slug, "csv"])
    return [
        Figure(
            title=part.title,
            drawing=mark_safe(part.both),  # noqa: S308 - drawn here
            name=NAMES.get(name, part.title),
            caption=part.caption,
            table=DataTable(
                [head.title for head in part.table.heads],
                [[cell.text for cell in row] for row in part.table.rows],
            ),
            svg_url=f"{address}?{query}&table={name}",
            csv_url=f"{csv}?{query}&table={name}",
        )
        for name, part in drawn.items()
    ]


def _context(request: HttpRequest, comparison: Comparison) -> dict[str, Any]:
    setting = comparison.setting
    systems = [(f"{row.system.team_slug}/{row.system.name}") for row in comparison.rows]
    query = urlencode([("setting", setting.key), *(("systems", name) for name in systems)])
    pair = _pair(request, systems)
    stored = comparison.stored
    job = stored.job if stored else None
    has_errors = not comparison.board.policy.hidden
    a, b = (systems[place] for place in pair)
    together = across(comparison, person=request.user)
    drawn, beside = _drawn(comparison, together.held_out), _drawn_across(together)
    if together.held_out and (name := f"{setting.key}-{together.held_out.setting.key}") in beside:
        drawn = {key: drawn[key] for key in drawn if key == "curves"} | {name: beside.pop(name)} | drawn
    return {
        "errors_query": urlencode({"setting": setting.key, "a": a, "b": b}) if has_errors else "",
        "comparison": comparison,
        "benchmark": setting.benchmark,
        "setting": setting,
        "title": f"{counted(len(systems), 'system')} on {setting.benchmark}",
        "systems": list(zip(systems, comparison.names, comparison.rows, strict=True)),
        "query": query,
        "job": job,
        "obstacle": queue_status.obstacle(job),
        "progress": charts.progress(*((job.done, job.total) if job else (0, 0))),
        "may_cancel": compared.may_cancel(comparison, request.user),
        "charts": ((figures := _charts(comparison, drawn, query))[::2], figures[1::2]),  # side by side
        "settings_charts": _charts(comparison, beside, query),
        "joint": [(together.sentence(each), each.winner is not None) for each in together.joint],
        "joint_method": JOINT_METHOD,
        "untested": [
            each.setting.title
            for each in together.others
            if each.state == compared.ABSENT and each.is_testable
        ],
        "main": comparison.board.ordering,
        "paragraph": (paragraph := " ".join(words.paragraph(comparison))),
        "latex": latex_text(paragraph),
        "remarks": words.remarks(comparison),
        "matrix": _matrix(comparison),
        "figures": _figures(comparison),
        "columns": comparison.columns,
        "pair": pair,
        "pair_names": [comparison.names[place] for place in pair],
        "pair_values": [systems[place] for place in pair],
        "differences": differences(comparison, *pair),
        "method": words.method(comparison),
        "tests_of_board": bool(comparison.tests) and not comparison.is_tested,
        "counts": _counts(comparison),
        "computation": tables.computation(comparison),
        "figures_shown": row_rules.figures(comparison.setting),
    }


def _pair(request: HttpRequest, systems: list[str]) -> tuple[int, int]:
    """Return the places of the pair in the query, else the first two."""
    names = (request.GET.get("a", ""), request.GET.get("b", ""))
    places = [systems.index(name) for name in names if name in systems]
    return (places[0], places[1]) if len(set(places)) == 2 else (0, 1)


def _matrix(comparison: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the verdicts by the main measure, with their words, in the board's order."""
    key, names = comparison.board.order_by, comparison.names
    places = range(len(names))

    def cell(a: int, b: int) -> tuple[str, str]:
        if a == b:
            return "", ""
        verdict = comparison.verdict(key, a, b)
        test = comparison.test(key, a, b)
        reason = test.reason if test else "" if comparison.is_tested else words.NOT_COMPUTED
        return verdict, f"{VERDICTS[verdict]} {quoted(names[b])}{f': {reason}' if reason else ''}"

    return [(names[a], [cell(a, b) for b in places]) for a in places]


def _counts(comparison: Comparison) -> str:
    """Say how many runs each system has, and which one is shown if one is."""
    counts = [row.runs_text for row in comparison.rows]
    if comparison.setting.row_rule != row_rules.MEAN:
        counts = [f"{run_named(row.runs.chosen)} shown; {row.runs_text}" for row in comparison.rows]
    elif len(set(counts)) == 1:
        return f"{counts[0]} of each system."
    return " ".join(f"{name}: {n}." for name, n in zip(comparison.names_in_sentences, counts, strict=True))


def _matrix_table(comparison: Comparison) -> PaperTable:
    """Return the verdicts as a table to download."""
    heads = [Head("system", "System", numeric=False)]
    heads += [Head(name, name, numeric=False) for name in comparison.names]
    rows = [
        [Cell(name, name), *(Cell(verdict or None, verdict or DASH) for verdict, _ in cells)]
        for name, cells in _matrix(comparison)
    ]
    title = comparison.board.ordering.title
    caption = f"By {title}: W ahead of the column’s system by a test, L behind, = not shown, · no test."
    return PaperTable("matrix", caption, heads, rows)


def _figures(comparison: Comparison) -> list[list[tuple[str, list[tuple[str, bool, str]]]]]:
    """Return rows per measure: mean ± deviation, best by test, and the reason of a dash."""

    def cell(column: Column, place: int) -> tuple[str, bool, str]:
        shown = words.figure(comparison, column, place)
        text = tables.with_deviation(shown, column.measure)
        reason = "" if text != DASH else (shown.reason if shown else words.NO_FIGURE)
        return text, tables.is_best(comparison, column.measure.key, place), reason

    places = range(len(comparison.rows))
    return [
        [(column.title, [cell(column, place) for place in places]) for column in group]
        for group in grouped_columns(comparison)
    ]
