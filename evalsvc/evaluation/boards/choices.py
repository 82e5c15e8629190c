"""Choices of the runs that rows of boards show: final entries, and values under another setting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.row_rules import BY_CHOICE, ENTRY, best_on
from evalsvc.evaluation.boards.reading import Reading, read_values
from evalsvc.evaluation.boards.withdrawals import dropped_names
from evalsvc.evaluation.disclosure.policy import Policy, held_back_from
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import FinalEntry, Setting, System
from evalsvc.evaluation.roles import sealed_from


def read_choices(readings: Collection[Reading]) -> None:
    """Read the values under another setting by which settings choose a run.

    They are those the public sees, so that no row depends on its reader; sealed ones choose none.
    """
    _read_finals([each for each in readings if each.policy.setting.row_rule in BY_CHOICE])
    rules = {reading: best_on(reading.policy.setting.row_rule) for reading in readings}
    if not any(rules.values()):
        return
    related = Setting.objects.select_related("benchmark", "test_set", "only")
    benchmarks = {reading.policy.setting.benchmark_id for reading, key in rules.items() if key}
    found = related.filter(benchmark__in=benchmarks, key__in=filter(None, rules.values()))
    sealed, hidden = sealed_from(found, None), held_back_from(found, None)
    settings = {(each.benchmark_id, each.key): each for each in found if each.pk not in sealed}
    shown = versions.shown_by_setting(list(settings.values()))
    theirs = {
        key: Reading(Policy(each, each.pk in hidden, shown[each.pk].version), shown[each.pk], each.main, ())
        for key, each in settings.items()
    }
    read_values(list(theirs.values()))
    for reading, key in rules.items():
        if other := theirs.get((reading.policy.setting.benchmark_id, key)):
            reading.elsewhere = _main_values(other)
            reading.dropped = dropped_names(other.policy, other.shown, reading.policy.setting)


def _read_finals(readings: Collection[Reading]) -> None:
    """Read which runs were chosen as final, and the teams of systems where each has one entry."""
    if not readings:
        return
    settings = [each.policy.setting for each in readings]
    benchmarks = {each.benchmark_id for each in settings}
    rows = FinalEntry.objects.filter(submission__benchmark__in=benchmarks).order_by("at", "pk")
    chosen = list(rows.values_list("submission", "phase", "at"))
    teams: dict[int, dict[int, int]] = defaultdict(dict)
    if any(each.row_rule == ENTRY for each in settings):
        systems = System.objects.filter(benchmark__in=benchmarks, baseline=False)
        for benchmark, system, team in systems.values_list("benchmark", "pk", "team"):
            teams[benchmark][system] = team
    for reading, setting in zip(readings, settings, strict=True):
        reading.finals = {
            run: at for run, phase, at in chosen if not setting.phase or phase in ("", setting.phase)
        }
        reading.teams = teams[setting.benchmark_id] if setting.row_rule == ENTRY else {}


def _main_values(reading: Reading) -> dict[int | tuple[int, str], tuple[float, datetime]]:
    """Return the main figure of every run, the higher the better, and when it was sent.

    By names, too: a run may have a file for each phase.
    """
    key = reading.policy.setting.main
    sign = 1 if as_shown(reading.policy.setting, key).higher_is_better else -1
    shown = {pk: of_run[key].value for pk, of_run in reading.values.items() if key in of_run}
    for pairs in reading.equal.values():
        shown |= {run.pk: shown.get(first.pk) for run, first in pairs}
    values: dict[int | tuple[int, str], tuple[float, datetime]] = {}
    for run in (each.run for each in reading.shown.runs):
        if (value := shown.get(run.pk)) is not None:
            values[run.pk] = values[run.system_id, run.run] = sign * value, run.created_at
    return values
