"""Sentences and tables that a paper takes from a comparison.

Only a test at p < .05 after Holm calls a difference one; nothing else is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from evalsvc.core.web.formatting import DASH, measured, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable, latex_text
from evalsvc.evaluation.board_figures import RunStatistics
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.leaderboard import Column
from evalsvc.evaluation.measures.computation import in_one_line, of_setting
from evalsvc.evaluation.measures.menu import Measure

NOT_COMPUTED = "the tests are not computed yet"
NO_SHARED_MEASURE = "a side lacks the measure"
REVERSALS = 3
METHOD = (
    "Systems with several runs: Welch’s t over runs, two-sided, with Cohen’s d. With one run: paired"
    " randomisation and bootstrap over items, 1,000 replicates, of the median run. Holm over the pairs of a"
    " measure."
)
NOT_KEY = re.compile(r"[^A-Za-z0-9]+")


def points(value: float, measure: Measure) -> str:
    """Format a difference in the unit of its measure, with its sign."""
    return signed(100 * value if measure.unit == "%" else value, digits=measure.digits)


def figure(comparison: Comparison, column: Column, place: int) -> RunStatistics | None:
    """Return the figure of the system at a place."""
    return column.figures.get(comparison.rows[place].system.pk)


def sentence(comparison: Comparison, column: Column, a: int, b: int) -> str:
    """Compare the systems at two places by a measure."""
    measure, names = column.measure, comparison.names
    for place in (a, b):
        shown = figure(comparison, column, place)
        if shown is None or shown.mean is None:
            reason = shown.reason if shown else NO_SHARED_MEASURE
            return f"{column.title} is undefined for {names[place]}: {reason}."
    means = [shown.mean or 0 for place in (a, b) if (shown := figure(comparison, column, place))]
    test = comparison.test(measure.key, a, b)
    if test is not None and test.winner is not None and test.difference is not None:
        first, second = (a, b) if test.winner == a else (b, a)
        lead = measured(abs(test.difference), measure)
        ahead = f"{names[first]} is ahead of {names[second]} by {lead} {column.title}"
        return f"{ahead} (p {test.p_holm_text}, {test.test})."
    if measured(means[0], measure) == measured(means[1], measure):
        return f"{names[a]} and {names[b]} have the same {column.title} to the shown digits."
    first_is_better = (means[0] > means[1]) == measure.higher_is_better
    first, second = (a, b) if first_is_better else (b, a)
    if test is None or test.reason or test.low is None or test.high is None:
        reason = (test.reason if test else "") or (
            NOT_COMPUTED if not comparison.tests else NO_SHARED_MEASURE
        )
        above = f"{names[first]} stands {measured(abs(means[0] - means[1]), measure)} {column.title}"
        return f"{above} above {names[second]}; nothing is claimed: {reason}."
    shown_difference = test.difference if test.difference is not None else means[0] - means[1]
    interval = f"95 % interval {points(test.low, measure)} to {points(test.high, measure)}"
    none = f"No difference between {names[a]} and {names[b]} could be shown"
    if test.low * test.high > 0:  # the pair alone would be called ahead
        alone = f"{points(shown_difference, measure)}, {interval} for this pair alone"
        return f"{none}: {alone}; p {test.p_holm_text} after Holm over all pairs."
    unseen = (
        ""
        if test.detectable is None
        else "; with so few runs any difference would mostly go unseen"
        if test.detectable >= 1
        else (f"; differences under {measured(test.detectable, measure)} would mostly go unseen")
    )
    return f"{none}: {points(shown_difference, measure)}, {interval}{unseen}."


def paragraph(comparison: Comparison) -> list[str]:
    """Compare the first system with the others, and name confirmed reversals."""
    if not comparison.columns:
        return []
    main = comparison.board.ordering
    sentences = [sentence(comparison, main, 0, other) for other in range(1, len(comparison.rows))]
    return [*sentences, *_reversals(comparison, main)]


def _reversals(comparison: Comparison, main: Column) -> list[str]:
    """Name pairs that two measures order differently, both by a test."""
    found = []
    for a, b in combinations(range(len(comparison.rows)), 2):
        here = comparison.test(main.measure.key, a, b)
        for column in comparison.columns:
            there = comparison.test(column.measure.key, a, b)
            winners = {test.winner for test in (here, there) if test}
            if here and here.winner is not None and None not in winners and len(winners) == 2:
                first, second = (a, b) if here.winner == a else (b, a)
                ahead = f"By {main.title} {comparison.names[first]} is ahead"
                found.append(f"{ahead}, by {column.title} {comparison.names[second]}.")
                break  # one measure for each pair
    return found[:REVERSALS]


# ---- tables --------------------------------------------------------------------------------------
def with_deviation(shown: RunStatistics | None, measure: Measure) -> str:
    """Format mean ± deviation, or a dash."""
    if shown is None or shown.mean is None:
        return DASH
    spread = "" if shown.sd is None else f" ± {measured(shown.sd, measure)}"
    return measured(shown.mean, measure) + spread


def is_best(comparison: Comparison, key: str, place: int) -> bool:
    """True if a test finds a system ahead of every other one."""
    others = (other for other in range(len(comparison.rows)) if other != place)
    return all(comparison.verdict(key, place, other) == "W" for other in others)


def computation(comparison: Comparison) -> str:
    """Every choice behind the figures, in one line."""
    version = comparison.board.version
    return in_one_line(of_setting(comparison.setting, version, gold=gold_digest.of_version(version)))


def figures_table(comparison: Comparison, *, every: bool = True) -> PaperTable:
    """A row per system; bold where a test finds it ahead of all others.

    With every measure, or those of the board's own table.
    """
    columns = comparison.columns if every else comparison.first_columns
    heads = [Head("system", "System", numeric=False), Head("team", "Team", numeric=False), Head("n", "n")]
    heads += [Head(column.measure.key, column.title) for column in columns]
    rows = []
    for place, row in enumerate(comparison.rows):
        cells = [Cell(name, name) for name in (row.system.name, row.system.team_name)]
        cells.append(Cell(row.n, str(row.n)))
        for column in columns:
            shown, key = figure(comparison, column, place), column.measure.key
            text = with_deviation(shown, column.measure)
            cells.append(Cell(shown.mean if shown else None, text, is_best(comparison, key, place)))
        rows.append(cells)
    setting = comparison.setting
    caption = (
        f"{setting.benchmark}, {setting.title}, version {comparison.board.version.number}: mean ± standard"
        f" deviation over n runs. Bold: ahead of every other system at p < .05. {METHOD}"
    )
    return PaperTable(f"{setting.benchmark.slug}-systems", caption, heads, rows)


TEST_HEADS = (
    Head("measure", "Measure", numeric=False), Head("a", "A", numeric=False), Head("b", "B", numeric=False),
    Head("difference", "A − B"), Head("low", "95 % from"), Head("high", "to"), Head("p", "p"),
    Head("p_holm", "p (Holm)"), Head("d", "d"), Head("effect", "Effect", numeric=False),
    Head("detectable", "Detectable"), Head("test", "Test", numeric=False),
    Head("reason", "Reason", numeric=False),
)  # fmt: skip


def tests_table(comparison: Comparison) -> PaperTable:
    """A row per measure and pair."""
    rows = [
        _test_row(comparison, column, test)
        for column in comparison.columns
        for test in comparison.tests.get(column.measure.key, ())
    ]
    return PaperTable(f"{comparison.setting.benchmark.slug}-tests", METHOD, TEST_HEADS, rows)


def _test_row(comparison: Comparison, column: Column, test: ShownTest) -> list[Cell]:
    measure, won = column.measure, test.winner is not None
    names = comparison.names

    def difference(value: float | None, *, bold: bool = False) -> Cell:
        return Cell(value, DASH if value is None else points(value, measure), bold)

    return [
        Cell(measure.key, column.title),
        Cell(names[test.a], names[test.a]),
        Cell(names[test.b], names[test.b]),
        difference(test.difference, bold=won),
        difference(test.low),
        difference(test.high),
        Cell(test.p_text if test.p is None else test.p, test.p_text or DASH),
        Cell(test.p_holm_text if test.p_holm is None else test.p_holm, test.p_holm_text or DASH, won),
        Cell(test.d, DASH if test.d is None else signed(test.d, digits=2)),
        Cell(test.word, test.word or DASH),
        Cell(test.detectable, DASH if test.detectable is None else measured(test.detectable, measure)),
        Cell(test.test, test.test or DASH),
        Cell(test.reason, test.reason),
    ]


# ---- BibTeX --------------------------------------------------------------------------------------
def bibtex(comparison: Comparison, *, address: str) -> str:
    """Entries for the test set, the board and the sources of the measures."""
    setting, version = comparison.setting, comparison.board.version
    slug, year = setting.benchmark.slug, f"{version.created_at:%Y}"
    digest = gold_digest.of_version(version)
    gold = ", ".join(f"{key} {value}" for key, value in digest.items()) if digest else ""
    entries = [
        (
            f"{slug}-gold",
            {
                "title": f"{version.test_set}",
                "year": year,
                "note": f"Test set, version {version.number} of {setting.title}. {gold}".strip(),
            },
        ),
        (
            f"{slug}-board",
            {
                "title": f"{setting.benchmark}: {setting.title}",
                "year": year,
                "howpublished": address,
                "note": computation(comparison),
            },
        ),
        *_sources(comparison.columns),
    ]
    return "\n".join(_entry(key, fields) for key, fields in entries)


def _sources(columns: Iterable[Column]) -> Iterator[tuple[str, dict[str, str]]]:
    by_source: dict[str, list[str]] = {}
    for column in columns:
        if column.measure.source:
            by_source.setdefault(column.measure.source, []).append(column.title)
    for source, titles in by_source.items():
        yield NOT_KEY.sub("-", source).strip("-").lower()[:60], {"title": source, "note": ", ".join(titles)}


def _entry(key: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{latex_text(value)}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}\n}}\n"
