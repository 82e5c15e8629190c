"""Rails beside the ranks of a board: each joins neighbours that no test tells apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

LANES = 6  # rails beside each other; a board with more has none, since half of them would mislead
Pair = tuple[int, int]


class Rail(NamedTuple):
    """Part of a rail in the row of a system; `end` is where it begins or stops."""

    lane: int
    end: str = ""


def rails(order: Sequence[int], tested: Collection[int], wins: Collection[Pair]) -> dict[int, list[Rail]]:
    """Return the rails of tested systems, in the order of their rows.

    A rail joins as many neighbours as possible of which no two differ by a test.
    """
    systems = [system for system in order if system in tested]
    groups, lanes, found = _groups(systems, wins), list[int](), dict[int, list[Rail]]()
    for first, last in groups:
        lane = next((lane for lane, end in enumerate(lanes) if end < first), len(lanes))
        lanes[lane : lane + 1] = [last]
        for place in range(first, last + 1):
            end = " from" if place == first else " to" if place == last else ""
            found.setdefault(systems[place], []).append(Rail(lane + 1, end))
    return found if len(lanes) <= LANES else {}


def _groups(systems: Sequence[int], wins: Collection[Pair]) -> list[Pair]:
    """Return first and last place of each group of two or more that is in no larger one."""
    places = {system: place for place, system in enumerate(systems)}
    reach = [len(systems) - 1] * len(systems)
    for pair in wins:
        if pair[0] in places and pair[1] in places:
            first, last = sorted(places[system] for system in pair)
            reach[first] = min(reach[first], last - 1)
    for place in reversed(range(len(systems) - 1)):
        reach[place] = min(reach[place], reach[place + 1])
    groups = [(first, last) for first, last in enumerate(reach) if last > first]
    return [pair for before, pair in zip([(0, -1), *groups], groups, strict=False) if pair[1] > before[1]]
