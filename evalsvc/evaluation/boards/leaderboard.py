"""Leaderboards of settings, read for a person: those of large benchmarks as stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.boards import stored_boards
from evalsvc.evaluation.boards.choices import read_choices
from evalsvc.evaluation.boards.figures import (
    Figures,
    FiguresByMeasure,
)
from evalsvc.evaluation.boards.ranking import Board, Column, Columns
from evalsvc.evaluation.boards.reading import Reading, figures_of, read_values
from evalsvc.evaluation.boards.systems import Systems
from evalsvc.evaluation.disclosure.policy import (
    Policy,
    held_back_from,
)
from evalsvc.evaluation.measures.menu import (
    as_shown,
    board_measures,
    contributed_to,
    offered,
    scheme_measures,
)
from evalsvc.evaluation.models import (
    Setting,
)
from evalsvc.evaluation.roles import Person, sealed_from
from evalsvc.evaluation.submissions import gold_exposure

TIES = "auc_under_ties"  # a note tells where ties carry the area under the curve


@dataclass(frozen=True)
class BoardRequest:
    """Board to read, by default in its usual order and under its last completely scored version.

    `measures` limits the scores read to these and the one that orders. With `usual` all that its page shows
    is read at once. `runs` limits the board to these submissions.
    """

    setting: Setting
    order_by: str = ""
    version: int | None = None
    measures: Collection[str] | None = None
    usual: bool = False
    runs: Collection[int] | None = None


def board(
    setting: Setting,
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    usual: bool = False,
) -> Board:
    """Rank systems by a measure under a version.

    By default by the main measure under the last completely scored version. Without a person the board is
    the public one, empty while sealed. With `usual` all that its page shows is read at once.
    """
    return boards([setting], order_by, person=person, version=version, usual=usual)[0]


def boards(
    settings: Collection[Setting],
    order_by: str = "",
    *,
    person: Person | None = None,
    version: int | None = None,
    measures: Collection[str] | None = None,
    usual: bool = False,
) -> list[Board]:
    """Return the boards of settings, in as many queries as for one.

    `measures` limits the scores read to these and the measure that orders. Large boards are read as stored.
    """
    requests = [BoardRequest(each, order_by, version, measures, usual) for each in settings]
    return requested_boards(requests, person)


def requested_boards(requests: Sequence[BoardRequest], person: Person | None) -> list[Board]:
    """Return several boards, each as requested, in as many queries as one."""
    settings = [each.setting for each in requests]
    hidden, sealed = held_back_from(settings, person), sealed_from(settings, person)
    numbers = {each.setting.pk: each.version for each in requests}
    whole = [each.setting for each in requests if each.runs is None]
    figures = stored_boards.read([each for each in whole if each.pk not in sealed], hidden, numbers)
    shown = versions.shown_by_setting([each for each in settings if each.pk not in figures], numbers)
    policies, readings = {}, []
    for each in requests:
        setting, pk = each.setting, each.setting.pk
        of_version = figures[pk].version if pk in figures else shown[pk].version
        policies[pk] = Policy(setting, pk in hidden, of_version)
        order = _ordering(policies[pk], each.order_by)
        if pk in shown and pk in sealed:
            figures[pk] = Figures(shown[pk].version, None, [], FiguresByMeasure({}, {}))
        elif pk in shown:
            readings.append(Reading(policies[pk], shown[pk].limited(each.runs), order, each.measures))
    if readings:
        read_choices(readings)
        read_values(readings)
    figures |= {each.policy.setting.pk: figures_of(each) for each in readings}
    systems = Systems({each.setting.benchmark_id for each in requests if figures[each.setting.pk].runs})
    for reading in readings:
        systems.sort(figures[reading.policy.setting.pk].runs)
    found = [(each, policies[each.setting.pk], figures[each.setting.pk]) for each in requests]
    return _ranked(found, systems, sealed)


def stored_by_job(setting: Setting) -> Callable[[], None]:
    """Compute a board for public and organisers; return a function storing it."""

    def figures(held_back: bool) -> Figures:
        shown = versions.shown(setting)
        reading = Reading(Policy(setting, held_back, shown.version), shown, setting.main)
        read_choices([reading])
        read_values([reading])
        found = figures_of(reading)
        Systems([setting.benchmark_id]).sort(found.runs)
        return found

    return stored_boards.compute(setting, figures)


def _ordering(policy: Policy, key: str) -> str:
    """Return the measure that orders a board, by default the main one."""
    key = key or policy.setting.main
    if key not in policy.measures:
        menu = [*offered(policy.setting.kind), *contributed_to(policy.setting)]
        shown = [each.key for each in menu if each.ranks and each.key in policy.measures]
        known = ", ".join(key for key in shown if not policy.withholds(key))
        detail = f"The board has no measure {key[:60]}."
        raise DomainError("unknown_measure", detail, hint=f"Known: {known}.", field="order")
    measure = as_shown(policy.setting, key)
    if not measure.ranks and key != policy.setting.main:
        detail = f"{measure.title} orders no board."
        raise DomainError("bad_measure", detail, hint=measure.unranked, field="order")
    return key


def _wanted(request: BoardRequest, figures: FiguresByMeasure) -> set[str]:
    """Return the measures of a stored board that are read at once."""
    keys = {request.order_by or request.setting.main, *(request.measures or ())}
    if request.usual:
        keys |= {each.key for each in board_measures(request.setting, figures.keys)}
        keys |= {*scheme_measures(request.setting, figures.keys), TIES}
    return keys


def _ranked(
    boards: Collection[tuple[BoardRequest, Policy, Figures]], systems: Systems, sealed: Collection[int]
) -> list[Board]:
    """Order the systems of boards by a measure."""
    golds = [(figures.version.test_set, figures.version.only) for _, _, figures in boards]
    teams = gold_exposure.teams_by_gold(golds)
    wanted = [(figures.by_measure, _wanted(request, figures.by_measure)) for request, _, figures in boards]
    runs_of = [
        (figures.by_measure, request.order_by or request.setting.main)
        for request, _, figures in boards
        if request.usual
    ]
    FiguresByMeasure.load_together(wanted, runs_of=runs_of)
    ranked = []
    for (request, policy, figures), teams_with_gold in zip(boards, teams, strict=True):
        setting, key = policy.setting, request.order_by or policy.setting.main
        columns, measure = Columns(setting, figures), as_shown(setting, key)
        ordering = columns.get(key) or Column(measure, {}, measure.title)
        is_sealed = setting.pk in sealed
        held = (systems, teams_with_gold, is_sealed, request.runs)
        ranked.append(Board(policy, figures, columns, ordering, *held))
    return ranked
