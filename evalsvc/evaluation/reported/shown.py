"""Reported systems of a setting, as a reader sees them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from evalsvc.evaluation.disclosure.policy import held_back_from
from evalsvc.evaluation.models import ReportedSystem, Setting, SettingVersion
from evalsvc.evaluation.reported.checks import Check, checks
from evalsvc.evaluation.reported.entries import ReportedTest, tests_of
from evalsvc.evaluation.roles import Person

Tests = list[tuple[ReportedSystem, ReportedSystem, ReportedTest]]


class Reported(NamedTuple):
    """Rows in the order they were entered, checks by row, tests between rows.

    There are no checks while they would tell the size of hidden gold.
    """

    rows: list[ReportedSystem]
    checks: dict[int, list[Check]]
    tests: Tests


def reported(setting: Setting, person: Person | None, version: SettingVersion | None = None) -> Reported:
    """Return the reported systems of a setting, checked on the gold of a version."""
    rows = list(setting.reported.all())
    for row in rows:
        row.setting = setting
    held_back = bool(rows) and bool(held_back_from([setting], person))
    return Reported(rows, {} if held_back else checks_of(rows, version), tests_of(rows))


def checks_of(
    rows: Collection[ReportedSystem], version: SettingVersion | None = None
) -> dict[int, list[Check]]:
    """Return the checks of rows, by default on the newest gold."""
    return {row.pk: checks(row, version) for row in rows}
