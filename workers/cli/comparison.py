"""The significance report: two systems over their runs, or one run each."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation.measures.menu import compared_measures
from workers.cli.arguments import Misuse, Options, naming
from workers.cli.report_output import number, table
from workers.cli.resampled_comparison import Draws, Tested, tested
from workers.metrics.report import Report
from workers.metrics.systems import holm, spread, welch
from workers.scoring.file_scorer import report
from workers.scoring.files import gold_column
from workers.scoring.gold import Gold, read_gold
from workers.scoring.predictions import Answers, read_answers

NO_FIGURE = "the measure is undefined for a run"
NOT_RESAMPLED = "one run each, and this measure is not resampled"
WELCH = "Welch's t test over runs, two-sided; d is Cohen's with Sawilowsky's words"
PAIRED = "One run each: paired bootstrap interval and approximate randomisation, {replicates:,} replicates"
NAN = float("nan")
HEADS = ("measure", "A", "±", "B", "±", "A − B", "95 % interval", "p", "p (Holm)", "d", "")


class Row(NamedTuple):
    """One measure: both systems, their difference, and how sure it is."""

    measure: str
    a: float = NAN
    a_sd: float = NAN
    b: float = NAN
    b_sd: float = NAN
    difference: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    p_holm: float = NAN
    d: float = NAN
    word: str | None = None
    reason: str | None = None


class Significance(NamedTuple):
    """The whole report; p-values are adjusted over its measures."""

    test: str
    runs: tuple[int, int]
    rows: tuple[Row, ...]


def compare(
    a: Sequence[Path], b: Sequence[Path], gold: Path, options: Options, *, asked: Namespace
) -> Significance:
    """Score every run, then test each measure; raises `FileRejected` or `Misuse`."""
    with naming(gold):
        truth = read_gold(gold, options, Problems(), column=gold_column(gold, a[0], options))
    sides = [[_answers(path, truth, options) for path in side] for side in (a, b)]
    reports = [[report(truth, run, options) for run in side] for side in sides]
    _require_one_form([*a, *b], [one for side in reports for one in side])
    measures = _measures(asked.measures, reports[0][0])
    runs = len(a), len(b)
    if runs == (1, 1):
        draws = Draws(asked.replicates, asked.seed)
        only = (sides[0][0], sides[1][0]), (reports[0][0], reports[1][0])
        rows = _paired(truth, *only, options, measures, draws)
        return Significance(PAIRED.format(replicates=draws.replicates), runs, _adjusted(rows))
    return Significance(WELCH, runs, _adjusted([_welch(name, *reports) for name in measures]))


def _answers(path: Path, gold: Gold, options: Options) -> Answers:
    with naming(path):
        return read_answers(path, gold, options, Problems())


def _require_one_form(paths: Sequence[Path], reports: Sequence[Report]) -> None:
    for path, found in zip(paths, reports, strict=True):
        if found.values.keys() != reports[0].values.keys():
            raise Misuse(
                f"{path} and {paths[0]} have other measures: give labels, or scores, in all of them."
            )


def _measures(asked: Sequence[str] | None, found: Report) -> list[str]:
    strange = [name for name in asked or () if name not in found.values]
    if strange:
        raise Misuse(f"There is no measure {strange[0]} here; expected: {', '.join(found.values)}.")
    return list(asked) if asked else [name for name in compared_measures() if name in found.values]


def _welch(name: str, a: list[Report], b: list[Report]) -> Row:
    left, right = ([run.values[name].value for run in side] for side in (a, b))
    if not np.isfinite([*left, *right]).all():
        return Row(name, reason=NO_FIGURE)
    one, two, seen = spread(left), spread(right), welch(left, right)
    return Row(
        name,
        a=one.mean,
        a_sd=one.deviation,
        b=two.mean,
        b_sd=two.deviation,
        difference=seen.difference,
        low=seen.low,
        high=seen.high,
        p=seen.p,
        d=seen.d,
        word=seen.word,
        reason=seen.reason,
    )


def _paired(
    gold: Gold,
    sides: tuple[Answers, Answers],
    reports: tuple[Report, Report],
    options: Options,
    measures: list[str],
    draws: Draws,
) -> list[Row]:
    found = tested(gold, *sides, options, measures=measures, draws=draws)
    return [_resampled(name, found[name]) if name in found else _bare(name, *reports) for name in measures]


def _bare(name: str, a: Report, b: Report) -> Row:
    left, right = a.values[name].value, b.values[name].value
    return Row(name, a=left, b=right, difference=left - right, reason=NOT_RESAMPLED)


def _resampled(name: str, seen: Tested) -> Row:
    low, high = seen.interval
    return Row(name, a=seen.a, b=seen.b, difference=seen.difference, low=low, high=high, p=seen.p)


def _adjusted(rows: list[Row]) -> tuple[Row, ...]:
    """Holm over the measures."""
    adjusted = holm([row.p for row in rows]).tolist()
    return tuple(row._replace(p_holm=p) for row, p in zip(rows, adjusted, strict=True))


def as_text(found: Significance) -> str:
    """The report as a table."""
    reasons = [f"{row.measure}: no p, {row.reason}" for row in found.rows if row.reason]
    head = (
        f"A: {found.runs[0]} {_runs(found.runs[0])}, B: {found.runs[1]} {_runs(found.runs[1])}. {found.test}."
    )
    return "\n".join([head, "", *table([HEADS, *map(_cells, found.rows)]), *reasons])


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"


def _cells(row: Row) -> tuple[str, ...]:
    interval = "–" if np.isnan(row.low) else f"{row.low:+.4f} to {row.high:+.4f}"
    figures = (number(part) for part in (row.a, row.a_sd, row.b, row.b_sd))
    change = "–" if np.isnan(row.difference) else f"{row.difference:+.4f}"
    return (row.measure, *figures, change, interval, *map(number, (row.p, row.p_holm, row.d)), row.word or "")


def as_json(found: Significance) -> str:
    """The report as one object; undefined is null."""
    rows = [row._asdict() for row in found.rows]
    return msgspec.json.encode({"test": found.test, "runs": found.runs, "measures": rows}).decode()
