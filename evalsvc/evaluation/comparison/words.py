"""Sentences that a paper takes from a comparison.

Only a test at p < .05 after Holm calls a difference one; nothing else is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice

from evalsvc.core.web.formatting import listed
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.boards.figures import RunStatistics
from evalsvc.evaluation.boards.ranking import Column
from evalsvc.evaluation.boards.reading import NOT_COMPUTED as NO_FIGURE
from evalsvc.evaluation.comparison import sentences
from evalsvc.evaluation.comparison.compared import REPLICATES, Comparison
from evalsvc.evaluation.comparison.run_figures import THIN
from evalsvc.evaluation.comparison.sentences import Outcome, Side
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.shown_tests import SIGNIFICANT

NOT_COMPUTED = "the tests are not computed yet"
NO_SHARED_MEASURE = "a side lacks the measure"
REVERSALS, FEW = 3, 3
FEW_RUNS = "Welch’s t errs more often where one side has two or three runs and the other many"
FEW_RUNS_OF_HIDDEN = (
    "where one side has two or three runs and the other many, t has the degrees of freedom of the smaller"
)
CLASS_METHOD = f"Classes with {THIN} items of the gold or more are one family for Holm, over all pairs."


def method(comparison: Comparison) -> str:
    """Name the tests that a comparison has, and what adjusts their p."""
    if not comparison.is_testable:
        return "No pair of these systems is tested."
    tests = [test for of_measure in comparison.tests.values() for test in of_measure if test.p_text]
    if not tests:
        return "No test of these systems is computed."
    hidden, parts = comparison.board.policy.hidden, list[str]()
    if over_runs := not all(test.is_over_items for test in tests):
        by = "by the difference less a step of rounding" if hidden else "with Cohen’s d"
        parts.append(f"systems with several runs by Welch’s t over runs, two-sided, {by}")
    if any(test.is_over_items for test in tests):
        medians, shown = _takes_medians(comparison), row_rules.run_shown(comparison.setting)
        where = "where a side has one run, " if over_runs or medians else ""
        of = "of the median run of the other" if medians else f"of the run shown: {shown}" if shown else ""
        over_items = (
            f"{where}paired randomisation and bootstrap over items, {REPLICATES:,} replicates or more"
        )
        parts.append(", ".join(filter(None, (over_items, of))))
    whose = "Tests" if comparison.is_tested else "Tests of the board"
    sentences = [f"{whose}: {'; '.join(parts)}.", "Holm over the tested pairs of a measure."]
    if any(comparison.is_of_best(test.a, test.b) for test in tests):
        sentences.append("Before it, p is multiplied by the number of pairs of systems of the two teams.")
    if over_runs and (few := few_runs(comparison.board.policy, (row.n for row in comparison.rows))):
        sentences.append(f"{few[:1].upper()}{few[1:]}.")
    if other := [
        name
        for name, row in zip(comparison.names_in_sentences, comparison.rows, strict=True)
        if not row.runs.entered
    ]:
        sentences.append(f"Not the final entry of a team: {listed(other)}.")
    return " ".join(sentences)


def _takes_medians(comparison: Comparison) -> bool:
    """True if a test over items is of a side that shows the mean of several runs."""
    return any(
        (shown := figure(comparison, column, place)) and shown.n > 1
        for column in comparison.columns
        for test in comparison.tests.get(column.measure.key, ())
        for place in (test.a, test.b)
        if test.is_over_items
    )


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
        test.reason or (NO_SHARED_MEASURE if test.low is None else ""), test.is_over_items,
        test.p_text, (rules.greatest_of(test.p_text) if test.p is None else test.p) < SIGNIFICANT,
        comparison.runs_of(test), comparison.is_of_best(a, b),
    )  # fmt: skip


def sentence(comparison: Comparison, column: Column, a: int, b: int) -> str:
    """Compare the systems at two places by a measure."""
    first, second = (_side(comparison, column, place) for place in (a, b))
    return sentences.sentence(column.title, column.measure, first, second, outcome(comparison, column, a, b))


def _side(comparison: Comparison, column: Column, place: int) -> Side:
    shown = figure(comparison, column, place)
    reason = shown.reason if shown else NO_FIGURE
    n = shown.n if shown else 0
    return Side(comparison.names_in_sentences[place], shown.mean if shown else None, reason, n)


def remarks(comparison: Comparison) -> list[str]:
    """Name the pairs of the paragraph whose interval leaves out zero, though nothing is claimed."""
    main, names = comparison.board.ordering, comparison.names_in_sentences
    adjusted, single, of_best = list[str](), list[str](), False
    for other in range(1, len(comparison.rows)) if comparison.columns else ():
        found = outcome(comparison, main, 0, other)
        if found.leaves_out_zero and found.alone:
            adjusted.append(f"{found.p_holm} for {names[0]} and {names[other]}")
            of_best |= found.of_best
        elif found.leaves_out_zero:
            single.append(f"{found.p} for {names[0]} and {names[other]}")
    adjustment = sentences.adjustment(of_best=of_best)
    holm = f"Each interval is for its pair alone; after {adjustment} over all pairs p is"
    test = "The test decides, not the interval: of the pair alone p is"
    return [f"{words} {listed(each)}." for words, each in ((holm, adjusted), (test, single)) if each]


def paragraph(comparison: Comparison) -> list[str]:
    """Compare the first system with the others, each of a few with each, and name confirmed reversals."""
    if not comparison.columns:
        return []
    main = comparison.board.ordering
    sides = [_side(comparison, main, place) for place in range(len(comparison.rows))]
    without: dict[str, list[str]] = {}
    for side in sides:
        if side.mean is None:
            without.setdefault(side.reason, []).append(side.name)
    shown = [place for place, side in enumerate(sides) if side.mean is not None]
    pairs = combinations(shown, 2)
    stated = [pair for pair in pairs if pair[0] == shown[0] or len(comparison.rows) <= FEW]
    texts = [sentence(comparison, main, *pair) for pair in stated]
    texts += [sentences.without_figure(names, main.title, why) for why, names in without.items()]
    omitted = [
        f"{name}: {row.runs_text}{' after scoring' if row.withdrawn_text else ''}."
        for name, row in zip(comparison.names_in_sentences, comparison.rows, strict=True)
        if row.omitted_text
    ]
    return [*dict.fromkeys(texts), *omitted, *_reversals(comparison, main)]


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
    names, sides = comparison.names_in_sentences, [_side(comparison, main, place) for place in (a, b)]
    median = "".join(f" ({each})" for each in sentences.of_median(outcome(comparison, main, a, b), *sides))
    return f"By {main.title} {names[first]} is ahead, by {other.title} {names[second]}{median}."
