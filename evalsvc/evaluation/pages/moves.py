"""Page of what a new version of a setting moved, and its tables as files."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.testset import label_titles
from evalsvc.core.errors.exceptions import Unknown
from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, listed, measured, percent, points, quoted, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable, download
from evalsvc.evaluation.comparison import moves
from evalsvc.evaluation.comparison.label_moves import Change
from evalsvc.evaluation.comparison.moves import Moves, SystemMove
from evalsvc.evaluation.measures.menu import Measure, as_shown
from evalsvc.evaluation.pages.boards import setting_or_404

SHOWN = 50  # systems; files and the API have all
PAIRS_SHOWN = 12
RUNS_ALONE = {  # columns of files: runs scored under one version alone
    "runs_before_alone": "Runs under the earlier version alone",
    "runs_after_alone": "under the newer alone",
}


@require_safe
def moves_page(request: HttpRequest, slug: str, key: str, number: int) -> HttpResponse:
    benchmark, setting = setting_or_404(request, slug, key)
    report = moves.moves(setting, number, person=request.user)
    systems, names = systems_table(report), report.names
    turned = [[quoted(names[each.pk]) for each in pair] for pair in report.turned[:PAIRS_SHOWN]]
    left = listed([quoted(names[each.pk]) for each in report.left])
    context = {
        "benchmark": benchmark,
        "setting": setting,
        "moves": report,
        "versions": (report.before.version, report.after.version),
        "heading": f"What version {number} of “{setting.title}” moved",
        "lead": report.summary,
        "systems": _shown(replace(systems, rows=systems.rows[:SHOWN])),
        "labels": _shown(labels_table(report)),
        "turned": [f"{later} passed {earlier}." for earlier, later in turned],
        "left": f"Without a score under this version: {left}." if left else "",
        "formats": ("csv", "json"),
    }
    return render(request, "evaluation/moves.html", context)


@require_safe
def moves_file(request: HttpRequest, slug: str, key: str, number: int, format: str) -> HttpResponse:
    """Download the systems, the labels or the turned pairs of the report, all of them."""
    _, setting = setting_or_404(request, slug, key)
    report, name = moves.moves(setting, number, person=request.user), request.GET.get("table", "systems")
    if name not in TABLES:
        raise Unknown("unknown_table", "table", name, where="The report", known=TABLES)
    return download(TABLES[name](report), format)


def _shown(table: PaperTable) -> DataTable | None:
    """Return the table of the page, without what only programs need."""
    of_files = ("team", *RUNS_ALONE)
    places = [n for n, head in enumerate(table.heads) if head.key not in of_files and ":" not in head.key]
    rows = [[row[place].text for place in places] for row in table.rows]
    return DataTable([table.heads[place].title for place in places], rows) if rows else None


def _paper(report: Moves, name: str, what: str, heads: list[Head], rows: list[list[Cell]]) -> PaperTable:
    before, after = report.before.version.number, report.after.version.number
    setting = report.setting
    caption = f"{what} between versions {before} and {after} of “{setting.title}”, {setting.benchmark}."
    caption = " ".join(filter(None, (caption, report.without, report.held_back)))
    return PaperTable(f"{setting.benchmark.slug}-{setting.key}-{after}-{name}", caption, heads, rows)


def systems_table(report: Moves) -> PaperTable:
    """Ranks and figures of each system before and after."""
    measures = [as_shown(report.setting, key) for key in report.measures]
    heads = [
        Head("system", "System", numeric=False),
        Head("team", "Team", numeric=False),
        Head("rank_before", "Rank before"),
        Head("rank_after", "after"),
    ]
    for measure in measures:
        heads.append(Head(f"{measure.key}:before", f"{measure.title} before"))
        heads.append(Head(measure.key, measure.title))
    heads += [Head(key, title) for key, title in RUNS_ALONE.items()]
    rows = []
    for move in report.systems:
        row, rank = move.row.system, move.rank_before
        cells = [
            Cell(row.name, report.names[row.pk]),
            Cell(row.team_name, row.team_name),
            Cell(rank, str(rank or DASH)),
            Cell(move.rank_after, _after(move)),
        ]
        for measure in measures:
            change = move.changes[measure.key]
            before = DASH if change.before is None else measured(change.before, measure)
            cells += [Cell(change.before, before), Cell(change.after, _change(change, measure))]
        cells += [Cell(runs, f"{runs:,}") for runs in (move.runs_before_alone, move.runs_after_alone)]
        rows.append(cells)
    return _paper(report, "systems", "Ranks and figures", heads, rows)


def _after(move: SystemMove) -> str:
    if move.rank_after is None:
        return DASH
    mark = f" {'▲' if move.climbed > 0 else '▼'}{abs(move.climbed)}" if move.climbed else ""
    return f"{move.rank_after}{mark}"


def _change(change: Change, measure: Measure) -> str:
    if change.after is None or change.before is None:
        return DASH
    if change.difference is None:
        return measured(change.after, measure)
    return f"{measured(change.after, measure)} ({points(change.difference, measure)})"


def labels_table(report: Moves) -> PaperTable:
    """Effect of each label on micro F1, with its gold and its F1."""
    heads = [
        Head("label", "Label", numeric=False),
        Head("effect", "Effect on micro F1"),
        Head("gold_before", "Gold before"),
        Head("gold_after", "after"),
        Head("f1_before", "F1 before"),
        Head("f1_after", "after"),
    ]
    titles = label_titles(report.setting.benchmark.labels)
    rows = [
        [
            Cell(move.label, titles.get(move.label, move.label)),
            Cell(move.effect, signed(100 * move.effect, digits=2)),
            *(Cell(gold, f"{gold:,}") for gold in (move.gold_before, move.gold_after)),
            *(Cell(f1, DASH if f1 is None else percent(f1)) for f1 in (move.f1.before, move.f1.after)),
        ]
        for move in report.labels
    ]
    return _paper(report, "labels", "Labels behind the change", heads, rows)


def turned_table(report: Moves) -> PaperTable:
    """Pairs of systems that turned."""
    titles = {"ahead_before": "Ahead before", "ahead_after": "after"}
    titles |= {"team_before": "Team ahead before", "team_after": "after"}
    heads = [Head(key, title, numeric=False) for key, title in titles.items()]
    rows = [
        [Cell(text, text) for text in (*(each.name for each in pair), *(each.team_name for each in pair))]
        for pair in report.turned
    ]
    return _paper(report, "turned", "Pairs that turned", heads, rows)


TABLES = {"systems": systems_table, "labels": labels_table, "turned": turned_table}
