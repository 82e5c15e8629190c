"""Pages of benchmarks: list, board, setting, inputs and downloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError, Unknown
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.downloads import csv_file, jsonl_file, svg_file
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.tables import download
from evalsvc.core.web.templatetags.formatting import lower_first
from evalsvc.core.web.views import page, page_of
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.boards import BoardSerializer
from evalsvc.evaluation.benchmarks import file_contract, inputs, versions
from evalsvc.evaluation.benchmarks.file_contract import public_settings, settings_of
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.benchmarks.training_counts import shown_counts
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.leaderboard import BoardRequest, board
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.comparison import board_comparison, compared
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import policy_for
from evalsvc.evaluation.measures.computation import in_one_line
from evalsvc.evaluation.measures.inventory import scored_labels
from evalsvc.evaluation.measures.menu import board_measures, other_form, scheme_measures
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages import (
    board_choice,
    board_reversals,
    board_tables,
    board_view,
    charts,
    printed_settings,
    reported_view,
    saved_views,
)
from evalsvc.evaluation.pages.board_columns import BoardView
from evalsvc.evaluation.pages.board_reader import board_reader
from evalsvc.evaluation.pages.board_view import facts, scheme_title
from evalsvc.evaluation.pages.overviews import overviews
from evalsvc.evaluation.pages.submit import curl
from evalsvc.evaluation.reported.shown import reported as reported_figures

LISTED = 50  # benchmarks on a page of the list
ROWS = 50  # systems on a page of a board; downloads and the API have all
WHOLE = ("csv", "json")  # with deviation, n and reason beside each mean; papers have them in one cell
WITHOUT_VIEW: dict[str, Any] = {"columns": (), "team": "", "tag": "", "since": None, "until": None}
CSV_HEADS = (
    "setting", "place", "system", "team", "measure", "mean", "sd", "n", "minimum", "maximum", "reason",
    "title", "computed", "runs", "version", "withdrawn", "withdrawn_elsewhere", "withheld",
)  # fmt: skip


# ---- the list of benchmarks ----------------------------------------------------------------------
@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    pages = page_of(request, roles.visible(request.user).order_by("title", "pk"), size=LISTED)
    entries = overviews(pages)
    lead = "No benchmark yet."
    if entries:
        lead = f"{counted(pages.paginator.count, 'benchmark')}. Systems are scored on frozen test sets."
    context = {"boards": entries, "pages": pages, "lead": lead, "may_open": may_organise(request)}
    return render(request, "evaluation/boards.html", context)


def may_organise(request: HttpRequest) -> bool:
    """True when the user may create benchmarks."""
    person = request.user
    return isinstance(person, User) and (person.may_organise or person.is_superuser)


# ---- the board -----------------------------------------------------------------------------------
def chosen(request: HttpRequest, slug: str) -> tuple[Benchmark, list[Setting], Setting | None]:
    """Return the benchmark, its settings, and the requested setting, else the first."""
    if settings := public_settings(slug):
        benchmark = settings[0].benchmark
    else:  # absent or hidden: the same work
        benchmark = roles.benchmark_for(request.user, slug)
        settings = settings_of(benchmark)
    key = request.GET.get("setting", "")
    matching = [setting for setting in settings if key in ("", setting.key)]
    if key and not matching:
        known = [each.key for each in settings]
        raise Unknown("unknown_setting", "setting", key, where=str(benchmark), known=known)
    return benchmark, settings, matching[0] if matching else None


def requested_version(request: HttpRequest) -> int | None:
    """Return the version in the query, None for the newest."""
    text = request.GET.get("version", "")
    if not text:
        return None
    number = whole_number_of(text, digits=4)
    if number is None:
        detail = f"{text[:20]!r} is not a version. Use a whole number."
        raise DomainError("unknown_version", detail, field="version")
    return number


@require_safe
def board_page(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, settings, setting = chosen(request, slug)
    reader = board_reader(benchmark, request.user)
    summary = f": {lower_first(benchmark.summary)}" if benchmark.summary else ""
    context = {
        "heading": f"{benchmark}{summary}",
        "benchmark": benchmark,
        "settings": settings,
        "setting": setting,
        "labels": scored_labels(benchmark, [each.test_set for each in settings]),
        "training_counts": shown_counts(benchmark),
        "about": to_html(benchmark.description) if benchmark.description else "",
        "organiser": reader.organiser,
        "takes_part": bool(benchmark.terms_number or benchmark.approval),
        "news": benchmark.announcements.first(),
        "saved_views": reader.views,
    }
    view = requested_view(request, settings, setting, person=reader.sees_exact) if setting else None
    shown = view.board if view else None
    if shown is None or not shown.figures.runs:
        context |= {"sentence": _empty(shown), "curl": curl(request, benchmark, setting=setting)}
    if view is not None and shown is not None:
        public = policy_for(shown.setting, None)
        exact = public.sentence_for_organisers if context["organiser"] else ""
        context["held_back"] = shown.held_back or exact
        pages = page_of(request, view.rows, size=ROWS)
        context["pages"], rows = pages, list(pages)
        shown.systems.load(board_view.systems_of_page(view, rows))
        shown.declarations.load([row.runs.system for row in rows])
        visible = {row.runs.newest for row in rows if reader.sees_runs_of(row.system.team_id)}
        tests = view.tests.get(shown.setting.pk)
        reported = reported_figures(shown.setting, reader.sees_exact, shown, tests)
        if reported.rows:
            view = replace(view, reported=reported.rows, elsewhere=reported.elsewhere)
        below = reported.with_faults() if pages.number == 1 else ()
        context |= _marks(shown, rows, request.GET.getlist("systems"))
        context |= board_view.board_context(view, rows=rows, visible=visible, reported=below)
        context |= _links(view, settings) | reported_view.context_of(shown.setting, reported)
        context["printed_charts"] = printed_settings.figures(view) if reported.rows else ()
    return render(request, "evaluation/board.html", context)


def requested_view(
    request: HttpRequest, settings: list[Setting], setting: Setting, *, person: roles.Person | None
) -> BoardView:
    """Return the board in the query, with the boards of the other settings."""
    version = requested_version(request)
    choice = replace(board_choice.requested(request.GET, settings, setting), version=version)
    rest = [each for each in settings if each.pk != setting.pk]
    shared = {choice.order or setting.main, *(measure for _, measure in choice.columns)}
    requests = [BoardRequest(setting, choice.order, version, usual=True)]
    requests += [BoardRequest(each, measures=shared | {each.main}) for each in rest]
    shown, *others = leaderboard.requested_boards(requests, person)
    shown.columns.load(key for of, key in choice.columns if of == setting.key)
    of_board = [each.key for each in board_measures(setting, shown.columns)]
    keys = {*shared, *(each.main for each in rest), *of_board, *scheme_measures(setting, shown.columns)}
    keys.update(other_form(shown.order_by, shown.columns))
    return BoardView(shown, choice, others, board_comparison.read([shown, *others], keys))


def _marks(shown: Board, rows: Sequence[BoardRow], asked: Sequence[str]) -> dict[str, Any]:
    """Return the systems marked for a comparison, and those of them that stand on other pages."""
    if not asked:
        return {"marked": ()}
    here = {row.system.named for row in rows}
    known = {shown.systems[runs.system].named for runs in shown.figures.runs}
    marked = [name for name in dict.fromkeys(asked) if name in known][: compared.MOST]
    return {
        "marked": marked,
        "marked_elsewhere": [name for name in marked if name not in here],
        "marks": urlencode({"systems": marked}, doseq=True),
    }


def _links(view: BoardView, settings: list[Setting]) -> dict[str, Any]:
    """Return the addresses of a view: of each setting, of its pages and files."""
    choice, setting = view.choice, view.board.setting
    weightings = scheme_measures(setting, view.board.columns)
    main = [(each.key, each.main) for each in settings]
    return {
        "choice": choice,
        "view": view,
        "query": choice.query(order=view.board.order_by),
        "own_query": choice.query(**WITHOUT_VIEW),
        "saved_query": saved_views.kept(choice),
        "sort_fields": choice.without("order"),
        "choice_fields": choice.without("columns", *board_choice.FILTERS),
        "tabs": [(each, choice.query(setting=each, order="", version=None)) for each in settings],
        "side_by_side": choice.query(columns=main, order="") if len(settings) > 1 else "",
        "plain": choice.query(**WITHOUT_VIEW),
        "weightings": choice.query(columns=[(setting.key, key) for key in weightings], order=""),
    }


def requested_board(request: HttpRequest, setting: Setting) -> Board:
    order, version = request.GET.get("order", ""), requested_version(request)
    return board(setting, order, person=request.user, version=version, usual=True)


def _empty(shown: Board | None) -> str:
    if shown is None:
        return "Add a setting to score submissions."
    return (
        roles.sealed_until(shown.setting)
        if shown.sealed
        else f"“{shown.setting.title}” has no scored run yet."
    )


# ---- downloads -----------------------------------------------------------------------------------
@require_safe
def board_json(request: HttpRequest, slug: str) -> HttpResponse:
    """Board as in the API, without a token."""
    _, _, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    return JsonResponse(BoardSerializer(requested_board(request, setting)).data)


@require_safe
def board_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Every measure of the setting, with a line per system and measure."""
    _, _, setting = chosen(request, slug)
    lines = _csv_lines(requested_board(request, setting)) if setting else ()
    return csv_file(f"{slug}.csv", CSV_HEADS, lines)


