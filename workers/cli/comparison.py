"""The significance report: 2 to 10 systems over several runs, or one run each.

Against a single run, several give their median run. p is adjusted over the pairs of a measure, as in the
comparisons of the service.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.web.formatting import MeasureFormat, finer, p_text
from evalsvc.evaluation.comparison.sentences import Outcome, Side, remark, sentence
from evalsvc.evaluation.measures.menu import MEASURES, compared_measures
from workers.cli.arguments import Options
from workers.cli.local_files import LEFT_OUT, forms_of, gold_column, read_local_gold
from workers.cli.report_output import Computed, computed, computed_lines, number, table, title
from workers.metrics.report import Report
from workers.metrics.systems import holm
from workers.scoring.case import ScoringCase
from workers.scoring.claims import RunDigests, run_digests
from workers.scoring.resampled_comparison import Draws
from workers.scoring.scorer import report_of
from workers.scoring.significance import UNDEFINED, ComparedMeasure, compare_sides, median_runs

LEAST, MOST = 2, 10
SIGNIFICANT = 0.05
WELCH, PAIRED = "Welch’s t over runs", "paired randomisation over items"
WELCH_METHOD = "Welch's t test over runs, two-sided; d is Cohen's with Sawilowsky's words"
PAIRED_METHOD = "{}: paired bootstrap interval and approximate randomisation over items, {:,} replicates"
MEDIAN = "One run against the median of {}"
OF_MEDIAN = "the median run of "
HOLM = "p (Holm) is adjusted over the pairs of a measure."
HEADS = ("measure", "A", "±", "B", "±", "A − B", "95 % interval", "p", "p (Holm)", "d", "", "key")


class Run(NamedTuple):
    """A prediction file with its figures by measure."""

    path: Path
    case: ScoringCase
    figures: Mapping[str, float]


class Pair(NamedTuple):
    """Tests of the systems at two places, by measure."""

    places: tuple[int, int]
    test: str
    rows: tuple[ComparedMeasure, ...]
    notes: tuple[str, ...] = ()


class Significance(NamedTuple):
    """The report; p-values are adjusted over the pairs of a measure."""

    names: tuple[str, ...]
    runs: tuple[tuple[Run, ...], ...]
    measures: tuple[str, ...]
    pairs: tuple[Pair, ...]
    computed: Computed
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def compare(
    systems: Sequence[Sequence[Path]],
    gold: Path,
    options: Options,
    *,
    measures: Sequence[str] | None,
    replicates: int,
    seed: int,
    names: Sequence[str] | None = None,
) -> Significance:
    """Score every run, then test each measure between any two systems.

    Files of one system with the same answers are one run.
    """
    named = _names(names, len(systems))
    local = read_local_gold(gold, options, column=gold_column(gold, systems[0][0], options))
    cases = [_distinct([(path, local.case(path)) for path in paths]) for paths in systems]
    options.require_effect(forms_of({path: case for distinct, _ in cases for path, case in distinct}))
    reports = [[report_of(case) for _, case in distinct] for distinct, _ in cases]
    _require_same_measures(
        [path for distinct, _ in cases for path, _ in distinct], [each for of in reports for each in of]
    )
    chosen = _measures(measures, reports[0][0])
    runs = tuple(
        tuple(
            Run(path, case, {name: report.values[name].value for name in chosen})
            for (path, case), report in zip(distinct, of_system, strict=True)
        )
        for (distinct, _), of_system in zip(cases, reports, strict=True)
    )
    draws = Draws(range(replicates), seed)
    pairs = [
        _pair((a, b), (named[a], named[b]), (runs[a], runs[b]), chosen, draws)
        for a, b in combinations(range(len(runs)), 2)
    ]
    left_out = [(run.path, run.case.placed.left_out) for of in runs for run in of]
    notes = [note for _, of_system in cases for note in of_system]
    notes += [note for pair in pairs for note in pair.notes]
    notes += [f"{path}: {LEFT_OUT.format(count)}" for path, count in left_out if count]
    notes += [f"{run.path}: {mapped}." for of in runs for run in of if (mapped := local.mapped(run.case))]
    facts = computed(options, gold, runs[0][0].case, old=local.old)
    return Significance(
        named, runs, tuple(chosen), _adjusted(pairs), facts, tuple(dict.fromkeys(notes)), local.warnings
    )


def _names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return a name for each system, letters by default."""
    if not LEAST <= count <= MOST:
        raise InputFault("bad_comparison", f"{count} systems, expected {LEAST} to {MOST}.")
    given = tuple(names or ascii_uppercase[:count])
    if len(set(given)) < len(given) or len(given) != count:
        raise InputFault("bad_comparison", f"{len(set(given))} names for {count} systems. Name each once.")
    return given


