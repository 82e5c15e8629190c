"""Tests of a board as its readers see them: rank bands, who is ahead, what tests detect.

A reader sees tests only while the runs on the board are those that were tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import msgspec
from django.db.models import Case, JSONField, When

from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.comparison.compared import Comparison, pairs_of_teams
from evalsvc.evaluation.comparison.tested_systems import first_rows, identity_of_rows
from evalsvc.evaluation.disclosure.policy import hidden_among
from evalsvc.evaluation.disclosure.shown_tests import (
    ShownTest,
    StoredTest,
    adjusted_if_let_out,
    stored_key,
    winner_exactly,
)
from evalsvc.evaluation.models import MeasureTests, Setting
from evalsvc.evaluation.roles import Person

BY_MEDIAN = "a system of several runs by its median run"
_DECODER = msgspec.msgpack.Decoder(list[StoredTest])
Pair = tuple[int, int]


@dataclass(frozen=True)
class Band:
    """Ranks that a system may hold by the tests, among `of` tested systems."""

    first: int
    last: int
    of: int

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"

    @property
    def leads(self) -> bool:
        """True if no system is better by a test, and one is worse."""
        return self.first == 1 and self.last < self.of


class TestedPairs:
    """Tests of a measure by the numbers of their systems; a process keeps them, so they are never changed."""

    def __init__(self, tests: Iterable[StoredTest]) -> None:
        self.by_pair = {(test.a, test.b): test for test in tests}
        with_p = [pair for pair, test in self.by_pair.items() if test.p is not None]
        self.tested = sorted({number for pair in with_p for number in pair})

    @cached_property
    def detectable(self) -> tuple[float, float] | None:
        """The least and the greatest difference that a test of a pair mostly detects."""
        return ends_of(test.detectable for test in self.by_pair.values())


def ends_of(values: Iterable[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


# Decoding takes a fifth of the time of a large board. A process keeps the tests that it showed last, 15 MB.
@lru_cache(maxsize=32)
def _pairs_of(content: bytes) -> TestedPairs:
    return TestedPairs(_DECODER.decode(content))


@lru_cache(maxsize=64)
def _exact_wins(content: bytes, higher_is_better: bool) -> list[Pair]:
    """Return winner and loser of the pairs that a test finds to differ."""
    tests = _pairs_of(content).by_pair.values()
    winners = [(test, winner_exactly(test, higher_is_better=higher_is_better)) for test in tests]
    return [
        (test.a, test.b) if winner == test.a else (test.b, test.a)
        for test, winner in winners
        if winner is not None
    ]


@dataclass
class StoredTests:
    """Tests of a board by measure, decoded when asked for; `systems` are those tested, by number."""

    systems: Sequence[int]
    contents: dict[str, bytes] = field(default_factory=dict)
    reported: Mapping[str, list[object]] = field(default_factory=dict)
    """Tests against systems of papers, by the key of these."""
    macro_flip: float | None = None

    def pairs(self, key: str) -> TestedPairs | None:
        return _pairs_of(self.contents[key]) if key in self.contents else None


@dataclass(frozen=True)
class BoardComparison(Comparison):
    """First systems of a board with the tests between them, each shown when it is asked for."""

    stored_tests: StoredTests = field(kw_only=True)

    @cached_property
    def places(self) -> dict[int, int]:
        return {row.runs.system: place for place, row in enumerate(self.rows)}

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {system: number for number, system in enumerate(self.stored_tests.systems)}

    def _stored(self, key: str) -> TestedPairs | None:
        pairs, policy = self.stored_tests.pairs(stored_key(self.board.policy, key)), self.board.policy
        if pairs is None or not policy.hidden or key not in self.board.columns:
            return pairs
        if key not in self._let_out:
            column = self.board.columns[key]
            tests = adjusted_if_let_out(
                pairs.by_pair.values(),
                lambda test: self.withheld(column, *self._rows_of(test)),
                lambda test: pairs_of_teams(*self._rows_of(test)),
            )
            self._let_out[key] = TestedPairs(tests)
        return self._let_out[key]

    @cached_property
    def _tested_rows(self) -> list[BoardRow]:
        rows = {row.system.pk: row for row in self.rows}
        return [rows[system] for system in self.stored_tests.systems]

    def _rows_of(self, test: StoredTest) -> tuple[BoardRow, BoardRow]:
        return self._tested_rows[test.a], self._tested_rows[test.b]

    @cached_property
    def _let_out(self) -> dict[str, TestedPairs]:
        return {}

    def test(self, key: str, a: int, b: int) -> ShownTest | None:
        pairs, numbers = self._stored(key), self._numbers
        pair = [numbers.get(self.rows[place].runs.system, -1) for place in (a, b)]
        stored = pairs.by_pair.get((min(pair), max(pair))) if pairs else None
        if stored is None or key not in self.board.columns:
            return self.untested(key, a, b)
        placed = stored.between(a, b) if stored.a == pair[0] else stored.between(b, a)
        return self._shown_test(self.board.columns[key], placed)

    def of_systems(self, key: str, first: int, second: int) -> ShownTest | None:
        """Return the test between two systems by their keys."""
        if first not in self.places or second not in self.places:
            return None
        return self.test(key, self.places[first], self.places[second])

    def reasons(self, key: str, system: int) -> set[str]:
        """Return why the pairs of a system that the board tests have no test by a measure."""
        others = (other for other in self.stored_tests.systems if other != system)
        tests = [self.of_systems(key, system, other) for other in others]
        return {test.reason if test else "" for test in tests}

    def bands(self, key: str) -> dict[int, Band]:
        """Return the rank bands of the systems tested by a measure."""
        if key not in self._bands:
            self._bands[key] = self._computed_bands(key)
        return self._bands[key]

    @cached_property
    def _bands(self) -> dict[str, dict[int, Band]]:
        return {}

    def _computed_bands(self, key: str) -> dict[int, Band]:
        better, worse = Counter[int](), Counter[int]()
        for first, second in self.wins(key):
            worse[first] += 1
            better[second] += 1
        tested, _ = self._shown_pairs(key)
        of = len(tested)
        return {system: Band(1 + better[system], of - worse[system], of) for system in tested}

    def wins(self, key: str) -> Collection[Pair]:
        """Return the systems ahead and behind, of each pair that a test of the measure finds to differ."""
        return self._shown_pairs(key)[1]

    def _shown_pairs(self, key: str) -> tuple[Collection[int], frozenset[Pair]]:
        if key not in self._pairs:
            self._pairs[key] = self._computed_pairs(key)
        return self._pairs[key]

    @cached_property
    def _pairs(self) -> dict[str, tuple[Collection[int], frozenset[Pair]]]:
        return {}

    def _computed_pairs(self, key: str) -> tuple[Collection[int], frozenset[Pair]]:
        """Return the systems in a test of a measure, and who is ahead, as disclosure lets it out."""
        pairs, systems, policy = self._stored(key), self.stored_tests.systems, self.board.policy
        if pairs is None or key not in self.board.columns:
            return (), frozenset()
        column = self.board.columns[key]
        higher = column.measure.higher_is_better
        if not policy.hidden:
            exact = _exact_wins(self.stored_tests.contents[key], higher)
            wins = frozenset((systems[first], systems[second]) for first, second in exact)
            return [systems[number] for number in pairs.tested], wins
        tested, ahead = set(), set()
        for (a, b), test in pairs.by_pair.items():
            pair = systems[a], systems[b]
            if test.p is None:
                continue
            tested |= {*pair}
            winner = winner_exactly(test, higher_is_better=higher)
            if winner is not None:
                ahead.add(pair if winner == a else pair[::-1])
        return tested, frozenset(ahead)

    @property
    def macro_flip(self) -> float | None:
        """How far one hit in the rarest class moves macro F1 of a run, at most; of open gold alone."""
        return None if self.board.policy.hidden else self.stored_tests.macro_flip

    def includes(self, key: str) -> bool:
        """True for a measure that the board tests, also if no pair of systems has a test."""
        return self._stored(key) is not None

    def with_p(self, key: str) -> list[StoredTest]:
        """Return the tests of a measure that have a p."""
        pairs = self._stored(key)
        return [test for test in pairs.by_pair.values() if test.p is not None] if pairs else []

    def are_of_best(self, key: str) -> bool:
        """True if tests are of the best systems of teams that have several, as on hidden gold."""
        tests = self.with_p(key) if self.board.policy.hidden else ()
        return any(pairs_of_teams(*self._rows_of(test)) > 1 for test in tests)

    def methods(self, key: str) -> list[str]:
        """Name the tests of a measure, that over runs first."""
        return sorted({test.test for test in self.with_p(key)}, key=lambda name: not name.endswith("runs"))

    def methods_in_words(self, key: str) -> str:
        """Name the tests of a measure, and which pairs are tested over items if some are."""
        median = f" ({BY_MEDIAN})" if self.takes_medians(key) else ""
        return " and, where a side has one run, ".join(self.methods(key)) + median

    def takes_medians(self, key: str) -> bool:
        """True if a test over items is of a system with several runs."""
        figures, systems = self.board.columns[key].figures, self.stored_tests.systems
        over_items = (test for test in self.with_p(key) if test.differing is not None)
        return any(figures[systems[place]].n > 1 for test in over_items for place in (test.a, test.b))

    def detectable(self, key: str) -> tuple[float, float] | None:
        """Return the least and the greatest difference that a test of a pair mostly detects."""
        pairs, systems = self._stored(key), self.stored_tests.systems
        if pairs is None or not self.board.policy.hidden:
            return pairs.detectable if pairs else None
        # rounded, or withheld
        shown = (self.of_systems(key, systems[a], systems[b]) for a, b in pairs.by_pair)
        return ends_of(test.detectable for test in shown if test)


def read(boards: Collection[Board], keys: Collection[str]) -> dict[int, BoardComparison]:
    """Return the tests of boards by setting, as far as they are of the runs shown; one query."""
    rows = {board.setting.pk: first_rows(board) for board in boards}
    of_board = {board.setting.pk: board for board in boards}
    hidden = hidden_among(board.setting for board in boards)
    identities = {
        pk: identity_of_rows(of_board[pk], first, hidden=pk in hidden) for pk, first in rows.items() if first
    }
    main = {stored_key(board.policy, board.setting.main) for board in boards}
    measures = main | {stored_key(board.policy, key) for board in boards for key in keys}
    stored = MeasureTests.objects.filter(board__setting__in=identities, measure__in=measures)
    stored = stored.filter(board__identity__in=identities.values())
    tests_of: dict[int, StoredTests] = {}
    board_columns = ("board__setting", "board__identity", "board__systems", "board__macro_flip")
    columns = (*board_columns, "measure", "content")
    once = Case(When(measure__in=main, then="board__reported"), output_field=JSONField())
    for setting, identity, systems, flip, measure, content, reported in stored.values_list(*columns, once):
        if identity == identities[setting]:
            tests = tests_of.setdefault(setting, StoredTests(systems, macro_flip=flip))
            tests.contents[measure], tests.reported = bytes(content), tests.reported or reported or {}
    return {pk: BoardComparison(of_board[pk], rows[pk], stored_tests=tests) for pk, tests in tests_of.items()}


def compared_on_board(setting: Setting, systems: Collection[str], *, person: Person | None) -> Comparison:
    """Return the comparison of systems of a board; until it is tested, with the tests of the board."""
    comparison = compared.requested(setting, systems, person=person)
    if comparison.is_tested:
        return comparison
    tests = read([comparison.board], list(comparison.board.columns)).get(setting.pk)
    return replace(comparison, of_board=tests.of_systems) if tests else comparison
