"""Systems of a board that its job tests against each other, and the identity of their runs.

Of the first ones all with several runs, by these; on open gold those with one run, too, by team in turn, as
long as tests of theirs over items are few enough.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb

from evalsvc.evaluation.benchmarks.inputs import count_items
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Setting, SettingVersion

FORMAT = 18  # of stored tests and of the choice of what is tested
FIRST = 50  # systems by the main measure that are tested against each other
# At most so many pairs over items times replicates, one minute or two, and so many with the items of each.
REPLICATED_PAIRS, REPLICATED_ITEMS = 45_000, 150_000_000


def first_systems(board: Board) -> list[int]:
    """Return the first systems by the main measure, the best first."""
    main = board.columns.get(board.setting.main)
    return main.order[:FIRST] if main else []


def first_rows(board: Board) -> list[BoardRow]:
    """Return the rows of these systems, in the order of the board."""
    return board.rows_of(set(first_systems(board)))


def tested_systems(board: Board, runs: Mapping[int, int], *, hidden: bool) -> list[int]:
    """Return which of the first systems are tested, given how many runs each of them shows.

    None with withdrawn runs. Hidden gold lets tests over items out only where somebody asks for them.
    """
    selections = {row.runs.system for row in first_rows(board) if row.is_selection}
    order = [system for system in first_systems(board) if runs.get(system) and system not in selections]
    several = [system for system in order if runs[system] > 1]
    single = [system for system in order if runs[system] == 1]
    fitting = 0 if hidden else most_single(board.version, len(several), len(single))
    return [*several, *_in_turn(board, single)[:fitting]]


def _in_turn(board: Board, systems: Sequence[int]) -> list[int]:
    """Return the first of each team, then the second ones: no team takes the places of others."""
    turns = Counter[int]()
    places = []
    for place, system in enumerate(systems):
        team = board.systems[system].team_id
        places.append((turns[team], place, system))
        turns[team] += 1
    return [system for _, _, system in sorted(places)]


def most_single(gold: Setting | SettingVersion, several: int, single: int) -> int:
    """Return how many systems with one run are tested beside so many with several; none without a pair."""
    items, fitting = count_items(gold), 0
    for n in range(1, single + 1):
        over_items = comb(n, 2) + n * several
        replicated = over_items * compared.replicates(comb(n + several, 2))
        if replicated > REPLICATED_PAIRS or items * replicated > REPLICATED_ITEMS:
            break
        fitting = n if over_items else 0
    return fitting


def identity_of_rows(board: Board, rows: Sequence[BoardRow], *, hidden: bool) -> str:
    """Digest of the runs that are tested, and whether their gold is hidden from the public."""
    runs = sorted(
        (
            *(row.runs.system, row.runs.newest, row.runs.names, row.runs.chosen),
            *(row.runs.withdrawn, row.runs.withdrawn_elsewhere),
        )
        for row in rows
    )
    last = sorted(row.runs.last.timestamp() for row in rows)
    digest = hashlib.sha256(repr((board.version.pk, runs, last)).encode()).hexdigest()
    return f"{identity_start(hidden=hidden)}{digest[:60]}"


def identity_start(*, hidden: bool) -> str:
    """How identities of the present format begin."""
    return f"{FORMAT}{'h' if hidden else 'o'}:"


def identity_of(board: Board) -> str:
    """Return the digest of the runs that the tests of a board are of."""
    return identity_of_rows(board, first_rows(board), hidden=is_hidden(board.setting))