def _csv_lines(shown: Board) -> Iterator[list[object]]:
    computed = stated_computation(shown.setting, shown.version)
    shown.columns.load(shown.columns)
    for row in shown.rows:
        aggregate = {"aggregate": " and ".join(row.runs.aggregates)} if row.runs.aggregates else {}
        in_words = in_one_line(computed | aggregate)
        for key, column in shown.columns.items():
            if figure := column.figures.get(row.system.pk):
                system = [shown.setting.key, row.rank, row.system.name, row.system.team_name, key]
                values = [figure.mean, figure.sd, figure.n, figure.minimum, figure.maximum, figure.reason]
                values += [column.title, in_words]
                omitted = [row.runs.withdrawn, row.runs.withdrawn_elsewhere, row.runs.withheld]
                yield [*system, *values, row.n, shown.version.number, *omitted]


@require_safe
def view_file(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """Download the view in the query: the table of systems, or the value of every run."""
    _, settings, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    view = requested_view(request, settings, setting, person=request.user)
    name = request.GET.get("table", "systems")
    others = (f"{printed_settings.TABLE}{each.key}" for each in settings if each.pk != setting.pk)
    known = (*board_tables.TABLES, "reported", *others)
    if name not in known:
        raise Unknown("unknown_table", "table", name, where="The leaderboard", known=known)
    reported = reported_figures(setting, request.user, view.board, view.tests.get(setting.pk))
    if name == "reported":
        return download(reported_view.tests_table(setting, reported), format)
    faults = {row.pk: reported.faults(row) for row in reported.rows}
    view = replace(view, reported=reported.rows, faults=faults, elsewhere=reported.elsewhere)
    if name not in board_tables.TABLES:
        return _printed(view, name.removeprefix(printed_settings.TABLE), format)
    return download(board_tables.TABLES[name](view, every=format in WHOLE), format)


def _printed(view: BoardView, key: str, format: str) -> HttpResponse:
    """Download what papers print under the setting of a view and another one."""
    found = [each for each in printed_settings.pairs(view) if each.settings[1].key == key]
    if not found:
        raise Http404
    if format == "svg":
        draw = found[0].draw if found[0].systems else None
        return svg_file(draw() if draw else "", f"{view.board.setting.benchmark.slug}-printed-{key}.svg")
    return download(printed_settings.table(view, found[0]), format)


@require_safe
def ranks_svg(request: HttpRequest, slug: str) -> HttpResponse:
    """Chart of the ranks under five weightings, with literal colours."""
    _, _, setting = chosen(request, slug)
    shown = board(setting, person=request.user) if setting else None
    columns = board_reversals.scheme_columns(shown) if shown else []
    names = names_on_board(shown) if shown else {}
    drawn = charts.ranks(columns, names, title=scheme_title(shown)) if shown and columns else ""
    return svg_file(drawn, f"{slug}-schemes.svg")


def setting_or_404(request: HttpRequest, slug: str, key: str) -> tuple[Benchmark, Setting]:
    """Return a visible benchmark and its setting, or 404."""
    benchmark = roles.benchmark_for(request.user, slug)
    related = benchmark.settings.select_related("test_set", "only", "benchmark")
    return benchmark, get_object_or_404(related, key=key)


@require_safe
def setting_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark, setting = setting_or_404(request, slug, key)
    rows = setting.versions.select_related("test_set", "only", "by").order_by("-number")
    secret = gold_digest.SecretGold()
    golds = [(each, gold_digest.of_version(each, secret)) for each in rows]
    state = file_contract.state_at(setting, timezone.now())
    if state == "coming" and setting.opens_at:
        lead = f"Opens on {stated(setting.opens_at, benchmark)}."
    elif state == "closed" and setting.closes_at:
        lead = f"Closed on {stated(setting.closes_at, benchmark)}."
    else:
        lead = f"Open{f' until {stated(setting.closes_at, benchmark)}' if setting.closes_at else ''}."
    lead += " Its scores are sealed until it closes." if roles.is_sealed(setting) else ""
    context = {
        "benchmark": benchmark,
        "setting": setting,
        "facts": facts(setting, versions.of_setting(setting)),
        "lead": f"{lead} {policy_for(setting, None).sentence}".strip(),
        "coming": state == "coming",
        "versions": golds,
        "gold": golds[0][1],
        "n_inputs": inputs.count_inputs(setting),
        "organiser": roles.role_in(benchmark, request.user) == roles.ORGANISER,
    }
    return render(request, "evaluation/setting.html", context)


@page()
def inputs_file(request: HttpRequest, slug: str, key: str) -> HttpResponseBase:
    """Download the items to predict, without their gold."""
    _, setting = setting_or_404(request, slug, key)
    roles.require_begun(setting, request.user)
    return jsonl_file(f"{slug}-{key}.jsonl", inputs.input_lines(setting))


@page()
def all_inputs(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download every item that a file sent now must answer."""
    benchmark = roles.benchmark_for(request.user, slug)
    contract = file_contract.for_new_file(benchmark, phase=request.GET.get("phase", ""))
    name = "-".join(filter(None, (slug, slugify(contract.phase), "inputs")))
    return jsonl_file(f"{name}.jsonl", inputs.input_lines(*contract.settings))
