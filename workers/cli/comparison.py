"""The significance report: two systems over several runs, or one run each.

Against a single run, several give their median run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.measures.menu import compared_measures
from workers.cli.arguments import Options
from workers.cli.local_files import LEFT_OUT, gold_column, read_local_gold
from workers.cli.report_output import Computed, computed, computed_lines, number, table, title
from workers.metrics.report import Report
from workers.metrics.systems import holm
from workers.scoring.claims import answers_digest
from workers.scoring.resampled_comparison import Draws
from workers.scoring.scorer import ScoringCase, report_of
from workers.scoring.significance import ComparedMeasure, compare_sides, median_runs

WELCH = "Welch's t test over runs, two-sided; d is Cohen's with Sawilowsky's words"
PAIRED = "{}: paired bootstrap interval and approximate randomisation over items, {:,} replicates"
MEDIAN = "One run against the median of {}"
HEADS = ("measure", "A", "±", "B", "±", "A − B", "95 % interval", "p", "p (Holm)", "d", "", "key")


class Significance(NamedTuple):
    """The report; p-values are adjusted over its measures."""

    test: str
    runs: tuple[int, int]
    rows: tuple[ComparedMeasure, ...]
    computed: Computed
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def compare(
    a: Sequence[Path],
    b: Sequence[Path],
    gold: Path,
    options: Options,
    *,
    measures: Sequence[str] | None,
    replicates: int,
    seed: int,
) -> Significance:
    """Score every run, then test each measure.

    Files of one side with the same answers are one run.
    """
    local = read_local_gold(gold, options, column=gold_column(gold, a[0], options))
    sides = [_distinct([(path, local.case(path)) for path in side]) for side in (a, b)]
    n, m = (len(side) for side, _ in sides)
    runs = [*sides[0][0], *sides[1][0]]
    paths, cases = [path for path, _ in runs], [case for _, case in runs]
    reports = [report_of(case) for case in cases]
    _require_same_measures(paths, reports)
    names = _measures(measures, reports[0])
    notes = [*sides[0][1], *sides[1][1]]
    figures = [{name: run.values[name].value for name in names} for run in reports]
    both = figures[:n], figures[n:]
    test = WELCH
    if min(n, m) == 1:
        test = PAIRED.format("One run each" if n == m else MEDIAN.format(max(n, m)), replicates)
        chosen = median_runs(names, *both)
        medians = {name: (one, n + other) for name, (one, other) in chosen.items()}
        notes += [_median_note(paths, side, medians) for side, size in enumerate((n, m)) if size > 1]
    rows = compare_sides(
        names, *both, case=lambda side, at: cases[at + n * side], draws=Draws(replicates, seed)
    )
    adjusted = holm([row.p for row in rows]).tolist()
    rows = [row._replace(p_holm=p) for row, p in zip(rows, adjusted, strict=True)]
    facts = computed(options, gold, cases[0])
    left_out = [(path, case.placed.left_out) for path, case in zip(paths, cases, strict=True)]
    notes += [f"{path}: {LEFT_OUT.format(count)}" for path, count in left_out if count]
    return Significance(test, (n, m), tuple(rows), facts, tuple(notes), local.warnings)


def _distinct(
    runs: Sequence[tuple[Path, ScoringCase]],
) -> tuple[list[tuple[Path, ScoringCase]], list[str]]:
    """Return runs with distinct answers, and a note on each repeated one."""
    first: dict[str, tuple[Path, ScoringCase]] = {}
    notes = []
    for path, case in runs:
        earlier, _ = first.setdefault(answers_digest(case), (path, case))
        if earlier is not path:
            notes.append(f"{path}: same answers as {earlier}, counted once")
    return list(first.values()), notes


def _require_same_measures(paths: Sequence[Path], reports: Sequence[Report]) -> None:
    for path, report in zip(paths, reports, strict=True):
        if report.values.keys() != reports[0].values.keys():
            reason = f"{path} and {paths[0]} have different measures. Give labels, or scores, in all of them."
            raise InputFault("other_measures", reason)


def _measures(requested: Sequence[str] | None, report: Report) -> list[str]:
    unknown = [name for name in requested or () if name not in report.values]
    if unknown:
        reason = f"There is no measure {unknown[0]} here. Use: {', '.join(report.values)}."
        raise InputFault("unknown_measure", reason)
    return list(requested) if requested else [name for name in compared_measures() if name in report.values]


def _median_note(paths: Sequence[Path], side: int, medians: Mapping[str, tuple[int, int]]) -> str:
    """Name the run that stands for several, by measure if it differs."""
    measures: dict[Path, list[str]] = {}
    for name, pair in medians.items():
        measures.setdefault(paths[pair[side]], []).append(name)
    named = [
        f"{path} ({', '.join(names)})" if len(measures) > 1 else str(path) for path, names in measures.items()
    ]
    return f"median run of {'AB'[side]}: {'; '.join(named)}"


def as_text(result: Significance) -> str:
    """Format the report as a table."""
    a, b = (f"{count} run{'s' * (count != 1)}" for count in result.runs)
    reasons = [f"{row.measure}: no p, {row.reason}" for row in result.rows if row.reason]
    rows = table([HEADS, *(_cells(row, result.computed) for row in result.rows)], last=2)
    warnings = [f"Warning: {warning}" for warning in result.warnings]
    parts = [f"A: {a}, B: {b}. {result.test}.", "", *computed_lines(result.computed), "", *rows]
    return "\n".join([*warnings, *parts, *reasons, *result.notes])


def _cells(row: ComparedMeasure, computed: Computed) -> tuple[str, ...]:
    interval = "–" if np.isnan(row.low) else f"{row.low:+.4f} to {row.high:+.4f}"
    figures = (number(part) for part in (row.a, row.a_sd, row.b, row.b_sd))
    change = "–" if np.isnan(row.difference) else f"{row.difference:+.4f}"
    tests = map(number, (row.p, row.p_holm, row.d))
    name = title(row.measure, computed)
    return (name, *figures, change, interval, *tests, row.word or "", row.measure)


def as_json(result: Significance) -> str:
    """Format the report as one JSON object; an undefined figure is null."""
    body: dict[str, Any] = {
        "test": result.test,
        "runs": result.runs,
        "measures": [row._asdict() | {"title": title(row.measure, result.computed)} for row in result.rows],
        "computed": result.computed,
        "warnings": result.warnings,
    }
    return msgspec.json.encode(body | ({"notes": result.notes} if result.notes else {})).decode()
