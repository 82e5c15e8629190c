"""Board page as the template takes it: table, finding, reversed pairs, weightings.

Only a test calls a difference one; where there is none, nothing is claimed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

import msgspec
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web import svg
from evalsvc.core.web.formatting import DASH, counted, listed, measured, percent
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.file_contract import count_items
from evalsvc.evaluation.board_figures import RunStatistics
from evalsvc.evaluation.board_reading import NOT_COMPUTED
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import has_closed, undefined
from evalsvc.evaluation.disclosure.split import seed_sha256
from evalsvc.evaluation.leaderboard import COMPARED, TIES, Board, BoardRow, BoardSystem, Column
from evalsvc.evaluation.measures.computation import f_title, in_words, of_setting, operating_point
from evalsvc.evaluation.measures.menu import Measure, as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting, SettingVersion
from evalsvc.evaluation.pages import board_headline, board_reversals, charts
from evalsvc.evaluation.pages.board_columns import BoardColumn, BoardView, ColumnGroup, offers
from evalsvc.evaluation.pages.board_rails import Rail, rails
from evalsvc.evaluation.pages.compare_figures import macro_flip_in_words
from evalsvc.evaluation.pages.setting_forms import PHASE_TITLES, UNIT_TITLES
from evalsvc.evaluation.reported.entries import PrintedFigure, figures_of

TAGS_SHOWN = 3
RANKED_FAMILIES = ("bags", "opennre")
NOT_PRINTED = "the paper does not print it"
NAMED = ("micro", "macro")  # weightings in the headline
NOTEWORTHY_TIES = 0.1
KINDS = {
    "relations": ("relation", "relations"),
    "entities": ("type", "types"),
    "joint": ("relation", "relations"),
}
ITEM_NAMES: dict[str, str] = {"sentence": "sentence", "bag": "sentence", "document": "document"}
Names = Mapping[int, str]


class ScoreCell(msgspec.Struct, frozen=True, gc=False):
    """Mean with its deviation, or the reason for a dash.

    `leads` if no system is better by a test and one is worse; `mark` counts ranks above or below that of the
    ordering column, `confirmed` by tests of a pair. A board has hundreds of cells.
    """

    text: str
    sd: str = ""
    reason: str = ""
    mark: str = ""
    mark_title: str = ""
    edge: bool = False
    leads: bool = False
    confirmed: bool = False

    @property
    def classes(self) -> str:
        return f"{' edge' if self.edge else ''}{' fig--top' if self.leads else ''}"

    def __html__(self) -> str:
        if not self.reason:
            figures = f'{escape(self.text)} <small class="sd">{escape(self.sd)}</small>'
            return SafeString(f"{self._turn}{figures}")
        dash = '<span class="dash" title="{}">–<span class="sr"> {}</span></span> <small class="sd"></small>'
        return format_html(dash, self.reason, self.reason)

    __str__ = __html__

    @property
    def _turn(self) -> str:
        soft = "" if self.confirmed else " turn--soft"
        return f'<span class="turn{soft}" title="{self.mark_title}">{self.mark}</span> ' if self.mark else ""


class TableRow(msgspec.Struct, frozen=True):
    """System in the table; `run` is its newest run, if visible."""

    row: BoardRow
    last: datetime
    run: int | None
    first: ScoreCell
    strip: SafeString | str
    others: list[ScoreCell]
    rank: str
    no_rank: str
    rails: Sequence[Rail]
    baseline: bool
    tags: list[str]
    links: Mapping[str, str]
    description: str
    same_files: str


class ReportedRow(msgspec.Struct, frozen=True):
    """System of a paper below the ranked ones; figures as printed, and why they are impossible."""

    row: ReportedSystem
    fault: str
    first: ScoreCell
    strip: SafeString | str
    others: list[ScoreCell]


@dataclass(frozen=True)
class BoardTable:
    """Table of a board, ordered by the measure `first`.

    `undefined` when a cell of it has no figure.
    """

    first: Measure
    others: list[BoardColumn]
    groups: list[ColumnGroup]
    axis: SafeString | str
    rows: list[TableRow]
    notes: list[str]
    undefined: bool
    reported: list[ReportedRow]
    railed: bool = False


def board_context(
    view: BoardView,
    *,
    rows: Sequence[BoardRow],
    visible: Collection[int],
    reported: Sequence[tuple[ReportedSystem, str]] = (),
) -> dict[str, Any]:
    """Return the template's context for a page of rows.

    `reported` are systems of papers below them, with the reasons why their figures are impossible.
    """
    board = view.board
    setting = board.setting
    past = board.version.number < setting.version and not board.rescoring
    context: dict[str, Any] = {
        "table": table(view, rows, visible=visible, reported=reported),
        "offers": offers(view),
        "sealed": board.sealed,
        "row_rule": row_rules.title(setting) if setting.row_rule != row_rules.MEAN else "",
        "orders": [
            measure
            for measure in (as_shown(setting, key) for key in board.columns)
            if (measure.ranks or measure.key == board.order_by) and not board.policy.withholds(measure.key)
        ],
        "by_name": board.policy.withholds_main,
        "unranked": main if not (main := as_shown(setting, setting.main)).ranks else None,
        "facts": [
            *facts(setting, board.version),
            ("Version", f"{board.version.number:,} of {setting.version:,}"),
        ],
        "operating_point": _operating_point(board),
        "shown_version": board.version.number,
        "rescoring": board.rescoring,
        "computed_at": board.computed_at,
        "past": past,
        "comparable": len(board.rows) > 1 and not past,
    }
    if not board.figures.runs:
        return context
    names = _NamesOfPage(board)
    schemes = board_reversals.scheme_columns(board)
    context |= _orders(view, names)
    if own := view.tests.get(setting.pk):
        context["tested"] = board_headline.tested(own, board)
        context["macro_flip"] = macro_flip_in_words(board, [own.macro_flip])
    return context | (_schemes(board, rows, schemes, names) if schemes and len(board.rows) > 1 else {})


def _orders(view: BoardView, names: Names) -> dict[str, Any]:
    """Return the headline, the reversed pairs and the agreement of orders."""
    orders = board_reversals.other_orders(view)
    pairs = board_reversals.reversed_of(view, orders)
    # the sentence names the pair whose disagreement everybody asks for
    own = view.tests.get(view.board.setting.pk)
    claimed = [pair for pair in pairs if pair.shown and (pair.confirmed or not own)]
    elsewhere = {id(order.column) for order in orders if order.elsewhere}
    groups = [
        [pair for pair in claimed if id(pair.there) not in elsewhere and _scheme(pair.there) in NAMED],
        [pair for pair in claimed if id(pair.there) in elsewhere],
    ]
    shown = board_reversals.context(view, orders, pairs, names)
    return {"sentence": board_headline.sentence(view.board.ordering, groups, names, own), **shown}


def _scheme(column: Column) -> str:
    """Name the weighting of a column, such as macro."""
    return column.measure.title.split(" ")[-2]


def _operating_point(board: Board) -> str:
    """Name the score from which claims count, unless the board has only labels."""
    ranked = any(as_shown(board.setting, key).family in RANKED_FAMILIES for key in board.columns)
    return operating_point(of_setting(board.setting, board.version)) if ranked or board.held_back else ""


def facts(setting: Setting, version: SettingVersion) -> list[tuple[str, str]]:
    """Name what a setting scores, or scored, under a version."""
    measure = as_shown(setting, setting.main)
    way = "higher" if measure.higher_is_better else "lower"
    return [
        ("Test set", f"{version.test_set}, {version.test_set.get_origin_display().lower()}"),
        *([("Limited to", f"items of {version.only}")] if version.only else []),
        *([("Part", _part(setting))] if setting.share is not None else []),
        ("Unit", UNIT_TITLES[setting.unit]),
        ("Items", counted(count_items(version), ITEM_NAMES[setting.unit])),
        ("Main measure", f"{measure.title}, {way} is better"),
        ("Runs shown", row_rules.title(setting)),
        ("Accepts submissions", PHASE_TITLES[setting.phase]),
        *(
            (title, stated(at, setting.benchmark))
            for title, at in (("Opens", setting.opens_at), ("Closes", setting.closes_at))
            if at
        ),
        *in_words(of_setting(setting, version, gold=gold_digest.of_version(version))),
    ]


def _part(setting: Setting) -> str:
    """Describe the part of a split, with the digest of its seed."""
    share = f"{percent(setting.share or 0, digits=0)} %"
    part = f"{share}, drawn once for all teams"
    if setting.rest_of is not None:
        part = f"the rest beside the {share} of “{setting.rest_of.title}”"
    elif has_closed(setting):
        part += f", final figures under “{setting.rest.title}”"
    seed = f"seed {setting.share_seed}" if has_closed(setting) else "seed shown at closing"
    return f"{part}; {seed}, SHA-256 {seed_sha256(setting)[:12]}…"


class _NamesOfPage(dict[int, str]):
    """Names of the systems of a page; the rest of the board is read if one of these is asked for, too."""

    def __init__(self, board: Board) -> None:
        self._board = board
        on_board = {runs.system for runs in board.figures.runs}
        super().__init__(_named([each for each in board.systems.loaded if each.pk in on_board]))

    def __missing__(self, system: int) -> str:
        self.update(system_names(self._board))
        return self[system]


def system_names(board: Board) -> dict[int, str]:
    """Return the system names, with the team where two share a name."""
    return _named([board.systems[runs.system] for runs in board.figures.runs])


def _named(systems: Collection[BoardSystem]) -> dict[int, str]:
    named = Counter(system.name for system in systems)
    return {
        system.pk: f"{system.name} ({system.team_name})" if named[system.name] > 1 else system.name
        for system in systems
    }


def systems_of_page(view: BoardView, rows: Sequence[BoardRow]) -> set[int]:
    """Return the systems that a page of rows names, in the sections below its table, too."""
    board = view.board
    columns = [board.ordering, *board_reversals.scheme_columns(board)]
    if main := board.columns.get(board.setting.main):
        columns.append(main)
    ahead = {system for column in columns for system in column.order[:COMPARED]}
    return ahead.union(*((row.runs.system, *row.runs.sharing) for row in rows))


# ---- the table -----------------------------------------------------------------------------------
def table(
    view: BoardView,
    shown: Sequence[BoardRow],
    *,
    visible: Collection[int] = (),
    reported: Sequence[tuple[ReportedSystem, str]] = (),
) -> BoardTable:
    """Build the table of a page of rows, with links to runs."""
    board, main = view.board, view.board.ordering.measure
    ends = list(board.ordering.kept.ends)
    printed = [(each, fault, figures_of(each)) for each, fault in reported]
    ends += [_share(each[main.key].value) for *_, each in printed if main.key in each and main.unit == "%"]
    # only percentages have run strips, on one scale
    scale = charts.run_scale(ends) if ends and main.unit == "%" else None
    beside = _rails(view, shown)
    rows = [_row(view, row, scale, visible, beside.get(row.system.pk, ())) for row in shown]
    axis = charts.strip_axis(scale) if scale else ""
    reasons = notes(view, shown)
    all_notes = [*reasons, *_tie_notes(board, shown)]
    below = [_reported_row(view, *each, scale) for each in printed]
    return BoardTable(
        main, view.columns, view.groups, axis, rows, all_notes, bool(reasons), below, bool(beside)
    )


def _reported_row(
    view: BoardView,
    row: ReportedSystem,
    fault: str,
    figures: Mapping[str, PrintedFigure],
    scale: svg.Scale | None,
) -> ReportedRow:
    strip: SafeString | str = ""
    if scale and (main := figures.get(view.first.measure.key)):
        sd = _share(main.sd) if main.sd else 0.0
        strip = charts.reported_strip(_share(main.value), sd=sd, scale=scale, text=str(main))
    first, *others = [
        _printed_cell(column, view.printed(row, column.board.setting))
        for column in (view.first, *view.columns)
    ]
    return ReportedRow(row, fault, first, strip, others)


def _printed_cell(column: BoardColumn, figures: Mapping[str, PrintedFigure]) -> ScoreCell:
    """Format a figure as printed."""
    figure = figures.get(column.measure.key)
    if figure is None:
        return ScoreCell(DASH, reason=NOT_PRINTED, edge=column.edge)
    return ScoreCell(figure.value, f"± {figure.sd}" if figure.sd else "", edge=column.edge)


def _share(printed: str) -> float:
    return float(printed) / 100


def _same_files(board: Board, row: BoardRow) -> str:
    """Describe equal runs, and systems with the same answers.

    While figures are held back, files of other teams are not compared.
    """
    shared = [f"run {each.run} equals run {each.equals}" for each in row.runs.equal]
    others = [board.systems[system] for system in row.runs.sharing]
    own = row.system.team_id
    named = {
        other.name if other.team_id == own else f"{other.name} ({other.team_name})"
        for other in others
        if other.team_id == own or not board.held_back
    }
    return "; ".join([*shared, *([f"same answers as {listed(sorted(named))}"] if named else [])])


def _rails(view: BoardView, shown: Sequence[BoardRow]) -> dict[int, list[Rail]]:
    if (tests := view.first.tests) is None:
        return {}
    order = [row.system.pk for row in shown]
    return rails(order, view.first.bands, tests.wins(view.first.measure.key))


def _row(
    view: BoardView,
    row: BoardRow,
    scale: svg.Scale | None,
    visible: Collection[int],
    beside: Sequence[Rail],
) -> TableRow:
    board, main = view.board, view.board.ordering.measure
    figure = row.figure(main.key)
    strip: SafeString | str = ""
    if scale and figure and figure.mean is not None:
        strip = charts.run_strip(
            [value for value in view.first.values(row) if value is not None],
            mean=figure.mean,
            sd=figure.sd,
            scale=scale,
            digits=main.digits,
        )
    return TableRow(
        row=row,
        last=row.runs.last,
        run=row.runs.newest if row.runs.newest in visible else None,
        first=cell(figure, main, leads=view.first.leads(row)),
        rank=view.rank(row)[0],
        no_rank=view.rank(row)[1],
        rails=beside,
        strip=strip,
        others=[_cell(column, row) for column in view.columns],
        baseline=row.system.baseline,
        tags=row.system.tag_texts[:TAGS_SHOWN],
        links=row.system.links,
        description=str(row.system.declared.get("description", "")),
        same_files=_same_files(board, row),
    )


def _cell(column: BoardColumn, row: BoardRow) -> ScoreCell:
    system = row.runs.system
    figure = column.figures.get(system)
    missing = "" if figure else column.reason(row)
    return cell(
        figure,
        column.measure,
        shift=column.shift(row),
        missing=missing,
        edge=column.edge,
        leads=column.leads(row),
        confirmed=system in column.turned,
    )


def cell(
    figure: RunStatistics | None,
    measure: Measure,
    *,
    shift: int = 0,
    missing: str = NOT_COMPUTED,
    edge: bool = False,
    leads: bool = False,
    confirmed: bool = False,
) -> ScoreCell:
    """Format a figure, or a dash with its reason, `missing` without a figure.

    The n is shown where runs lack it.
    """
    if figure is None:
        return ScoreCell(DASH, reason=missing, edge=edge)
    if figure.mean is None:
        return ScoreCell(DASH, reason=figure.reason, edge=edge)
    text = measured(figure.mean, measure)
    parts = [] if figure.sd is None else [f"± {measured(figure.sd, measure)}"]
    parts += [f"(n = {figure.n})"] if figure.n < figure.of else []
    sd = " ".join(parts)
    if not shift:
        return ScoreCell(text, sd, edge=edge, leads=leads)
    mark, direction = ("▲", "higher") if shift > 0 else ("▼", "lower")
    title = f"ranked {abs(shift)} {direction} than by the ordering column; "
    title += "tests confirm both orders of a pair" if confirmed else "no test confirms it"
    return ScoreCell(text, sd, "", f"{mark}{abs(shift)}", title, edge, leads, confirmed)


def notes(view: BoardView, rows: Sequence[BoardRow]) -> list[str]:
    """Return a note per reason of undefined figures in these rows."""
    systems_by_reason: dict[str, list[str]] = {}
    rows = list(rows)  # once, not for each column
    for column in (view.first, *view.columns):
        for row in rows:
            figure = column.figures.get(row.system.pk)
            if figure is not None and figure.n < figure.of:
                some = f"{figure.of - figure.n} of {figure.of} runs of "
                reason = f"{column.title} {undefined(figure.reason)}"
                system = f"{some if figure.n else ''}{row.system.name}"
                systems_by_reason.setdefault(reason, []).append(system)
    return [f"{reason} ({', '.join(systems)})" for reason, systems in systems_by_reason.items()]


def _tie_notes(board: Board, rows: Sequence[BoardRow]) -> list[str]:
    """Name the systems whose AUC lies under ties to a good part."""
    column = board.columns.get(TIES)
    if column is None:
        return []
    carried = [
        f"{row.system.name} {measured(share, column.measure)} %"
        for row in rows
        if (figure := column.figures.get(row.system.pk))
        and (share := figure.mean) is not None
        and share >= NOTEWORTHY_TIES
    ]
    systems = ", ".join(carried)
    return [f"Share of the AUC that lies under tied scores, which raise it: {systems}"] if carried else []


# ---- weighting schemes ---------------------------------------------------------------------------
def _schemes(
    board: Board, shown: Sequence[BoardRow], columns: Sequence[Column], names: Names
) -> dict[str, Any]:
    rows = [
        (
            names[row.system.pk],
            row.n,
            [cell(column.figures.get(row.system.pk), column.measure) for column in columns],
        )
        for row in shown[: charts.SHOWN]
    ]
    kind, kinds = KINDS[board.setting.benchmark.task]
    schemes = {
        "wide": charts.ranks(columns, names),
        "narrow": charts.ranks(columns, names, narrow=True),
        "titles": [column.title for column in columns],
        "rows": rows,
        "finding": _scheme_finding(columns, names),
        "runs": charts.runs_of(columns),
    }
    schemes["f"] = f_title(board.setting.benchmark.options.get("beta", 1))
    more = len(board.rows) > charts.SHOWN
    return {"schemes": schemes, "more_systems": more, "kind": kind, "kinds": kinds}


def _scheme_finding(columns: Sequence[Column], names: Names) -> str:
    if all(column.order == columns[0].order for column in columns):
        return "The order is the same under all five weightings"
    first, last = columns[0].order, columns[-1].order
    if first and last and first[0] != last[0]:
        return f"{names[first[0]]} is first by micro, {names[last[0]]} by macro"
    return "The order below the first rank depends on the weighting" if first else "No order yet"