def _pair(
    places: tuple[int, int],
    names: tuple[str, str],
    sides: tuple[Sequence[Run], Sequence[Run]],
    measures: Sequence[str],
    draws: Draws,
) -> Pair:
    """Test two systems by each measure."""
    figures = [[run.figures for run in side] for side in sides]
    n, m = map(len, sides)
    test, notes = WELCH_METHOD, []
    if min(n, m) == 1:
        test = PAIRED_METHOD.format(
            "One run each" if n == m else MEDIAN.format(max(n, m)), len(draws.numbers)
        )
        chosen = median_runs(measures, figures[0], figures[1])
        notes = [
            _median_note(name, side, {key: pair[at] for key, pair in chosen.items()})
            for at, (name, side) in enumerate(zip(names, sides, strict=True))
            if len(side) > 1
        ]
    rows = compare_sides(
        measures, figures[0], figures[1], case=lambda side, at: sides[side][at].case, draws=draws
    )
    return Pair(places, test, tuple(rows), tuple(notes))


def _adjusted(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Adjust p over the pairs of each measure."""
    by_measure = zip(*([row.p for row in pair.rows] for pair in pairs), strict=True)
    adjusted = [holm(column).tolist() for column in by_measure]
    return tuple(
        pair._replace(
            rows=tuple(row._replace(p_holm=adjusted[at][number]) for at, row in enumerate(pair.rows))
        )
        for number, pair in enumerate(pairs)
    )


def _distinct(
    runs: Sequence[tuple[Path, ScoringCase]],
) -> tuple[list[tuple[Path, ScoringCase]], list[str]]:
    """Return runs with distinct answers, and a note on each repeated one."""
    first: dict[RunDigests, tuple[Path, ScoringCase]] = {}
    notes = []
    for path, case in runs:
        earlier, _ = first.setdefault(run_digests(case), (path, case))
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


def _median_note(name: str, runs: Sequence[Run], medians: Mapping[str, int]) -> str:
    """Name the run that stands for several, by measure if it differs."""
    measures: dict[Path, list[str]] = {}
    for measure, place in medians.items():
        measures.setdefault(runs[place].path, []).append(measure)
    named = [
        f"{path} ({', '.join(keys)})" if len(measures) > 1 else str(path) for path, keys in measures.items()
    ]
    return f"median run of {name}: {'; '.join(named)}"


# ---- words ---------------------------------------------------------------------------------------
def _sides(result: Significance, pair: Pair, row: ComparedMeasure) -> list[Side]:
    """Return both systems with the mean of their runs, or their median runs where these are compared."""
    sides = []
    for place, of_median in zip(pair.places, (row.a, row.b), strict=True):
        runs, name = result.runs[place], result.names[place]
        figure: float | None = fmean(run.figures[row.measure] for run in runs)
        if math.isnan(figure or 0.0):
            figure = None
        elif pair.test != WELCH_METHOD and len(runs) > 1 and not math.isnan(of_median):
            name, figure = f"{OF_MEDIAN}{name}", of_median
        sides.append(Side(name, figure, UNDEFINED))
    return sides


def _outcome(row: ComparedMeasure, pair: Pair) -> Outcome:
    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    return Outcome(
        WELCH if pair.test == WELCH_METHOD else PAIRED,
        known(row.difference),
        known(row.low),
        known(row.high),
        "" if math.isnan(row.p_holm) else p_text(row.p_holm),
        known(row.detectable),
        _winner(row),
        row.reason or "",
        over_items=pair.test != WELCH_METHOD,
        p="" if math.isnan(row.p) else p_text(row.p),
        alone=row.p < SIGNIFICANT,
    )


def _winner(row: ComparedMeasure) -> int | None:
    """Return the side that is ahead by the test, 0 or 1."""
    if not row.p_holm < SIGNIFICANT or not row.difference:
        return None
    return int((row.difference > 0) != MEASURES[row.measure].higher_is_better)


def sentences(result: Significance) -> list[str]:
    """Compare each pair by the first measure, with what its interval does not say."""
    stated = []
    for pair in result.pairs:
        row = pair.rows[0]
        outcome = _outcome(row, pair)
        a, b = _sides(result, pair, row)
        measure: MeasureFormat = MEASURES[row.measure]
        if outcome.winner is None:  # figures that differ in the table are not called the same
            measure = finer(measure, a.mean or 0.0, b.mean or 0.0)
        words = sentence(title(row.measure, result.computed), measure, a, b, outcome)
        words = f"{words[:1].upper()}{words[1:]}" if words.startswith(OF_MEDIAN) else words
        stated.append(f"{words} {remark(outcome)}".rstrip())
    return stated


def matrix(result: Significance) -> list[list[str]]:
    """Return W, L, = or · (no test) by the first measure for each row against each column."""
    size = len(result.names)
    cells = [["" for _ in range(size)] for _ in range(size)]
    for pair in result.pairs:
        (a, b), row = pair.places, pair.rows[0]
        both = {None: ("=", "="), 0: ("W", "L"), 1: ("L", "W")}[_winner(row)]
        cells[a][b], cells[b][a] = ("·", "·") if math.isnan(row.p) else both
    return cells


# ---- output --------------------------------------------------------------------------------------
def as_text(result: Significance) -> str:
    """Format the report as a table for each pair."""
    warnings = [f"Warning: {warning}" for warning in result.warnings]
    several = len(result.names) > LEAST
    first, *others = result.pairs
    parts = [f"{_counted(result, first)}. {first.test}.", "", *computed_lines(result.computed), ""]
    parts += _pair_lines(result, first)
    for pair in others:
        parts += ["", f"{_counted(result, pair)}. {pair.test}.", "", *_pair_lines(result, pair)]
    if several:
        parts += ["", HOLM, "", *_matrix_lines(result)]
    return "\n".join([*warnings, *parts, "", *sentences(result), *result.notes])


def _counted(result: Significance, pair: Pair) -> str:
    sizes = ((result.names[place], len(result.runs[place])) for place in pair.places)
    return ", ".join(f"{name}: {count} run{'s' * (count != 1)}" for name, count in sizes)


def _pair_lines(result: Significance, pair: Pair) -> list[str]:
    a, b = (result.names[place] for place in pair.places)
    heads = ("measure", a, "±", b, "±", f"{a} − {b}", *HEADS[6:])
    rows = table([heads, *(_cells(row, result.computed) for row in pair.rows)], last=2)
    return [*rows, *(f"{row.measure}: no p, {row.reason}" for row in pair.rows if row.reason)]


def _matrix_lines(result: Significance) -> list[str]:
    shown = title(result.measures[0], result.computed)
    rows = [[name, *cells] for name, cells in zip(result.names, matrix(result), strict=True)]
    legend = f"By {shown}: W the row is ahead of the column, L behind, = not shown, · no test"
    return [legend, *table([("", *result.names), *rows])]


def _cells(row: ComparedMeasure, computed: Computed) -> tuple[str, ...]:
    interval = "–" if np.isnan(row.low) else f"{row.low:+.4f} to {row.high:+.4f}"
    figures = (number(part) for part in (row.a, row.a_sd, row.b, row.b_sd))
    change = "–" if np.isnan(row.difference) else f"{row.difference:+.4f}"
    tests = map(number, (row.p, row.p_holm, row.d))
    name = title(row.measure, computed)
    return (name, *figures, change, interval, *tests, row.word or "", row.measure)


def as_json(result: Significance) -> str:
    """Format the report as one JSON object; an undefined figure is null.

    With two systems their test, runs and measures also stand at the top.
    """
    pairs = [
        {
            **dict(zip(("a", "b"), (result.names[place] for place in pair.places), strict=True)),
            "test": pair.test,
            "runs": [len(result.runs[place]) for place in pair.places],
            "measures": [row._asdict() | {"title": title(row.measure, result.computed)} for row in pair.rows],
        }
        for pair in result.pairs
    ]
    alone = {key: pairs[0][key] for key in ("test", "runs", "measures")} if len(pairs) == 1 else {}
    body: dict[str, Any] = {
        **alone,
        "systems": [
            {"name": name, "files": [str(run.path) for run in runs]}
            for name, runs in zip(result.names, result.runs, strict=True)
        ],
        "pairs": pairs,
        "matrix": matrix(result),
        "sentences": sentences(result),
        "computed": result.computed,
        "warnings": result.warnings,
    }
    return msgspec.json.encode(body | ({"notes": result.notes} if result.notes else {})).decode()
