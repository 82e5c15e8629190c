"""Sentences and tables that a paper takes from a comparison.

Only a test at p < .05 after Holm calls a difference one; nothing else is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from django.utils.text import capfirst

from evalsvc.core.web.formatting import DASH, listed, measured, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable, latex_text, part_heads
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.ranking import Column
from evalsvc.evaluation.boards.reading import NOT_COMPUTED as NO_FIGURE
from evalsvc.evaluation.comparison import sentences
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.run_figures import THIN, class_titles
from evalsvc.evaluation.comparison.sentences import Outcome, Side, points
from evalsvc.evaluation.comparison.tested_systems import FIRST
from evalsvc.evaluation.disclosure import gold_digest, rules
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.shown_tests import ShownTest
from evalsvc.evaluation.measures import references
from evalsvc.evaluation.measures.computation import in_one_line, of_setting
from evalsvc.evaluation.measures.families import label_of
from evalsvc.evaluation.measures.menu import MENU, Measure

NOT_COMPUTED = "the tests are not computed yet"
NO_SHARED_MEASURE = "a side lacks the measure"
REVERSALS, FEW = 3, 3
METHOD = (
    "Systems with several runs: Welch’s t over runs, two-sided, with Cohen’s d. With one run: paired"
    " randomisation and bootstrap over items, 1,000 replicates, of the median run. Holm over the pairs of a"
    " measure."
)
METHOD_OF_BOARD = (
    "Tests of the board: Welch’s t over runs, two-sided, with Cohen’s d; where a side has one run, paired"
    " randomisation and bootstrap over items of the median run. Holm over the pairs of its first"
    f" {FIRST} systems by a measure."
)
METHOD_OF_HIDDEN = (
    " While the gold is hidden, only the best system of each team is tested; p is first multiplied by the"
    " number of pairs of systems of the two teams, and t goes by the difference less a step of rounding."
)
FEW_RUNS = "Welch’s t errs more often where one side has two or three runs and the other many"
FEW_RUNS_OF_HIDDEN = (
    "where one side has two or three runs and the other many, t has the degrees of freedom of the smaller"
)
CLASS_METHOD = f"Classes with {THIN} items of the gold or more are one family for Holm, over all pairs."


def method(comparison: Comparison) -> str:
    """Name the tests of a comparison."""
    if not comparison.is_testable:
        return "No pair of these systems is tested."
    tests = METHOD if comparison.is_tested or not comparison.tests else METHOD_OF_BOARD
    tests += METHOD_OF_HIDDEN if comparison.board.policy.hidden else ""
    few = few_runs(comparison.board.policy, (row.n for row in comparison.rows))
    return f"{tests} {capfirst(few)}." if few else tests


def few_runs(policy: Policy, runs: Iterable[int]) -> str:
    """Say how systems with few runs are tested against some with many, empty for none."""
    several = [n for n in runs if n > 1]
    if not several or not rules.few_against_many(min(several), max(several)):
        return ""
    return FEW_RUNS_OF_HIDDEN if policy.hidden else FEW_RUNS


def figure(comparison: Comparison, column: Column, place: int) -> RunStatistics | None:
    """Return the figure of the system at a place."""
    return column.figures.get(comparison.rows[place].system.pk)


def outcome(comparison: Comparison, column: Column, a: int, b: int) -> Outcome:
    """Return the test between the systems at two places, or the reason why there is none."""
    test = comparison.test(column.measure.key, a, b)
    if test is None:
        reason = NO_SHARED_MEASURE if comparison.is_tested else NOT_COMPUTED
        return Outcome("", None, None, None, "", None, None, reason)
    test = test if test.a == a else test.turned()
    winner = None if test.winner is None else int(test.winner == b)
    return Outcome(
        test.test, test.difference, test.low, test.high, test.p_holm_text, test.detectable, winner,
        test.reason or (NO_SHARED_MEASURE if test.low is None else ""),
    )  # fmt: skip


def sentence(comparison: Comparison, column: Column, a: int, b: int) -> str:
    """Compare the systems at two places by a measure."""
    first, second = (_side(comparison, column, place) for place in (a, b))
    return sentences.sentence(column.title, column.measure, first, second, outcome(comparison, column, a, b))


def _side(comparison: Comparison, column: Column, place: int) -> Side:
    shown = figure(comparison, column, place)
    reason = shown.reason if shown else NO_FIGURE
    return Side(comparison.names_in_sentences[place], shown.mean if shown else None, reason)


def remarks(comparison: Comparison) -> list[str]:
    """Name the pairs of the paragraph whose interval leaves out zero, though nothing is claimed."""
    main, names = comparison.board.ordering, comparison.names_in_sentences
    stated = []
    for other in range(1, len(comparison.rows)) if comparison.columns else ():
        if p := sentences.p_beside_zero(outcome(comparison, main, 0, other)):
            stated.append(f"{p} for {names[0]} and {names[other]}")
    if not stated:
        return []
    return [f"Each interval is for its pair alone; after Holm over all pairs p is {listed(stated)}."]


def paragraph(comparison: Comparison) -> list[str]:
    """Compare the first system with the others, each of a few with each, and name confirmed reversals."""
    if not comparison.columns:
        return []
    main = comparison.board.ordering
    pairs = combinations(range(len(comparison.rows)), 2)
    stated = [pair for pair in pairs if pair[0] == 0 or len(comparison.rows) <= FEW]
    sentences = [sentence(comparison, main, *pair) for pair in stated]
    withdrawn = [
        f"{name}: {row.runs_text} after scoring."
        for name, row in zip(comparison.names_in_sentences, comparison.rows, strict=True)
        if row.withdrawn_text
    ]
    return [*sentences, *withdrawn, *_reversals(comparison, main)]


def _reversals(comparison: Comparison, main: Column) -> list[str]:
    """Name pairs that two measures order differently, both by a test.

    Pooled WRF and that of documents are compared whatever the main measure is.
    """
    pairs = list(combinations(range(len(comparison.rows)), 2))
    reversals = []
    for a, b in pairs:  # one measure for each pair
        turned = (_reversal(comparison, main, column, a, b) for column in comparison.columns)
        reversals += list(islice(filter(None, turned), 1))
    columns = {column.measure.key: column for column in comparison.columns}
    forms = [
        text
        for key, column in columns.items()
        if key != main.measure.key and (mean := columns.get(f"{key}_mean"))
        for a, b in pairs
        if (text := _reversal(comparison, column, mean, a, b))
    ]
    return [*reversals[:REVERSALS], *forms[:REVERSALS]]


def _reversal(comparison: Comparison, main: Column, other: Column, a: int, b: int) -> str:
    """Name the winners of a pair by two measures, if tests find different ones."""
    here, there = (comparison.test(column.measure.key, a, b) for column in (main, other))
    if not here or not there or None in (winners := {here.winner, there.winner}) or len(winners) == 1:
        return ""
    first, second = (a, b) if here.winner == a else (b, a)
    names = comparison.names_in_sentences
    return f"By {main.title} {names[first]} is ahead, by {other.title} {names[second]}."


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

    Programs get `every` measure and part of a figure; papers get mean ± deviation by those of the board.
    """
    columns = comparison.columns if every else comparison.first_columns
    heads = [Head("system", "System", numeric=False), Head("team", "Team", numeric=False), Head("n", "n")]
    withdrawn_heads = [
        Head("withdrawn", "Withdrawn runs"),
        Head("withdrawn_elsewhere", "Under another setting"),
    ]
    heads += withdrawn_heads if every else []
    for column in columns:
        head = Head(column.measure.key, column.title)
        heads += [head, *part_heads(head)] if every else [head]
    rows = []
    for place, row in enumerate(comparison.rows):
        cells = [Cell(name, name) for name in (row.system.name, row.system.team_name)]
        cells.append(Cell(row.n, row.n_text))
        withdrawn = (row.runs.withdrawn, row.runs.withdrawn_elsewhere)
        cells += [Cell(n, "") for n in withdrawn] if every else []
        for column in columns:
            shown, key = figure(comparison, column, place), column.measure.key
            text = with_deviation(shown, column.measure)
            cells.append(Cell(shown.mean if shown else None, text, is_best(comparison, key, place)))
            if every:
                sd, n, reason = (shown.sd, shown.n, shown.reason) if shown else (None, 0, NO_FIGURE)
                cells += [Cell(sd, ""), Cell(n, ""), Cell(reason, "")]
        rows.append(cells)
    setting = comparison.setting
    caption = (
        f"{setting.benchmark}, {setting.title}, version {comparison.board.version.number}: "
        f"{row_rules.figures(setting)}. Bold: ahead of every other system at p < .05. {method(comparison)}"
    )
    for name, row in zip(comparison.names_in_sentences, comparison.rows, strict=True):
        caption += f" {name}: {row.runs_text}." if row.withdrawn_text else ""
    return PaperTable(f"{setting.benchmark.slug}-systems", caption, heads, rows)


