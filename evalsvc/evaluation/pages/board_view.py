"""Board page as the template takes it: finding, reversed pairs, weightings, facts.

Only a test calls a difference one; where there is none, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evalsvc.core.web.formatting import counted, listed, percent, quoted
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.inputs import count_items
from evalsvc.evaluation.boards.rank_reversals import COMPARED
from evalsvc.evaluation.boards.ranking import Board, BoardRow, Column
from evalsvc.evaluation.boards.system_names import distinct_names, names_on_board
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.split import seed_sha256
from evalsvc.evaluation.measures.computation import f_title, in_words, of_setting, operating_point
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import ReportedSystem, Setting, SettingVersion
from evalsvc.evaluation.pages import board_headline, board_reversals, charts
from evalsvc.evaluation.pages.board_columns import BoardView, offers
from evalsvc.evaluation.pages.board_tables import figures_shown
from evalsvc.evaluation.pages.compare_figures import macro_flip_in_words
from evalsvc.evaluation.pages.page_table import cell, table
from evalsvc.evaluation.pages.setting_forms import PHASE_TITLES, UNIT_TITLES

RANKED_FAMILIES = ("bags", "opennre")
NAMED = ("micro", "macro")  # weightings in the headline
ROUNDED = "Ranks by rounded figures"
KINDS = {
    "relations": ("relation", "relations"),
    "entities": ("type", "types"),
    "joint": ("relation", "relations"),
}
ITEM_NAMES: dict[str, str] = {"sentence": "sentence", "bag": "sentence", "document": "document"}
Names = Mapping[int, str]


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
    names = _NamesOfPage(board)
    context: dict[str, Any] = {
        "table": table(view, rows, names=names, visible=visible, reported=reported),
        "offers": offers(view),
        "order": board.order_in_words,
        "sealed": board.sealed,
        "row_rule": row_rules.run_shown(setting),
        "figures_shown": figures_shown(view),
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
    untested = board_headline.why_untested(view.board)
    sentence = board_headline.sentence(view.board.ordering, groups, names, own, untested)
    return {"sentence": sentence, **shown}


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
    elif setting.has_closed():
        part += f", final figures under “{setting.rest.title}”"
    seed = f"seed {setting.share_seed}" if setting.has_closed() else "seed shown at closing"
    return f"{part}; {seed}, SHA-256 {seed_sha256(setting)[:12]}…"


class _NamesOfPage(dict[int, str]):
    """Names of the systems of a page; the rest of the board is read if one of these is asked for, too."""

    def __init__(self, board: Board) -> None:
        self._board = board
        on_board = {runs.system for runs in board.figures.runs}
        shown = [each for each in board.systems.loaded if each.pk in on_board]
        super().__init__(distinct_names(shown, board))

    def __missing__(self, system: int) -> str:
        self.update(names_on_board(self._board))
        return self[system]


def systems_of_page(view: BoardView, rows: Sequence[BoardRow]) -> set[int]:
    """Return the systems that a page of rows names, in the sections below its table, too."""
    board = view.board
    columns = [board.ordering, *board_reversals.scheme_columns(board)]
    if main := board.columns.get(board.setting.main):
        columns.append(main)
    ahead = {system for column in columns for system in column.order[:COMPARED]}
    return ahead.union(*((row.runs.system, *row.runs.sharing) for row in rows))


# ---- weighting schemes ---------------------------------------------------------------------------
def _schemes(
    board: Board, shown: Sequence[BoardRow], columns: Sequence[Column], names: Names
) -> dict[str, Any]:
    rows = [
        (
            names[row.system.pk],
            row.n_text,
            [cell(column.figures.get(row.system.pk), column.measure) for column in columns],
        )
        for row in shown[: charts.SHOWN]
    ]
    kind, kinds = KINDS[board.setting.benchmark.task]
    schemes = {
        "wide": charts.ranks(columns, names, title=scheme_title(board)),
        "narrow": charts.ranks(columns, names, title=scheme_title(board), narrow=True),
        "titles": [column.title for column in columns],
        "rows": rows,
        "finding": ROUNDED if board.policy.hidden else _scheme_finding(columns, names),
        "runs": charts.runs_of(columns),
    }
    schemes["f"] = f_title(board.setting.benchmark.options.get("beta", 1))
    more = len(board.rows) > charts.SHOWN
    return {"schemes": schemes, "more_systems": more, "kind": kind, "kinds": kinds}


def scheme_title(board: Board) -> str:
    """Say which ranks a chart of the weightings has."""
    return ROUNDED if board.policy.hidden else "Ranks"


def _scheme_finding(columns: Sequence[Column], names: Names) -> str:
    """Say which systems are first by which weightings; equal means share a rank."""
    ranks = [column.ranks for column in columns]
    if not any(ranks):
        return "No order yet"
    if all(each == ranks[0] for each in ranks):
        return "The order is the same under all five weightings"
    titles: dict[tuple[int, ...], list[str]] = {}  # of the weightings, by the systems that are first
    for column in columns:
        if first := tuple(sorted(system for system, rank in column.ranks.items() if rank == 1)):
            titles.setdefault(first, []).append(column.title)
    if len(titles) > 1:
        named = {system: quoted(names[system]) for first in titles for system in first}
        leaders = [(board_headline.some_listed(first, named), listed(by)) for first, by in titles.items()]
        is_ = "is" if len(next(iter(titles))) == 1 else "are"
        rest = [f"{systems} by {by}" for systems, by in leaders[1:]]
        return ", ".join([f"{leaders[0][0]} {is_} first by {leaders[0][1]}", *rest])
    most = max(map(len, ranks))
    if lacking := sum(len(each) < most for each in ranks):
        return f"{lacking} of the five weightings {'lacks' if lacking == 1 else 'lack'} figures"
    return "The order below the first rank depends on the weighting"
