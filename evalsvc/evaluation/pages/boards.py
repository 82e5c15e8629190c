"""Pages of the leaderboards: list, board, downloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.templatetags.formatting import lower_first
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.benchmarks import BoardSerializer
from evalsvc.evaluation.benchmarks import file_contract, phases, versions
from evalsvc.evaluation.leaderboard import Board, board
from evalsvc.evaluation.measures.menu import MENU, as_shown, board_measures, scheme_measures
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages import board_summary, board_table, curve_charts
from evalsvc.evaluation.pages.board_summary import Column, Reversal, overviews
from evalsvc.evaluation.pages.settings import facts
from evalsvc.evaluation.pages.submit import curl

REVERSALS_SHOWN = 12
CSV_HEADS = [
    "setting",
    "place",
    "system",
    "team",
    "measure",
    "mean",
    "sd",
    "n",
    "minimum",
    "maximum",
    "reason",
]
KINDS = {"relations": ("relation", "relations"), "entities": ("type", "types")}


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    entries = overviews(roles.visible(request.user).order_by("title"))
    lead = "No benchmark yet."
    if entries:
        ranked = "Systems are ranked by means over runs on frozen test sets."
        lead = f"{counted(len(entries), 'benchmark')}. {ranked}"
    context = {"boards": entries, "lead": lead, "may_open": may_organise(request)}
    return render(request, "evaluation/boards.html", context)


def may_organise(request: HttpRequest) -> bool:
    """True when the user may create benchmarks."""
    person = request.user
    return isinstance(person, User) and (person.may_organise or person.is_superuser)


def chosen(request: HttpRequest, slug: str) -> tuple[Benchmark, list[Setting], Setting | None]:
    """Return the benchmark, its settings, and the requested setting, else the first."""
    benchmark = roles.benchmark_for(request.user, slug)
    settings = file_contract.settings_of(benchmark)
    key = request.GET.get("setting", "")
    matching = [setting for setting in settings if key in ("", setting.key)]
    if key and not matching:
        raise Http404
    return benchmark, settings, matching[0] if matching else None


def requested_version(request: HttpRequest) -> int | None:
    """Return the version in the query, None for the newest."""
    number = request.GET.get("version", "")
    if not number:
        return None
    if not (number.isascii() and number.isdecimal() and len(number) < 5):
        detail = f"{number[:20]!r} is not a version. Use a whole number."
        raise DomainError("unknown_version", detail, field="version")
    return int(number)


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, settings, setting = chosen(request, slug)
    summary = f": {lower_first(benchmark.summary)}" if benchmark.summary else ""
    context = {
        "heading": f"{benchmark}{summary}",
        "benchmark": benchmark,
        "settings": settings,
        "setting": setting,
        "about": to_html(benchmark.description),
        "organiser": roles.role_in(benchmark, request.user) == roles.ORGANISER,
        "curl": curl(request, benchmark),
        "sentence": "Add a setting to score submissions.",
    }
    if setting is not None:
        context |= _board(request, benchmark, settings, setting)
    return render(request, "evaluation/board.html", context)


def _board(
    request: HttpRequest, benchmark: Benchmark, settings: list[Setting], setting: Setting
) -> dict[str, Any]:
    shown = board(
        setting, request.GET.get("order", ""), person=request.user, version=requested_version(request)
    )
    further = board_measures(setting, shown.measures)
    runs = [submission.pk for row in shown.rows for submission in row.submissions]
    visible = set(roles.visible_submissions(request.user).filter(pk__in=runs).values_list("pk", flat=True))
    table = board_table.table(shown, further, visible=visible)
    kind, kinds = KINDS[benchmark.task]
    past = shown.version < setting.version
    context: dict[str, Any] = {
        "table": table,
        "sealed": shown.sealed,
        "orders": [(key, MENU[key].title) for key in shown.measures if MENU[key].ranks],
        "facts": _facts(setting, shown.version),
        "shown_version": shown.version,
        "past": past,
        "at_version": f"&version={shown.version}" if past else "",
        "kind": kind,
        "kinds": kinds,
        "unit": setting.unit,
        "sentence": phases.sealed_until(setting)
        if shown.sealed
        else f"“{setting.title}” has no scored run yet.",
    }
    if shown.sealed:
        context["sentence"] = phases.sealed_until(setting)
    return context | (_findings(settings, setting, shown) if shown.rows else {})


def _findings(settings: list[Setting], setting: Setting, shown: Board) -> dict[str, Any]:
    others = [
        board(other, measures=(shown.order_by, other.main)) for other in settings if other.pk != setting.pk
    ]
    names = board_table.names([shown, *others])
    column = board_table.as_column(shown, shown.order_by)
    schemes = scheme_measures(setting, shown.measures)
    # micro against macro is the pair whose disagreement everybody asks for
    same_setting = [
        board_table.as_column(shown, key)
        for key in schemes
        if ("micro" in key or "macro" in key) and key != shown.order_by
    ]
    groups = same_setting, [_other_setting(other, shown.order_by) for other in others]
    reversals = board_summary.reversals(column, [each for group in groups for each in group])
    context = {
        "sentence": board_summary.sentence(column, groups, names),
        "reversals": [_reversal(reversal, names) for reversal in reversals[:REVERSALS_SHOWN]],
        "reversals_lead": _reversals_lead(reversals),
    }
    return context | ({"schemes": _schemes(shown, schemes, names)} if schemes and len(shown.rows) > 1 else {})


def _other_setting(other: Board, measure: str) -> Column:
    """Column of another setting: the same measure, else its main one."""
    key = measure if measure in other.measures else other.setting.main
    return board_table.as_column(other, key, title=f"{MENU[key].title} on “{other.setting.title}”")


def _reversal(reversal: Reversal, names: dict[str, str]) -> dict[str, str]:
    return {
        "first": names[reversal.first],
        "second": names[reversal.second],
        "here": reversal.here.title,
        "there": reversal.there.title,
        "gain": reversal.here.difference(reversal.gain),
        "loss": reversal.there.difference(reversal.loss),
        "ranges": "separate by both measures" if reversal.clear else "overlap by one or both measures",
    }


def _reversals_lead(reversals: list[Reversal]) -> str:
    clear = sum(reversal.clear for reversal in reversals)
    shown = f", the first {REVERSALS_SHOWN} shown" if len(reversals) > REVERSALS_SHOWN else ""
    pairs = f"{counted(len(reversals), 'pair')}{shown}"
    return f"{pairs}; {clear:,} with separate ranges by both measures. Not a significance test."


# ---- weighting schemes -----------------------------------------------------------------------------
def _schemes(shown: Board, keys: list[str], names: dict[str, str]) -> dict[str, Any]:
    columns = _scheme_columns(shown, keys)
    measures = [as_shown(shown.setting, key) for key in keys]
    rows = [
        (names[str(row.system.pk)], [board_table.cell(row.figures.get(each.key), each) for each in measures])
        for row in shown.rows
    ]
    return {
        "wide": curve_charts.ranks(columns, names),
        "narrow": curve_charts.ranks(columns, names, narrow=True),
        "titles": [column.title for column in columns],
        "rows": rows,
        "finding": _scheme_finding(columns, names),
    }


def _scheme_columns(shown: Board, keys: list[str]) -> list[Column]:
    return [board_table.as_column(shown, key, title=MENU[key].title.removesuffix(" F1")) for key in keys]


def _scheme_finding(columns: list[Column], names: dict[str, str]) -> str:
    orders = [tuple(column.order()) for column in columns]
    if len(set(orders)) == 1:
        return "The order is the same under all five weightings"
    first, last = orders[0], orders[-1]
    if first and last and first[0] != last[0]:
        return f"{names[first[0]]} is first by micro, {names[last[0]]} by macro"
    return "The order below the first rank depends on the weighting" if first else "No order yet"


def _facts(setting: Setting, number: int) -> list[tuple[str, str]]:
    """Name what a version of the setting scores, and its gold."""
    version = versions.of_setting(setting, number)
    return [
        *facts(setting, version),
        ("Version", f"{version.number:,} of {setting.version:,}, scorer {version.scorer}"),
        ("Gold", f"sha256 {version.gold_sha256[:12]}…"),
    ]


# ---- downloads -------------------------------------------------------------------------------------
def _requested_board(request: HttpRequest, slug: str) -> Board | None:
    _, _, setting = chosen(request, slug)
    order, version = request.GET.get("order", ""), requested_version(request)
    return board(setting, order, person=request.user, version=version) if setting else None


@require_safe
def board_json(request: HttpRequest, slug: str) -> HttpResponse:
    """Board as in the API, without a token."""
    shown = _requested_board(request, slug)
    if shown is None:
        raise Http404
    return JsonResponse(BoardSerializer(shown).data)


@require_safe
def board_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Every measure of the setting, with a line per system and measure."""
    shown = _requested_board(request, slug)
    return csv_file(f"{slug}.csv", CSV_HEADS, _csv_lines(shown) if shown else ())


def _csv_lines(shown: Board) -> Iterator[list[object]]:
    for row in shown.rows:
        for key in shown.measures:
            figure = row.figures.get(key)
            if figure is not None:
                system = [shown.setting.key, row.rank, row.system.name, row.team.name, key]
                values = [figure.mean, figure.sd, figure.n, figure.minimum, figure.maximum, figure.reason]
                yield [*system, *values]


@require_safe
def ranks_svg(request: HttpRequest, slug: str) -> HttpResponse:
    """Chart of the ranks under five weightings, with literal colours."""
    _, _, setting = chosen(request, slug)
    shown = board(setting, person=request.user) if setting else None
    columns = _scheme_columns(shown, scheme_measures(shown.setting, shown.measures)) if shown else []
    drawn = curve_charts.ranks(columns, board_table.names([shown])) if shown and columns else ""
    return svg_file(drawn, f"{slug}-schemes.svg")