TEST_HEADS = (
    Head("measure", "Measure", numeric=False), Head("a", "A", numeric=False), Head("b", "B", numeric=False),
    Head("difference", "A − B"), Head("low", "95 % from"), Head("high", "to"), Head("p", "p"),
    Head("p_holm", "p (Holm)"), Head("d", "d"), Head("effect", "Effect", numeric=False),
    Head("detectable", "Detectable"), Head("test", "Test", numeric=False),
    Head("reason", "Reason", numeric=False),
)  # fmt: skip


PROGRAM_HEADS = ("effect", "detectable", "test", "reason")  # for which a page of a paper has no room


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
        " ".join([method(comparison), *notes]),
        [TEST_HEADS[n] for n in kept],
        [[row[n] for n in kept] for row in rows],
    )


def _test_row(comparison: Comparison, tested: Tested, test: ShownTest) -> list[Cell]:
    measure, won = tested.measure, test.winner is not None
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
    name, _, value = gold_digest.in_words(digest).partition(" ")
    entries = [
        (
            f"{slug}-gold",
            {
                "key": f"{version.test_set}",  # sorted by, without an author
                "title": f"{version.test_set}",
                "year": year,
                "note": f"Test set, version {version.number} of {setting.title}: {name} {value[:12]}…",
                **digest,  # whole, in fields that no style prints
            },
        ),
        (
            f"{slug}-board",
            {
                "key": f"{setting.benchmark}",
                "title": f"{setting.benchmark}: {setting.title}",
                "year": year,
                "howpublished": address,
                "note": computation(comparison),
            },
        ),
    ]
    sources = (column.measure.source for column in comparison.columns)
    done = {test.test for tests in comparison.tests.values() for test in tests if test.test}
    over_runs = {name for name in done if name.startswith("Welch")}
    published = references.entries(sources, over_runs=bool(over_runs), over_items=bool(done - over_runs))
    return "\n".join(
        [*(_entry(key, fields) for key, fields in entries), *(f"{each}\n" for each in published)]
    )


def _entry(key: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{latex_text(value)}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}\n}}\n"
