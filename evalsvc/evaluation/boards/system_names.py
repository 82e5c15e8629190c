"""Names of the systems of a board."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from django.db.models import Q
from django.utils.text import slugify

from evalsvc.core.web.formatting import INNER_QUOTES
from evalsvc.core.web.text_validation import folded
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.models import System

LONGEST_PART = 8  # words of a name that are compared with a team's name
MOST_PARTS = 20_000  # looked up; more need all teams of the board


def names_on_board(board: Board, systems: Collection[int] | None = None) -> dict[int, str]:
    """Return the names of systems, by default of all, so that none is taken for another one of the board."""
    every = [board.systems[runs.system] for runs in board.figures.runs]
    named = every if systems is None else [board.systems[system] for system in systems]
    return distinct_names(named, board, beside=every)


def distinct_names(
    systems: Collection[BoardSystem], board: Board, *, beside: Collection[BoardSystem] = ()
) -> dict[int, str]:
    """Return the names by key, with the team where two look alike, or one names another team of the board.

    They are compared with each other, and with those `beside` them. Where the team, too, makes a name look
    like another one in any of its forms, the slug of the team ends it.
    """
    compared = {*systems, *beside}
    taken = Counter(look for each in compared for look in {_look(form) for form in _forms(each)})
    parts = {system.pk: _parts(system.name) for system in systems}
    words = frozenset[str]().union(*parts.values())
    if words not in board.teams_named:  # page and tests name the same systems
        board.teams_named[words] = _teams(words, board, compared)
    teams = board.teams_named[words]

    def needs_team(system: BoardSystem) -> bool:
        named = (teams.get(part, system.team_id) for part in parts[system.pk])
        return any(team != system.team_id for team in named)

    def shown(system: BoardSystem) -> str:
        *forms, longest = _forms(system)[needs_team(system) :]
        return next((form for form in forms if taken[_look(form)] == 1), longest)

    return {system.pk: shown(system) for system in systems}


def _forms(system: BoardSystem) -> tuple[str, str, str]:
    """Return the name, with its team, and with the slug as well, by whose end no two teams look alike."""
    with_team = f"{system.name} of {system.team_name}"
    return system.name, with_team, f"{with_team} (team {system.team_slug})"


def _look(name: str) -> str:
    """Return a name as readers tell it apart from others, within quotation marks."""
    return " ".join(folded(name.translate(INNER_QUOTES)).split())


def _teams(parts: Collection[str], board: Board, beside: Collection[BoardSystem]) -> dict[str, int]:
    """Return the teams of the board, and of systems beside it, that parts of names name, by slug and by name.

    There may be others among them.
    """
    if not parts:
        return {}
    shown = {runs.system for runs in board.figures.runs} | {each.pk for each in beside}
    known = {each for each in (*board.systems.loaded, *beside) if each.pk in shown}
    if len(known) == len(shown):
        return {name: each.team_id for each in known for name in (each.team_slug, each.team_name)}
    systems = System.objects.filter(benchmark=board.setting.benchmark_id)
    if len(parts) <= MOST_PARTS:
        systems = systems.filter(Q(team__slug__in=parts) | Q(team__name__in=parts))
    found: dict[str, int] = {}
    for system, team, slug, name in systems.values_list("pk", "team", "team__slug", "team__name"):
        if system in shown:
            found |= {slug: team, name: team}
    return found


def _parts(name: str) -> set[str]:
    """Return the words of a name that may be a team's, as slugs and as they are written."""
    slugs = slugify(re.sub(r"[\W_]+", " ", folded(name))).split("-")
    written = {" ".join(words) for words in _runs(name.split())}
    found = written | {"-".join(words) for words in _runs(slugs)}
    return {part for part in found if any(map(str.isalpha, part))}


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST_PART) + 1):
            yield words[start:end]
