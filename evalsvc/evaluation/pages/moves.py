"""Page of what a new version of a setting moved."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, listed, measured, signed
from evalsvc.evaluation.comparison import moves
from evalsvc.evaluation.comparison.moves import Change, Moves, SystemMove
from evalsvc.evaluation.measures.menu import Measure, as_shown
from evalsvc.evaluation.pages.boards import setting_or_404

SHOWN = 50  # systems; the API has all
PAIRS_SHOWN = 12


@require_safe
def moves_page(request: HttpRequest, slug: str, key: str, number: int) -> HttpResponse:
    benchmark, setting = setting_or_404(request, slug, key)
    found = moves.moves(setting, number, person=request.user)
    context = {
        "benchmark": benchmark,
        "setting": setting,
        "moves": found,
        "versions": (found.before.version, found.after.version),
        "heading": f"What version {number} of “{setting.title}” moved",
        "lead": found.summary,
        "systems": _systems(found),
        "labels": _labels(found),
        "turned": _turned(found),
        "left": f"Without a score under this version: {listed(found.left)}." if found.left else "",
    }
    return render(request, "evaluation/moves.html", context)


def _systems(found: Moves) -> DataTable | None:
    measures = [as_shown(found.setting, key) for key in found.measures]
    heads = ("System", "Rank before", "after", *(measure.title for measure in measures))
    rows = [
        (
            move.row.system.name,
            move.rank_before or DASH,
            _after(move),
            *(_change(move.changes[measure.key], measure) for measure in measures),
        )
        for move in found.systems[:SHOWN]
    ]
    return DataTable(heads, rows) if rows else None


def _after(move: SystemMove) -> str:
    if move.rank_after is None:
        return DASH
    mark = f" {'▲' if move.climbed > 0 else '▼'}{abs(move.climbed)}" if move.climbed else ""
    return f"{move.rank_after}{mark}"


def _change(change: Change, measure: Measure) -> str:
    if change.difference is None:
        return DASH
    factor = 100 if measure.unit == "%" else 1
    difference = signed(change.difference * factor, digits=measure.digits)
    return f"{measured(change.after or 0.0, measure)} ({difference})"


def _labels(found: Moves) -> DataTable | None:
    heads = ("Label", "Effect on micro F1", "Gold before", "after", "F1 before", "after")
    rows = [
        (
            move.label,
            signed(100 * move.effect, digits=2),
            f"{move.gold_before:,}",
            f"{move.gold_after:,}",
            *(DASH if value is None else f"{100 * value:.1f}" for value in move.f1),
        )
        for move in found.labels
    ]
    return DataTable(heads, rows) if rows else None


def _turned(found: Moves) -> list[str]:
    names = {move.row.system.pk: move.row.system.name for move in found.systems}
    pairs = [f"{names[pair.second]} passed {names[pair.first]}" for pair in found.turned]
    return [f"{each}." for each in pairs[:PAIRS_SHOWN]]
