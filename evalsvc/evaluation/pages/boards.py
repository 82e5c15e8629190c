"""The list of boards, one board, and what of it can be taken away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.formatting import counted, signed
from evalsvc.core.web.markdown import to_html
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.benchmarks import BoardSerializer
from evalsvc.evaluation.benchmarks import phases, versions
from evalsvc.evaluation.leaderboard import Board, board
from evalsvc.evaluation.measures.menu import MENU, as_shown, board_measures, scheme_measures
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages import board_summary, board_table, curve_charts
from evalsvc.evaluation.pages.board_overview import overviews
from evalsvc.evaluation.pages.board_summary import Column, Turn
from evalsvc.evaluation.pages.curl_command import curl
from evalsvc.evaluation.pages.settings import facts

TURNS_SHOWN = 12
KINDS = {"relations": ("relation", "relations"), "entities": ("type", "types")}


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    found = overviews(roles.visible(request.user).order_by("title"))
    lead = "No board is open yet."
    if found:
        lead = f"{counted(len(found), 'board')}. Each ranks systems on frozen test sets by means over runs."
    told = {"boards": found, "lead": lead, "may_open": may_organise(request)}
    return render(request, "evaluation/boards.html", told)


def may_organise(request: HttpRequest) -> bool:
    person = request.user
    return isinstance(person, User) and (person.may_organise or person.is_superuser)


def chosen(request: HttpRequest, slug: str) -> tuple[Benchmark, list[Setting], Setting | None]:
    """The benchmark as far as this person sees it, its settings, and the one asked for (else the first)."""
    benchmark = roles.benchmark_for(request.user, slug)
    settings = list(benchmark.settings.select_related("test_set", "only"))
    asked = request.GET.get("setting", "")
    if asked:
        return (
            benchmark,
            settings,
            get_object_or_404(benchmark.settings.select_related("test_set"), key=asked),
        )
    return benchmark, settings, settings[0] if settings else None


def version_asked(request: HttpRequest) -> int | None:
    """The version that the address names; the newest without."""
    asked = request.GET.get("version", "")
    if not asked:
        return None
    if not (asked.isascii() and asked.isdecimal() and 0 < len(asked) < 5):
        raise DomainError("unknown_version", f"{asked[:20]} is no version.", field="version")
    return int(asked)


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, settings, setting = chosen(request, slug)
    told = {
        "benchmark": benchmark,
        "settings": settings,
        "setting": setting,
        "about": to_html(benchmark.description),
        "organiser": roles.role_in(benchmark, request.user) == roles.ORGANISER,
        "curl": curl(request, benchmark),
        "sentence": "Nothing is scored here before a setting is added.",
    }
    if setting is not None:
        told |= _figures(request, benchmark, settings, setting)
    return render(request, "evaluation/board.html", told)


def _figures(
    request: HttpRequest, benchmark: Benchmark, settings: list[Setting], setting: Setting
) -> dict[str, Any]:
    found = board(setting, request.GET.get("order", ""), person=request.user, version=version_asked(request))
    further = board_measures(setting, found.measures)
    table = board_table.table(found, further, seen=_seen(request, found))
    kind, kinds = KINDS[benchmark.task]
    told: dict[str, Any] = {
        "table": table,
        "sealed": found.sealed,
        "orders": [(key, MENU[key].title) for key in found.measures if MENU[key].ranks],
        "facts": _facts(setting, found.version),
        "shown_version": found.version,
        "past": found.version < setting.version,
        "at_version": f"&version={found.version}" if found.version < setting.version else "",
        "kind": kind,
        "kinds": kinds,
        "unit": setting.unit,
        "sentence": phases.sealed_until(setting) if found.sealed else _nothing_yet(setting, found.version),
    }
    return told | (_findings(settings, setting, found) if found.rows else {})


def _nothing_yet(setting: Setting, version: int) -> str:
    if version < setting.version:
        return f"No standing run is scored under version {version} of “{setting.title}”."
    return f"No run is scored on “{setting.title}” yet."


def _seen(request: HttpRequest, found: Board) -> set[int]:
    """The runs on this board that the person may look into."""
    shown = [submission.pk for row in found.rows for submission in row.submissions]
    return set(roles.visible_submissions(request.user).filter(pk__in=shown).values_list("pk", flat=True))


def _findings(settings: list[Setting], setting: Setting, found: Board) -> dict[str, Any]:
    wanted = [(other, (found.order_by, other.main)) for other in settings if other.pk != setting.pk]
    elsewhere = [board(other, measures=measures) for other, measures in wanted]
    names = board_table.names([found, *elsewhere])
    here = board_table.as_column(found, found.order_by)
    groups = _same_setting(found), [_elsewhere(other, found.order_by) for other in elsewhere]
    turned = board_summary.turns(here, [column for group in groups for column in group])
    told = {
        "sentence": board_summary.sentence(here, groups, names),
        "turned": [_turn(turn, names) for turn in turned[:TURNS_SHOWN]],
        "turned_lead": _turned_lead(turned),
    }
    schemes = scheme_measures(setting, found.measures)
    return told | ({"schemes": _schemes(found, schemes, names)} if schemes and len(found.rows) > 1 else {})


def _same_setting(found: Board) -> list[Column]:
    """Micro and macro of this setting, the one pair whose disagreement everybody asks for."""
    keys = [key for key in scheme_measures(found.setting, found.measures) if "micro" in key or "macro" in key]
    return [board_table.as_column(found, key) for key in keys if key != found.order_by]


def _elsewhere(other: Board, measure: str) -> Column:
    """The same measure in another setting, so that only the gold or the unit differs; else its main one."""
    key = measure if measure in other.measures else other.setting.main
    return board_table.as_column(other, key, title=f"{MENU[key].title} on “{other.setting.title}”")


def _turn(turn: Turn, names: dict[str, str]) -> dict[str, str]:
    return {
        "first": names[turn.first],
        "second": names[turn.second],
        "here": turn.here.title,
        "there": turn.there.title,
        "gain": _difference(turn.here, turn.gain),
        "loss": _difference(turn.there, turn.loss),
        "ranges": "apart on both sides" if turn.clear else "meet on at least one side",
    }


def _difference(column: Column, gap: float) -> str:
    return signed(gap * (100 if column.percent else 1), digits=column.digits)


def _turned_lead(turned: list[Turn]) -> str:
    clear = sum(turn.clear for turn in turned)
    pairs = f"{counted(len(turned), 'pair')} {'turns' if len(turned) == 1 else 'turn'}"
    shown = f"; the first {TURNS_SHOWN} are shown" if len(turned) > TURNS_SHOWN else ""
    return f"{pairs}; {clear:,} by more than runs vary on both sides{shown}. No test is made here."


def _schemes(found: Board, keys: list[str], names: dict[str, str]) -> dict[str, Any]:
    columns = [board_table.as_column(found, key, title=_scheme(key)) for key in keys]
    rows = []
    for row in found.rows:
        cells = [board_table.cell(row.figures.get(key), as_shown(found.setting, key)) for key in keys]
        rows.append((names[str(row.system.pk)], cells))
    drawn = {
        "wide": curve_charts.ranks(columns, names),
        "narrow": curve_charts.ranks(columns, names, narrow=True),
    }
    return drawn | {
        "titles": [column.title for column in columns],
        "rows": rows,
        "finding": _scheme_finding(columns, names),
    }


def _scheme(key: str) -> str:
    return MENU[key].title.removesuffix(" F1")


def _scheme_finding(columns: list[Column], names: dict[str, str]) -> str:
    """What the drawing shows, from the means alone."""
    orders = [tuple(column.order()) for column in columns]
    if len(set(orders)) == 1:
        return "The order is the same under all five"
    first, last = orders[0], orders[-1]
    if first and last and first[0] != last[0]:
        return f"{names[first[0]]} is first by micro, {names[last[0]]} by macro"
    return "The order below the first place depends on the weights" if first else "No order yet"


def _facts(setting: Setting, version: int) -> list[tuple[str, str]]:
    """What the setting scores, and the very gold of the version shown."""
    held = versions.of_setting(setting, version)
    return [
        *facts(setting, held),
        ("Version", f"{held.number:,} of {setting.version:,}, scorer {held.scorer}"),
        ("Gold", f"sha256 {held.gold_sha256[:12]}…"),
    ]


@require_safe
def board_json(request: HttpRequest, slug: str) -> HttpResponse:
    """The board as its API gives it, for everybody who sees it."""
    _, _, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    found = board(setting, request.GET.get("order", ""), person=request.user, version=version_asked(request))
    return JsonResponse(BoardSerializer(found).data)


@require_safe
def board_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Every measure of the setting: a line per system and measure."""
    benchmark, _, setting = chosen(request, slug)
    found = board(setting, request.GET.get("order", ""), person=request.user) if setting else None
    heads = [
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
    return csv_file(f"{benchmark.slug}.csv", heads, _lines(found) if found else ())


def _lines(found: Board) -> Iterator[list[object]]:
    for row in found.rows:
        for key in found.measures:
            figure = row.figures.get(key)
            if figure is not None:
                start = [found.setting.key, row.rank, row.system.name, row.team.name, key]
                told = [figure.mean, figure.sd, figure.n, figure.minimum, figure.maximum, figure.reason]
                yield [*start, *told]


@require_safe
def ranks_svg(request: HttpRequest, slug: str) -> HttpResponse:
    """The drawing of the five schemes, with literal colours."""
    benchmark, _, setting = chosen(request, slug)
    found = board(setting, person=request.user) if setting else None
    keys = scheme_measures(found.setting, found.measures) if found else []
    columns = [board_table.as_column(found, key, title=_scheme(key)) for key in keys if found]
    drawn = curve_charts.ranks(columns, board_table.names([found])) if found and columns else ""
    return svg_file(drawn, f"{benchmark.slug}-schemes.svg")
