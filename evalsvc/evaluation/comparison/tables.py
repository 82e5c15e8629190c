"""Tables of a comparison, for pages, papers and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsvc.core.web.formatting import DASH, MeasureFormat, apart, finer, measured, points, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable, part_heads
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.reading import NOT_COMPUTED as NO_FIGURE
from evalsvc.evaluation.comparison import words
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.run_figures import class_titles
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.measures.computation import in_one_line
from evalsvc.evaluation.measures.families import label_of
from evalsvc.evaluation.measures.menu import MENU, Measure


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
    return in_one_line(stated_computation(comparison.setting, comparison.board.version))


def figures_table(comparison: Comparison, *, every: bool = True) -> PaperTable:
    """A row per system; bold where a test finds it ahead of all others.

    Programs get `every` measure and part of a figure; papers get mean ± deviation by those of the board.
    """
    columns = comparison.columns if every else comparison.first_columns
    heads = [Head("system", "System", numeric=False), Head("team", "Team", numeric=False), Head("n", "n")]
    omitted_heads = [
        Head("withdrawn", "Withdrawn runs"),
        Head("withdrawn_elsewhere", "Under another setting"),
        Head("withheld", "Withheld runs"),
    ]
    heads += omitted_heads if every else []
    for column in columns:
        head = Head(column.measure.key, column.title)
        heads += [head, *part_heads(head)] if every else [head]
    rows = []
    for place, row in enumerate(comparison.rows):
        cells = [Cell(name, name) for name in (row.system.name, row.system.team_name)]
        cells.append(Cell(row.n, row.n_text))
        omitted = (row.runs.withdrawn, row.runs.withdrawn_elsewhere, row.runs.withheld)
        cells += [Cell(n, "") for n in omitted] if every else []
        for column in columns:
            shown, key = words.figure(comparison, column, place), column.measure.key
            text = with_deviation(shown, column.measure)
            cells.append(Cell(shown.mean if shown else None, text, is_best(comparison, key, place)))
            if every:
                sd, n, reason = (shown.sd, shown.n, shown.reason) if shown else (None, 0, NO_FIGURE)
                cells += [Cell(sd, ""), Cell(n, ""), Cell(reason, "")]
        rows.append(cells)
    setting = comparison.setting
    caption = (
        f"{setting.benchmark}, {setting.title}, version {comparison.board.version.number}: "
        f"{row_rules.figures(setting)}. Bold: ahead of every other system at p < .05. "
        f"{words.method(comparison)}"
    )
    for name, row in zip(comparison.names_in_sentences, comparison.rows, strict=True):
        caption += f" {name}: {row.runs_text}." if row.omitted_text else ""
    return PaperTable(f"{setting.benchmark.slug}-systems", caption, heads, rows)


TEST_HEADS = (
    Head("measure", "Measure", numeric=False), Head("a", "A", numeric=False), Head("b", "B", numeric=False),
    Head("difference", "A − B"), Head("low", "95 % from"), Head("high", "to"), Head("p", "p"),
    Head("p_holm", "p (Holm)"), Head("d", "d"), Head("effect", "Effect", numeric=False),
    Head("detectable", "Detectable"), Head("test", "Test", numeric=False),
    Head("run_a", "Run of A", numeric=False), Head("run_b", "Run of B", numeric=False),
    Head("reason", "Reason", numeric=False),
)  # fmt: skip


# for which a page of a paper has no room
PROGRAM_HEADS = ("effect", "detectable", "test", "run_a", "run_b", "reason")


@dataclass(frozen=True)
class Tested:
    """A measure, or the F1 of a class, with its tests."""

    key: str
    title: str
    measure: Measure
    tests: Sequence[ShownTest]


def tested_measures(comparison: Comparison) -> list[Tested]:
    return [
        Tested(key, column.title, column.measure, tests)
        for column in comparison.columns
        if (tests := comparison.tests.get(key := column.measure.key))
    ]


def tested_classes(comparison: Comparison) -> list[Tested]:
    """Return the classes in the order of their titles."""
    titles = class_titles(comparison.setting)
    found = [
        Tested(key, f"F1 of {titles.get(label_of(key), label_of(key))}", MENU["micro_f1"], tests)
        for key, tests in comparison.class_tests.items()
    ]
    return sorted(found, key=lambda each: each.title)


def tests_table(comparison: Comparison, *, every: bool) -> PaperTable:
    """A row per measure or class, and pair.

    Programs get `every` test; papers get those by the measures of the board, without the columns of
    PROGRAM_HEADS, and a sentence for each reason not to test.
    """
    tested = [*tested_measures(comparison), *tested_classes(comparison)]
    if not every:
        first = {column.measure.key for column in comparison.first_columns}
        tested = [each for each in tested if each.key in first]
    kept = [n for n, head in enumerate(TEST_HEADS) if every or head.key not in PROGRAM_HEADS]
    rows = [_test_row(comparison, each, test) for each in tested for test in each.tests]
    reasons = dict.fromkeys(test.reason for each in tested for test in each.tests if test.reason)
    notes = [] if every else [f"Not tested: {reason}." for reason in reasons]
    return PaperTable(
        f"{comparison.setting.benchmark.slug}-tests",
        " ".join([words.method(comparison), *notes]),
        [TEST_HEADS[n] for n in kept],
        [[row[n] for n in kept] for row in rows],
    )


def shown_by(measure: Measure, test: ShownTest) -> MeasureFormat:
    """Return the format of a test's figures: a difference that is called one does not read as zero."""
    return measure if test.winner is None else finer(measure, test.difference or 0.0)


def _test_row(comparison: Comparison, tested: Tested, test: ShownTest) -> list[Cell]:
    measure, won = shown_by(tested.measure, test), test.winner is not None
    names = comparison.names

    def difference(value: float | None, *, bold: bool = False) -> Cell:
        return Cell(value, DASH if value is None else points(value, measure), bold)

    return [
        Cell(tested.key, tested.title),
        Cell(names[test.a], names[test.a]),
        Cell(names[test.b], names[test.b]),
        difference(test.difference, bold=won),
        difference(test.low),
        difference(test.high),
        Cell(test.p_text if test.p is None else test.p, test.p_text or DASH),
        Cell(test.p_holm_text if test.p_holm is None else test.p_holm, test.p_holm_text or DASH, won),
        Cell(test.d, DASH if test.d is None else signed(test.d, digits=2)),
        Cell(test.word, test.word or DASH),
        Cell(test.detectable, DASH if test.detectable is None else apart(test.detectable, tested.measure)),
        Cell(test.test, test.test or DASH),
        *(Cell(run, run) for run in comparison.runs_of(test)),
        Cell(test.reason, test.reason),
    ]
