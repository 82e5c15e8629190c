"""Handler of `reported`: tests of systems that are known from papers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation.measures.menu import MENU, Measure
from evalsvc.evaluation.models import ReportedSystem, Setting
from evalsvc.evaluation.reported.entries import PrintedFigure, ReportedTest, figures_of, why_untested
from workers.metrics.systems import FEW_RUNS, Printed, spread, welch_of_printed
from workers.scoring.significance import UNDEFINED, Values


def tests_of_systems(
    setting: Setting, systems: Mapping[int, Sequence[Values]], menu: Mapping[str, Measure]
) -> dict[str, object]:
    """Test systems, by the figures of their runs, against printed mean, deviation and n."""
    tests: dict[str, list[ReportedTest]] = {}
    for row in ReportedSystem.objects.filter(setting=setting):
        for key, figure in figures_of(row).items():
            if why_untested(row, figure) or key not in menu or not menu[key].ranks:
                continue
            for system, runs in systems.items():
                values = [run.get(key, math.nan) for run in runs]
                test = _measured_test(system, key, values, row, figure)
                tests.setdefault(str(row.pk), []).append(test)
    built: dict[str, object] = msgspec.to_builtins(tests)
    return built


def compare_reported(subject: int, progress: Progress) -> Store:
    """Test the rows of a setting that have no tests yet against earlier ones."""
    rows = list(ReportedSystem.objects.filter(setting=subject).order_by("pk"))
    new_tests = {
        row.pk: [test for other in rows[:place] for test in _reported_tests(row, other)]
        for place, row in enumerate(rows)
        if row.tests is None
    }

    def store() -> None:
        for pk, tests in new_tests.items():
            ReportedSystem.objects.filter(pk=pk).update(tests=msgspec.to_builtins(tests))

    return store


def _reported_tests(row: ReportedSystem, other: ReportedSystem) -> list[ReportedTest]:
    ours, theirs = figures_of(row), figures_of(other)
    return [
        _reported_test(other.pk, key, _printed(row, ours[key]), _printed(other, theirs[key]))
        for key in ours
        if key in theirs and not why_untested(row, ours[key]) and not why_untested(other, theirs[key])
    ]


def _measured_test(
    system: int, key: str, values: Sequence[float], row: ReportedSystem, figure: PrintedFigure
) -> ReportedTest:
    """Test the runs of a system against a printed figure, in its unit."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        reason = FEW_RUNS if len(values) < 2 else UNDEFINED
        return ReportedTest(system, key, None, reason=reason)
    unit = 100 if MENU[key].unit == "%" else 1
    runs = spread([unit * value for value in values])
    return _reported_test(system, key, Printed(*runs[:3], 0.0, 0.0), _printed(row, figure))


def _reported_test(other: int, key: str, ours: Printed, theirs: Printed) -> ReportedTest:
    printed = welch_of_printed(ours, theirs)
    p, d = ((_finite(least), _finite(most)) for least, most in (printed.p_range, printed.d_range))
    test = printed.test
    return ReportedTest(
        other,
        key,
        test.difference,
        p=_finite(test.p),
        p_least=p[0],
        p_most=p[1],
        d=_finite(test.d),
        d_least=d[0],
        d_most=d[1],
        word=test.word or "",
        called=printed.called,
        reason=test.reason or "",
    )


def _printed(row: ReportedSystem, figure: PrintedFigure) -> Printed:
    half_of_mean, half_of_sd = (0.5 * 10.0 ** -len(text.partition(".")[2]) for text in figure)
    return Printed(row.runs or 0, float(figure.value), float(figure.sd), half_of_mean, half_of_sd)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
