"""Reported systems of a setting, as a reader sees them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.comparison import tested_systems
from evalsvc.evaluation.comparison.board_comparison import BoardComparison
from evalsvc.evaluation.disclosure.gold_digest import SecretGold
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import BoardTests, ReportedSystem, Setting, SettingVersion
from evalsvc.evaluation.reported.checks import Check, checks
from evalsvc.evaluation.reported.entries import ReportedTest, tests_of
from evalsvc.evaluation.roles import Person, organised

Tests = list[tuple[ReportedSystem, ReportedSystem, ReportedTest]]


class Reported(NamedTuple):
    """Rows in the order they were entered, checks by row, tests between rows.

    `measured` are tests of systems of the board against rows. There are no checks while they would tell the
    size of secret gold, and no such tests of hidden or sealed runs. `elsewhere` are the rows of
    other settings, by their key, in which the same paper prints the same system. `names` are those of the
    systems of the board, by key.
    """

    rows: list[ReportedSystem]
    checks: dict[int, list[Check]]
    tests: Tests
    measured: list[tuple[BoardSystem, ReportedSystem, ReportedTest]]
    elsewhere: Mapping[int, Mapping[int, ReportedSystem]] = {}
    names: Mapping[int, str] = {}

    def faults(self, row: ReportedSystem) -> dict[str, str]:
        """Return why figures of a row are impossible on this gold, by measure."""
        failed = [each for each in self.checks.get(row.pk, ()) if each.verdict == "impossible"]
        return {key: each.reason for each in failed for key in each.measures}

    def with_faults(self) -> list[tuple[ReportedSystem, str]]:
        """Return the rows with the reasons why their figures are impossible."""
        return [(row, "; ".join(dict.fromkeys(self.faults(row).values()))) for row in self.rows]


def reported(
    setting: Setting,
    person: Person | None,
    board: Board | None = None,
    tests: BoardComparison | None = None,
) -> Reported:
    """Return the reported systems of a setting, checked on its gold and tested against systems of its board.

    `board` is the one of now unless it is given, perhaps with its tests.
    """
    every = list(ReportedSystem.objects.filter(setting__benchmark=setting.benchmark_id))
    rows = [row for row in every if row.setting_id == setting.pk]
    if not rows:
        return Reported([], {}, [], [])
    for row in rows:
        row.setting = setting
    board = board or leaderboard.board(setting, person=person)
    checks = checks_of(rows, board.version) if _tells_size(setting, board, person) else {}
    measured = _measured(board, rows, tests)
    names = names_on_board(board, {system.pk for system, *_ in measured}) if measured else {}
    return Reported(rows, checks, tests_of(rows), measured, _elsewhere(rows, every), names)


def _elsewhere(
    rows: Collection[ReportedSystem], every: Collection[ReportedSystem]
) -> dict[int, dict[int, ReportedSystem]]:
    printed: dict[tuple[str, str], dict[int, ReportedSystem]] = {}
    for row in every:
        printed.setdefault((row.paper, row.system), {}).setdefault(row.setting_id, row)
    return {row.pk: printed[row.paper, row.system] for row in rows}


def _tells_size(setting: Setting, board: Board, person: Person | None) -> bool:
    """True for the organisers, and once no setting hides, seals or has yet to open the gold."""
    secret = SecretGold().holds_back(board.version)
    return not secret or bool(organised([setting.benchmark_id], person))


def _measured(
    board: Board, rows: Collection[ReportedSystem], tests: BoardComparison | None
) -> list[tuple[BoardSystem, ReportedSystem, ReportedTest]]:
    """Return the tests of the systems of a board against rows, as far as they are of its present runs."""
    if board.sealed or is_hidden(board.setting):
        return []
    stored = tests.stored_tests.reported if tests else _stored(board)
    return [
        (board.systems[test.other], row, test)
        for row in rows
        for test in msgspec.convert(stored.get(str(row.pk), []), list[ReportedTest])
    ]


def _stored(board: Board) -> Mapping[str, list[object]]:
    tests = BoardTests.objects.filter(setting=board.setting, identity=tested_systems.identity_of(board))
    return tests.exclude(reported={}).values_list("reported", flat=True).first() or {}


def checks_of(
    rows: Collection[ReportedSystem], version: SettingVersion | None = None
) -> dict[int, list[Check]]:
    """Return the checks of rows, by default on the newest gold."""
    return {row.pk: checks(row, version) for row in rows}
