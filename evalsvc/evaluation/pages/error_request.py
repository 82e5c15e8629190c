"""Request to the error browser: its systems, runs and filters, or why nothing can be shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, nan

from django.http import Http404, HttpRequest, QueryDict

from annotation.testset import label_titles
from evalsvc.core.errors.exceptions import DomainError, Unknown
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.formatting import run_named
from evalsvc.evaluation import roles
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.compared_runs import median_run, open_runs
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.error_selection import ORDERS, WHO, Selection, Wanted, same_gold
from evalsvc.evaluation.disclosure.outcomes import KINDS, Outcomes, outcomes_of, why_closed
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.pages import board_view, error_search
from evalsvc.evaluation.pages.boards import chosen

KIND_TITLES = {
    "missed": "missed",
    "spurious": "spurious",
    "type": "wrong type",
    "bounds": "wrong bounds",
    "type and bounds": "wrong type and bounds",
    "relation": "wrong relation",
    "direction": "wrong direction",
    "missed relation": "relation: missed",
    "turned relation": "relation: wrong direction",
    "other relation": "relation: another one",
    "type of an end": "relation: wrong type of an entity",
    "bounds of an end": "relation: wrong bounds of an entity",
    "end not in the gold": "relation: entity not in the gold",
    "spurious relation": "relation: spurious",
}
WHO_ALONE = {"a": "only A right", "b": "only B right", "neither": "neither right"}
TWO_FORMS = "One of the two systems answers with offsets, the other without. Choose two of one form."
NOT_STORED = "The scores of this system were computed before errors were stored."
WAITING = "Its runs are being scored again."


@dataclass(frozen=True)
class Side:
    """A system with a run, by default the median one, and the outcomes of that run.

    `system` names the system in addresses, `value` the run too; `others` are its runs, each with its value.
    """

    letter: str
    name: str
    system: str
    value: str
    run: Submission
    outcomes: Outcomes
    median: bool
    others: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Browser:
    """What a request asks to see."""

    board: Board
    sides: list[Side]
    wanted: Wanted
    reason: str = ""
    searched: error_search.Searched | None = None

    @property
    def setting(self) -> Setting:
        return self.board.setting

    @cached_property
    def selection(self) -> Selection:
        b = self.sides[1].outcomes if len(self.sides) > 1 else None
        return Selection(self.sides[0].outcomes, b, self.wanted)

    @cached_property
    def titles(self) -> dict[str, str]:
        return label_titles(self.setting.benchmark.labels)

    @property
    def noun(self) -> str:
        unit = self.setting.unit
        return "pair" if unit == "bag" else board_view.ITEM_NAMES[unit]


def requested(request: HttpRequest, slug: str) -> Browser:
    """Return the systems and filters in the query; without systems the first of the board."""
    _, _, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    roles.require_begun(setting, request.user)
    board = leaderboard.board(setting, person=request.user)
    wanted = _wanted(request.GET)
    closed = roles.sealed_until(setting) if board.sealed else ""
    if closed := closed or why_closed(board.policy, board.version.gold_sha256, request.user):
        return Browser(board, [], wanted, closed)
    names = names_on_board(board)
    by_name = {system_value(row): row for row in board.rows}
    values = dict.fromkeys(filter(None, (request.GET.get("a", ""), request.GET.get("b", ""))))
    picks = [_pick(value, by_name) for value in values]
    if unknown := [value for value, pick in zip(values, picks, strict=True) if pick is None]:
        hint = "Name a system as team/system, and a run as team/system/run."
        raise Unknown("unknown_system", "scored run of", unknown[0], where=f"“{setting.title}”", hint=hint)
    asked = [pick for pick in picks if pick] or [(row, "") for row in board.rows[:1]]
    sides, reason = [], "" if asked else f"“{setting.title}” has no scored run yet."
    for letter, (row, run) in zip("AB", asked, strict=False):
        runs = open_runs(board, row.system.pk, request.user)
        picked = _run(board, runs, run)
        outcomes = outcomes_of(picked[1], request.user) if picked else None
        if picked is None or outcomes is None:
            reason = _no_outcomes(picked[0] if picked else None)
            break
        value, name = system_value(row), names[row.system.pk]
        others = [(each.run, f"{value}/{each.run}") for each, _ in runs]
        if run:
            value, name = f"{value}/{run}", f"{name}, {run_named(run)}"
        _check_label(wanted.label, outcomes.labels)
        sides.append(Side(letter, name, system_value(row), value, picked[0], outcomes, not run, others))
    if len({side.outcomes.answers is None for side in sides}) == 2:
        reason = TWO_FORMS
    elif len(sides) == 2 and not same_gold(sides[0].outcomes, sides[1].outcomes):
        reason = NOT_STORED
    found = None
    if wanted.text and not reason:
        first, gold = whole_number_of(request.GET.get("line", "")) or 1, board.version.test_set
        found = error_search.searched(wanted.text, sides[0].outcomes, gold, first=first)
        wanted = replace(wanted, having=found.items)
    return Browser(board, [] if reason else sides, wanted, reason, found)


def _check_label(label: str, known: Collection[str]) -> None:
    if label and label not in known:
        detail = f"Unknown label: {label[:60]!r}."
        raise DomainError("bad_choice", detail, hint=f"Use {', '.join(sorted(known))}.", field="label")


def _pick(value: str, by_name: Mapping[str, BoardRow]) -> tuple[BoardRow, str] | None:
    """Return the system, and the run behind its name: TEAM/SYSTEM or TEAM/SYSTEM/RUN."""
    if value in by_name:
        return by_name[value], ""
    system, _, run = value.rpartition("/")
    return (by_name[system], run) if run and system in by_name else None


def _run(
    board: Board, runs: Sequence[tuple[Submission, Disclosed]], name: str
) -> tuple[Submission, Disclosed] | None:
    """Return the run of this name, without one the median run."""
    if not name:
        return median_run(board, runs)
    run = next((each for each in runs if each[0].run == name), None)
    if run is None:
        known = [each[0].run for each in runs]
        raise Unknown("unknown_run", "scored run with own answers", name, where="The system", known=known)
    return run


def _no_outcomes(run: Submission | None) -> str:
    waiting = run is not None and run.state != Submission.State.SCORED
    return f"{NOT_STORED} {WAITING}" if waiting else NOT_STORED


def system_value(row: BoardRow) -> str:
    return row.system.named


CHOICES: dict[str, Collection[str]] = {"kind": KINDS, "who": WHO, "order": ORDERS}


def _wanted(query: QueryDict) -> Wanted:
    for name, known in CHOICES.items():
        if unknown := [value for value in query.getlist(name) if value and value not in known]:
            detail, hint = f"Unknown {name}: {unknown[0][:60]!r}.", f"Use {', '.join(known)}."
            raise DomainError("bad_choice", detail, hint=hint, field=name)
    kinds = frozenset(KINDS.index(kind) for kind in query.getlist("kind") if kind in KIND_TITLES)
    who, order = query.get("who", ""), query.get("order", "")
    low, high = _share(query, "low", 0.0), _share(query, "high", 1.0)
    if low > high:
        raise DomainError(
            "bad_choice", f"F1 from {low:g} to {high:g} is empty.", hint="Swap them.", field="low"
        )
    return Wanted(
        kinds=kinds,
        label=query.get("label", ""),
        low=low,
        high=high,
        who=who if who in WHO and query.get("b") and query.get("a") else "",
        order=order if order in ORDERS else "f1",
        text=query.get("text", "").strip()[: error_search.MOST_CHARACTERS],
    )


def _share(query: QueryDict, name: str, default: float) -> float:
    text = query.get(name, "").strip()
    try:
        value = float(text or default)
    except ValueError:
        value = nan
    if not isfinite(value):
        detail = f"{text[:20]!r} is not a document score."
        raise DomainError("bad_number", detail, hint="Use a number from 0 to 1, such as 0.5.", field=name)
    return min(max(value, 0.0), 1.0)
